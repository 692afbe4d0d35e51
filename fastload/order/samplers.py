"""Orders of an epoch that need no table, and what a loader must know about any order."""

from collections.abc import Callable, Iterator, Sized
from typing import Protocol, cast

import numpy as np
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from fastload import rng
from fastload.errors import UsageError
from fastload.order import blocks, mixture
from fastload.order.ranks import place, place_problems, plain
from fastload.spec import OCCURRENCES, Longs, repeated
from fastload.system.opening import Opening

CHUNK = 4096  # positions permuted at once
_counting = Opening()  # of epochs: threads may begin theirs at once


def stretches(first: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Where blocks of whole batches begin and end, of CHUNK positions or of one batch: NumPy takes
    little longer for a block than for a batch.
    """
    together = max(1, CHUNK // size) * size
    return ((start, min(start + together, end)) for start in range(first, end, together))


class _Counting(Protocol):
    epoch: int


def next_epoch(sampler: _Counting) -> int:
    """The epoch that a sampler begins now, which counts by itself in `epoch`."""
    with _counting.alone():
        sampler.epoch += 1
        return int(sampler.epoch)


class ShuffleSampler(torch.utils.data.Sampler[int]):
    """A new permutation each epoch, a pure function of (seed, epoch).

    Constant memory, any length, no time to start. Without `set_epoch` each iteration is one epoch
    further.

    Args:
        data_source: A data set, or a number of samples.
        seed: 0 to 2**64 - 1; the same on all ranks.
        num_replicas: Ranks. The global order goes round them, one sample each; None asks
            torch.distributed.
        rank: This one's number; None asks torch.distributed.
        drop_last: With several ranks: True leaves the rest out that does not fill a round, False
            fills the last round from the beginning of the order, so that all ranks have the same
            length, as torch's DistributedSampler does.
        window: Bytes of the blocks that samples of a data set in a store are mixed in; 0 mixes all
            of them; None: all where the cache can hold them, else blocks (docs/remote.md).

    Raises:
        UsageError: An argument is out of its range; every such argument is named.

    Example:
        >>> from fastload import ShuffleSampler
        >>> sampler = ShuffleSampler(6, seed=3)
        >>> sampler.set_epoch(1)
        >>> again = ShuffleSampler(6, seed=3)
        >>> again.set_epoch(1)
        >>> list(sampler) == list(again)
        True
    """

    def __init__(
        self,
        data_source: Sized | int,
        seed: int = 0,
        *,
        num_replicas: int | None = 1,
        rank: int | None = None,
        drop_last: bool = False,
        window: int | None = None,
    ) -> None:
        self.length = data_source if isinstance(data_source, int) else len(data_source)
        self.seed, self.drop_last = plain(seed), drop_last
        self.num_replicas, self.rank = place("ShuffleSampler", num_replicas, rank)
        self._blocks = blocks.of_data(data_source, window)
        self.window = self._blocks.window if self._blocks else 0
        problems = self._problems()
        if mixture.of_data(data_source):
            problems.append(
                "data_source is a mix, whose weights it does not know; use DistributedSampler"
            )
        if problems:
            raise UsageError("\n".join(f"ShuffleSampler: {problem}" for problem in problems))
        self.epoch = -1

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from 0. Raises UsageError."""
        self.epoch = rng.checked_epoch("ShuffleSampler.set_epoch", epoch) - 1

    def __len__(self) -> int:
        return (
            self.length // self.num_replicas
            if self.drop_last
            else -(-self.length // self.num_replicas)
        )

    def __iter__(self) -> Iterator[int]:
        # Begins when it is first asked: PyTorch's iterators with workers open two, and read one.
        for chunk in self.chunks(next_epoch(self), CHUNK):
            yield from chunk.tolist()

    def chunks(self, epoch: int, size: int, first: int = 0) -> Iterator[Longs]:
        """The epoch's order in arrays of `size`, from array number `first` on; the last may be
        shorter.
        """
        count = len(self)
        for start, end in stretches(first * size, count, size):
            positions = self.rank + self.num_replicas * np.arange(start, end)
            stretch = self.at(positions, epoch)
            for at in range(0, end - start, size):
                yield stretch[at : at + size]

    def at(self, positions: Longs, epoch: int) -> Longs:
        """The samples at these positions of all ranks' order."""
        positions = positions % self.length
        if self._blocks:
            return self._blocks.at(positions, self.seed, epoch)
        return rng.permute(positions, self.length, self.seed, epoch)

    def _problems(self) -> list[str]:
        wrong = f"data_source is {self.length}, want 0 samples or more"
        problems = [wrong] * (self.length < 0)
        return problems + place_problems(self.seed, self.num_replicas, self.rank)


def order(
    batches: object, first: int = 0, draw: Callable[[], int] = lambda: rng.draw_seed(None)
) -> Iterator[Longs] | None:
    """The epoch of a BatchSampler over a sampler of a known class, from batch `first` on, as arrays
    int64 [N]; or None.

    draw: gives the seed that a RandomSampler without a generator takes from torch's default one.
    The same indices, and the same draws at the same moments, as PyTorch's classes make; but a list
    of 1.28 million Python numbers takes 60 ms and 40 MB, and an array takes neither.
    """
    if type(batches) is not BatchSampler:
        return None
    sampler: object = batches.sampler
    size, drop_last = batches.batch_size, batches.drop_last
    if type(sampler) is SequentialSampler:
        return _in_order(len(sampler.data_source), size, drop_last, first)
    if (
        type(sampler) is RandomSampler
        and not sampler.replacement
        and sampler.num_samples == len(sampler.data_source)
    ):
        return _shuffled(sampler, size, drop_last, first, draw)
    if type(sampler) is DistributedSampler:
        return _cut(lambda: _share(sampler), size, drop_last, first)
    return keyed(sampler, size, drop_last, first) if type(sampler) is ShuffleSampler else None


def draws_at_end(sampler: object) -> bool:
    """Whether an order of `order` draws from a generator of the user's when it ends."""
    return type(sampler) is RandomSampler and sampler.generator is not None


def _in_order(count: int, size: int, drop_last: bool, first: int) -> Iterator[Longs]:
    """Batches of 0 to count - 1, of which nothing is made before it is asked for."""
    end = count - count % size if drop_last else count
    return (np.arange(at, min(at + size, end)) for at in range(first * size, end, size))


def _cut(
    make: Callable[[], Longs],
    size: int,
    drop_last: bool,
    first: int,
    at_end: Callable[[], object] = lambda: None,
) -> Iterator[Longs]:
    """Batches of an order that is made when the first one is asked for; at_end: called when the
    sampler would be asked for more.
    """
    whole = make()
    full = len(whole) // size * size
    for start in range(first * size, full, size):
        yield whole[start : start + size]
    at_end()
    if first * size <= full < len(whole) and not drop_last:
        yield whole[full:]


def _shuffled(
    sampler: RandomSampler, size: int, drop_last: bool, first: int, draw: Callable[[], int]
) -> Iterator[Longs]:
    count, generator = sampler.num_samples, sampler.generator

    def permutation() -> Longs:
        source = torch.Generator().manual_seed(draw()) if generator is None else generator
        return torch.randperm(count, generator=source).numpy()

    def leftover() -> None:
        # RandomSampler draws another permutation when it ends, and takes nothing of it.
        if generator is not None:
            torch.randperm(count, generator=generator)

    return _cut(permutation, size, drop_last, first, leftover)


def _share(sampler: "DistributedSampler[object]") -> Longs:
    """This rank's order, as PyTorch's DistributedSampler makes it."""
    count = len(sampler.dataset)  # type: ignore[arg-type]  # it has asked for the length itself
    seed = torch.Generator().manual_seed(sampler.seed + sampler.epoch) if sampler.shuffle else None
    whole = np.arange(count) if seed is None else torch.randperm(count, generator=seed).numpy()
    return np.ascontiguousarray(
        np.resize(whole, sampler.total_size)[sampler.rank :: sampler.num_replicas]
    )


def keyed(sampler: ShuffleSampler, size: int, drop_last: bool, first: int) -> Iterator[Longs]:
    """The sampler's next epoch in batches. It begins at once: of iterators that are opened before
    any is read, each has the epoch that it was opened with.
    """
    batches = sampler.chunks(next_epoch(sampler), size, first)
    return (batch for batch in batches if len(batch) == size or not drop_last)


def unique(sampler: object, length: int) -> bool:
    """Whether the sampler is known to give each of `length` samples at most once."""
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples <= length
    return type(sampler) in (SequentialSampler, ShuffleSampler, DistributedSampler)


def below(sampler: object) -> int:
    """What all indices of a sampler of a class that `order` knows are below."""
    if type(sampler) is ShuffleSampler:
        return sampler.length
    data = sampler.dataset if type(sampler) is DistributedSampler else vars(sampler)["data_source"]
    return len(cast("Sized", data))


def occurrences(samples: Longs, seen: Longs | None) -> Longs:
    """int64 [N]: how often each sample came before, as keys hold it; counts them in `seen`, int64
    [all samples].

    None: each comes once.
    """
    if seen is None:
        return repeated(0, len(samples))
    out: Longs = seen[samples]
    if len(np.unique(samples)) == len(samples):
        seen[samples] = out + 1
        return out % OCCURRENCES
    for position, sample in enumerate(samples.tolist()):
        out[position] = seen[sample]
        seen[sample] += 1
    return out % OCCURRENCES
