"""Many ranks: one seed for all, and an order that goes round them."""

from collections.abc import Iterator, Sized
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed
import torch.utils.data
from numpy.typing import NDArray

from fastload import _native, rng
from fastload.attach.looking import asked
from fastload.errors import UsageError
from fastload.order import blocks, mixture
from fastload.order.loaders import OrderedLoader
from fastload.order.ranks import joined, place, place_problems, plain
from fastload.order.samplers import CHUNK, next_epoch, occurrences, stretches
from fastload.spec import Floats, Longs, Work

COUNTED = 1 << 18  # positions drawn at once, where a resumed epoch counts what came before
ROUND = 256  # samples: repeated augmentation keeps a multiple of them, as DeiT does


def split(loader: OrderedLoader) -> tuple[int, int]:
    """How many ranks share the loader's epoch, and which this one is, as its sampler says; (1,
    rank) where each has an epoch of its own.
    """
    for sampler in (loader.batch_sampler, asked(loader.batch_sampler, "sampler"), loader.sampler):
        world, rank = asked(sampler, "num_replicas", int), asked(sampler, "rank", int)
        if world is not None and rank is not None and 0 <= rank < world:
            return world, rank
    return 1, torch.distributed.get_rank() if joined() else 0


def shared(seed: int, loader: OrderedLoader) -> int:
    """Rank 0's seed, where all ranks share the epoch and so all come here; else `seed`: nobody
    waits for a rank that loads nothing.
    """
    if not joined() or split(loader)[0] != torch.distributed.get_world_size():
        return seed
    box = [seed]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


class Part(NamedTuple):
    """One rank's share of a batch: arrays [N]."""

    samples: Longs
    occurrences: Longs
    valid: NDArray[np.bool_] | None  # False where a sample is there only to fill the batch


