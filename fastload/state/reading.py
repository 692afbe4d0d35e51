"""An epoch's indices as its samplers give them, from any step on, and the states of samplers that
have one.

A sampler is read further than the consumer has got, so its state is kept with the step at which it
was taken.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from torch.utils.data import BatchSampler

from fastload.state.progress import Progress
from fastload.state.stateful import State, has_state, taken


def own_sampler(batches: Iterable[object]) -> Iterable[object]:
    """The user's: the batch sampler, or the sampler inside of PyTorch's own one."""
    return batches.sampler if type(batches) is BatchSampler else batches


class Reading:
    """An iterator over the batches of indices.

    begun: PyTorch's iterator over `batches`, which nothing was asked of. every: steps from state to
        state; 0: only the first.
    """

    def __init__(
        self, batches: Iterable[object], begun: Iterator[object], progress: Progress, every: int = 0
    ) -> None:
        self.sampler, self.progress, self.every = own_sampler(batches), progress, every
        self.begun, self.batches = begun, batches
        self.cuts = self.sampler is not batches and not type(self.sampler).__module__.startswith(
            "torch.utils.data"
        )
        self.step, self.over = 0, False  # over: whether the sampler has said that it has no more
        self.inside: Iterator[object] = begun  # the iterator that may have a state
        self.indices: Iterator[object] = iter(())
        self.kept = progress.orders = deque() if progress.order is None else deque([progress.order])

    def passing(self, first: int) -> Iterator[tuple[int, object]]:
        """Begins: the batches before `first` that are drawn again, with their numbers."""
        state = self.progress.order
        if state is None:
            self.inside = iter(self.sampler) if self.cuts else self.begun
        else:
            self._restore(state)
        self.indices = self._cut() if self.cuts else self.inside
        if state is None:
            self._keep()
        while self.step < first:
            number = self.step
            try:
                index = next(self)
            except StopIteration:
                return
            yield number, index

    def _restore(self, state: State) -> None:
        if has_state(self.sampler) and state["sampler"] is not None:
            self.sampler.load_state_dict(state["sampler"])
        self.inside = iter(self.sampler if self.cuts else self.batches)
        if has_state(self.inside) and state["iterator"] is not None:
            self.inside.load_state_dict(state["iterator"])
        self.step, self.over = state["step"], bool(state.get("over"))

    def __iter__(self) -> "Reading":
        return self

    def __next__(self) -> object:
        indices = next(self.indices)
        self.step += 1
        if self.every and self.step % self.every == 0:
            self._keep()
        return indices

    def _cut(self) -> Iterator[list[object]]:
        """As PyTorch's BatchSampler, which hides its sampler's iterator."""
        assert isinstance(self.batches, BatchSampler)  # `own_sampler` looks into no other
        size, drop_last = self.batches.batch_size, self.batches.drop_last
        while not self.over and (batch := list(islice(self.inside, size))):
            self.over = len(batch) < size
            if not (self.over and drop_last):
                yield batch

    def _keep(self) -> None:
        """The states as they are now."""
        if has_state(self.sampler) or has_state(self.inside):
            states = {"sampler": taken(self.sampler), "iterator": taken(self.inside)}
            self.kept.append({"step": self.step, "over": self.over, **states})
            while len(self.kept) > 2 and self.kept[1]["step"] <= self.progress.needed():
                self.kept.popleft()
