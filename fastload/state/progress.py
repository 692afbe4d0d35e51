"""An epoch on its way: where the consumer is, and the draws that a resumed one makes again."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from fastload import rng
from fastload.state.keeping import Alone, Keeper
from fastload.state.loaders import FollowedLoader
from fastload.state.stateful import State


@dataclass
class Progress:
    """An epoch on its way; the loader and its newest iterator share it."""

    epoch: int
    step: int = 0  # batches that the consumer has received, or that failed
    first: int = 0  # the step at which this iterator began
    seed: int | None = None  # of all draws; known once the iterator is open
    order_seed: int | None = None  # that a RandomSampler drew from torch's default generator
    order_epoch: int | None = None  # of a sampler that counts its own epochs
    # State of the generator that the order depends on, before anything was drawn.
    generator: torch.Tensor | None = None
    own: bool = False  # whether that is one of the user's, not torch's default one
    # State of torch's default generator where the draws of later epochs begin; None: where this
    # one's end.
    onward: torch.Tensor | None = None
    begins: bool = False  # whether nothing was drawn, and `generator` is where its draws begin
    # Whether later epochs draw from there, since the program's generator is elsewhere.
    private: bool = False
    bad: int = 0  # samples of the epoch that on_error has passed over
    bad_reasons: Counter[str] = field(default_factory=Counter)  # theirs
    done: bool = False
    resumed: bool = False
    order: State | None = None  # of samplers with a state: the one to go on from
    orders: deque[State] | None = None  # theirs at some steps of this epoch
    fresh: bool = True  # whether its iterator is new, which draws a seed for workers
    # Of workers that outlive epochs, where this epoch has not drawn it.
    base_seed: int | None = None
    told: State | None = None  # what was loaded of a data set with a state
    keeper: Alone | Keeper | None = None  # what is known of such a data set now
    _now: torch.Tensor | None = None  # of torch's default generator, while it stands where it stood
    _after: torch.Tensor | None = None  # where a resumed sampler goes on drawing
    _inside: bool = False

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Draws from torch's default generator are those of the first time; of a resumed epoch
        only.

        They leave it as it is now, but where it stands as it stood then: so it goes on as it did,
        too.
        """
        if not self.resumed or self._inside:
            yield
            return
        then = self.generator if self._after is None else self._after
        self._now = torch.get_rng_state()
        real = then is not None and not self.own and torch.equal(then, self._now)
        if then is not None and not self.own:
            torch.set_rng_state(then)
        self._inside = True
        try:
            yield
        finally:
            self._inside, self._after = False, torch.get_rng_state()
            if not real:
                torch.set_rng_state(self._now)
            elif self.onward is None:
                self.private = False  # the program's generator is where later epochs' draws begin

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Within `replaying`: the program's generator, for what is the user's own."""
        if not self._inside or self._now is None:
            yield
            return
        inner = torch.get_rng_state()
        torch.set_rng_state(self._now)
        try:
            yield
        finally:
            self._now = torch.get_rng_state()
            torch.set_rng_state(inner)

    def settle(self) -> None:
        """Later epochs draw from the program's generator where the program, or a data set's state,
        has put it back.
        """
        now = self._now if self._inside else torch.get_rng_state()
        if self.onward is not None and now is not None and torch.equal(self.onward, now):
            self.private = False

    def draw(self) -> int:
        """The seed of a RandomSampler that has no generator."""
        if self.order_seed is None:
            with self.replaying():
                self.order_seed = rng.draw_seed(None)
        return self.order_seed

    def later(self) -> torch.Tensor | None:
        """Where the draws of the epoch after this one begin; None: where the program's generator
        is.
        """
        if not self.private:
            return None
        return self._after if self.onward is None else self.onward

    def needed(self) -> int:
        """The first batch whose indices are needed to go on from here."""
        return self.step if self.keeper is None else self.keeper.needed(self.step)

    def order_state(self) -> State | None:
        """The samplers' states to go on from; None where they have none."""
        if not self.orders:
            return self.order
        needed = self.needed()
        return next(
            (each for each in reversed(self.orders) if each["step"] <= needed), self.orders[0]
        )


class ResumableLoader(FollowedLoader, Protocol):
    """A loader whose epochs can be resumed."""

    _epoch: int  # of the next iter()

    @property
    def generator(self) -> torch.Generator | None: ...
    @property
    def _progress(self) -> Progress:
        """Of the last iter()."""

    @property
    def _iterator(self) -> _BaseDataLoaderIter | None:
        """The one that persistent workers keep."""

    @property
    def _index_sampler(self) -> Iterable[object]: ...
    def __len__(self) -> int: ...