class DistributedSampler(torch.utils.data.Sampler[int]):
    """The epoch's order, shared by ranks: position p goes to rank p % num_replicas.

    All ranks have equal lengths. The first arguments are PyTorch's; the order itself is a pure
    function of (seed, epoch), without a table. Without `set_epoch` each iteration is one epoch
    further.

    Args:
        dataset: A data set, or a number of samples.
        num_replicas: Ranks; None asks torch.distributed, 1 without a process group.
        rank: This one's number; None asks torch.distributed, 0 without a process group.
        shuffle: Whether each epoch has an order of its own; else samples come by number.
        seed: 0 to 2**64 - 1; the same on all ranks.
        drop_last: True leaves the rest out that does not fill a round, False fills the last round
            from the beginning of the order.
        repeats: Each sample comes so many times in a row, to one rank after the other, with other
            augmentation (repeated augmentation; Hoffer et al. 2020, arXiv:1901.09335). As in DeiT
            and torchvision an epoch keeps its length and so sees about 1 / repeats of the samples:
            N // 256 * 256 positions, shared by the ranks.
        weights: float [N]: draws with replacement, sample n in proportion to weights[n].
        num_samples: Of these draws; None: N.
        eval_exact: Every sample counts exactly once: batches end with a bool tensor `valid` [N],
            False where a sample is there only to give all ranks as many. Needs fastload's own
            engines.
        window: As ShuffleSampler's: bytes of the blocks that samples in a store are mixed in.

    Raises:
        UsageError: Arguments are out of range or contradict each other; each problem has a line.

    Example:
        >>> from fastload import DistributedSampler
        >>> list(DistributedSampler(5, num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized | int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        *,
        repeats: int = 1,
        weights: Any = None,
        num_samples: int | None = None,
        eval_exact: bool = False,
        window: int | None = None,
    ) -> None:
        self.length = dataset if isinstance(dataset, int) else len(dataset)
        self.num_replicas, self.rank = place("DistributedSampler", num_replicas, rank)
        self.shuffle = shuffle
        self.seed = plain(seed)
        self.drop_last = drop_last
        self.repeats = plain(repeats)
        self.eval_exact = eval_exact
        self.weights = None if weights is None else np.asarray(weights, np.float64)
        self.num_samples, self.epoch = plain(num_samples), -1
        self._blocks = blocks.of_data(dataset, window) if shuffle else None
        self.window = self._blocks.window if self._blocks else 0
        self._mixture = mixture.of_data(dataset)
        # Of another mix, a state does not fit
        self.mixture = mixture.fingerprint(self._mixture.recipe) if self._mixture else None
        if problems := [*self._problems(), *self._weight_problems()]:
            raise UsageError("\n".join(f"DistributedSampler: {problem}" for problem in problems))
        # Of other weights, a state does not fit either
        self.weighted = None if self.weights is None else _native.xxh3(self.weights.tobytes())
        self._shares = None if self.weights is None else _shares(self.weights)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from 0. Raises UsageError."""
        self.epoch = rng.checked_epoch("DistributedSampler.set_epoch", epoch) - 1

    @property
    def total(self) -> int:
        """Positions of the global order, before rounds are filled or cut."""
        if self._mixture:
            return self._mixture.length
        if self.repeats > 1:
            return self.length // ROUND * ROUND if self.length >= ROUND else self.length
        return self.length if self.num_samples is None else self.num_samples

    def __len__(self) -> int:
        cut = self.drop_last or self.repeats > 1
        return self.total // self.num_replicas if cut else -(-self.total // self.num_replicas)

    def __iter__(self) -> Iterator[int]:
        for part in self.batches(CHUNK):  # as ShuffleSampler's
            yield from part.samples.tolist()

    def batches(self, size: int, drop_last: bool = False, first: int = 0) -> Iterator[Part]:
        """This rank's share of the next epoch, `size` samples at a time, from number `first` on."""
        return self._batches(next_epoch(self), size, drop_last, first)

    def _batches(self, epoch: int, size: int, drop_last: bool, first: int) -> Iterator[Part]:
        world, count = self.num_replicas, len(self)
        if self._shares is None:
            yield from self._permuted(epoch, size, drop_last, first)
            return
        seen = self._counted(epoch, first * size * world)
        for start in range(first * size, count - (size - 1 if drop_last else 0), size):
            # All ranks' positions: occurrences are counted in the global order.
            positions = np.arange(start * world, min(start + size, count) * world)
            mine = slice(self.rank, None, world)
            samples = self._chosen(self._uniforms(epoch, positions))
            yield Part(
                np.ascontiguousarray(samples[mine]),
                np.ascontiguousarray(occurrences(samples, seen)[mine]),
                None,
            )

    def _permuted(self, epoch: int, size: int, drop_last: bool, first: int) -> Iterator[Part]:
        """The same of an order without weights."""
        count = len(self) - (len(self) % size if drop_last else 0)
        for start, end in stretches(first * size, count, size):
            positions = np.arange(start, end) * self.num_replicas + self.rank
            samples, copies = self._placed(epoch, positions)
            valid = positions < self.total if self.eval_exact else None
            for at in range(0, end - start, size):
                part = slice(at, at + size)
                yield Part(samples[part], copies[part], None if valid is None else valid[part])

    def _placed(self, epoch: int, positions: Longs) -> tuple[Longs, Longs]:
        """Samples and occurrences at these positions of an order that is a permutation, each sample
        `repeats` times in a row; or of a mix.
        """
        if self._mixture:
            return self._mixture.at(positions % self._mixture.length, self.seed, epoch)
        turns, positions = np.divmod(positions, max(1, self.length * self.repeats))
        positions, copies = np.divmod(positions, self.repeats)
        samples = self._ordered(positions, epoch)
        # A sample that fills up the last round is the same image again. Another copy by repeated
        # augmentation is another image.
        return samples, copies + turns * self.repeats if self.repeats > 1 else np.zeros_like(copies)

    def at(self, positions: Longs, epoch: int) -> Longs:
        """The samples at these positions of all ranks' order."""
        if self._shares is None:
            return self._placed(epoch, positions)[0]
        return self._chosen(self._uniforms(epoch, positions))

    def _ordered(self, positions: Longs, epoch: int) -> Longs:
        if self._blocks:
            return self._blocks.at(positions, self.seed, epoch)
        return rng.permute(positions, self.length, self.seed, epoch) if self.shuffle else positions

    def _uniforms(self, epoch: int, positions: Longs) -> Floats:
        """float64 [K] in [0, 1): what the draw at each of these positions is made of."""
        work = Work(positions, np.zeros_like(positions), self.seed, epoch, 0)
        u = rng.sample_uniforms(work, rng.WEIGHTS_OP, 2) @ np.array([1, 2.0**-32])
        below_one: Floats = np.minimum(u, 1 - 2.0**-53)
        return below_one

    def _chosen(self, u: Floats) -> Longs:
        """The samples of these uniforms, in proportion to the weights."""
        assert self._shares is not None
        samples: Longs = np.searchsorted(self._shares, u, side="right").astype(np.int64)
        return samples

    def _counted(self, epoch: int, positions: int) -> Longs:
        """int64 [samples]: how often each came in the first so many positions."""
        seen = np.zeros(self.length, np.int64)
        for start in range(0, positions, COUNTED):
            u = self._uniforms(epoch, np.arange(start, min(start + COUNTED, positions)))
            # Sorted, so that the search stays local
            seen += np.bincount(self._chosen(np.sort(u)), minlength=self.length)
        return seen

    def _problems(self) -> list[str]:
        checks = (
            (self.length >= 0, f"dataset has {self.length} samples, want 0 or more"),
            *((False, text) for text in place_problems(self.seed, self.num_replicas, self.rank)),
            (
                isinstance(self.repeats, int) and self.repeats >= 1,
                f"repeats is {self.repeats!r}, want 1 or more",
            ),
            (
                self.repeats == 1 or self.weights is None,
                "repeats and weights are both given, want one of them",
            ),
            (
                self.num_samples is None or self.weights is not None,
                "num_samples is given without weights; leave it out",
            ),
            (
                not (self.eval_exact and self.drop_last),
                "eval_exact and drop_last are both given, but drop_last leaves samples out",
            ),
            (
                not self.eval_exact or (self.repeats == 1 and self.weights is None),
                "eval_exact is given with repeats or weights; leave these out",
            ),
            (
                not self._mixture or (self.shuffle and self.repeats == 1 and self.weights is None),
                "dataset is a mix, which has an order; leave shuffle, repeats and weights out",
            ),
        )
        return [text for good, text in checks if not good]

    def _weight_problems(self) -> list[str]:
        if self.weights is None:
            return []
        if self.weights.shape != (self.length,):
            return [
                (
                    f"weights have shape {list(self.weights.shape)}, want [{self.length}], one per "
                    "sample"
                )
            ]
        if (
            not np.isfinite(self.weights).all()
            or (self.weights < 0).any()
            or not self.weights.any()
        ):
            return ["weights are not all finite and 0 or more with a sum above 0; mend them"]
        count = self.num_samples
        if count is not None and not (isinstance(count, int) and count >= 0):
            return [f"num_samples is {self.num_samples!r}, want 0 or more"]
        return []


def _shares(weights: Floats) -> Floats:
    """float64 [N]: the share of samples 0..n of all weights; the last is exactly 1."""
    # Scaled by a power of two, which rounds nothing: the sum of any weights is finite
    sums = np.cumsum(np.ldexp(weights, -np.frexp(weights.max())[1]))
    out: Floats = sums / sums[-1]
    return out
