"""An epoch's indices as its samplers give them, from any step on, and the states of samplers that have one.

A sampler is read further than the consumer has got, so its state is kept with the step at which it was taken.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from torch.utils.data import BatchSampler

from fastload.progress import Progress
from fastload.stateful import has_state, taken


def own_sampler(batches: Any) -> Any:
    """The user's: the batch sampler, or the sampler inside of PyTorch's own one."""
    return batches.sampler if type(batches) is BatchSampler else batches


class Reading:
    """An iterator over the batches of indices.

    begun: PyTorch's iterator over `batches`, which nothing was asked of. every: steps from state to state; 0: only the first.
    """

    def __init__(self, batches: Any, begun: Iterator[Any], progress: Progress, every: int = 0) -> None:
        self.sampler, self.progress, self.every = own_sampler(batches), progress, every
        self.begun, self.batches = begun, batches
        self.cuts = self.sampler is not batches and not type(self.sampler).__module__.startswith("torch.utils.data")
        self.step, self.over = 0, False  # over: whether the sampler has said that it has no more
        self.inside: Any = None  # the iterator that may have a state
        self.found: Iterator[Any] = iter(())
        self.kept = progress.orders = deque() if progress.order is None else deque([progress.order])

    def passing(self, first: int) -> Iterator[tuple[int, Any]]:
        """Begins: the batches before `first` that are drawn again, with their numbers."""
        given = self.progress.order
        if given is None:
            self.inside = iter(self.sampler) if self.cuts else self.begun
        else:
            self._restore(given)
        self.found = self._cut() if self.cuts else self.inside
        if given is None:
            self._keep()
        while self.step < first:
            number = self.step
            try:
                index = next(self)
            except StopIteration:
                return
            yield number, index

    def _restore(self, given: dict[str, Any]) -> None:
        if has_state(self.sampler) and given["sampler"] is not None:
            self.sampler.load_state_dict(given["sampler"])
        self.inside = iter(self.sampler if self.cuts else self.batches)
        if has_state(self.inside) and given["iterator"] is not None:
            self.inside.load_state_dict(given["iterator"])
        self.step, self.over = given["step"], bool(given.get("over"))

    def __iter__(self) -> "Reading":
        return self

    def __next__(self) -> Any:
        found = next(self.found)
        self.step += 1
        if self.every and self.step % self.every == 0:
            self._keep()
        return found

    def _cut(self) -> Iterator[list[Any]]:
        """As PyTorch's BatchSampler, which hides its sampler's iterator."""
        while not self.over and (batch := list(islice(self.inside, self.batches.batch_size))):
            self.over = len(batch) < self.batches.batch_size
            if not (self.over and self.batches.drop_last):
                yield batch

    def _keep(self) -> None:
        """The states as they are now."""
        if has_state(self.sampler) or has_state(self.inside):
            states = {"sampler": taken(self.sampler), "iterator": taken(self.inside)}
            self.kept.append({"step": self.step, "over": self.over, **states})
            while len(self.kept) > 2 and self.kept[1]["step"] <= self.progress.needed():
                self.kept.popleft()
