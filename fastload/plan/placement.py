"""Where the work on a batch runs, with device="cuda": the placements, and which one lets training
run fastest.

The pixels are the same wherever they are made, so real batches are the trial: each makes some
in turn, and what is measured is how fast the caller's own stream gets on with them, its training
step included.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from fastload.spec import Size

if TYPE_CHECKING:
    import torch


PLACES = ("auto", "cpu", "gpu")
ROUNDS = 3  # turns of each placement; their median counts
COUNTED = 8  # batches of a turn
# Share by which a placement must be faster than one before it, which takes less of the GPU
MARGIN = 0.02


class Placement(NamedTuple):
    """ "cpu" or "gpu" each.

    DECODE has CROP with it. What was decoded on the GPU is augmented there.
    """

    decode: str = "cpu"
    augment: str = "cpu"

    def __str__(self) -> str:
        return f"decode={self.decode!r}, augment={self.augment!r}"


HOST = Placement()
# The one that takes least of the GPU comes first.
ALL = (HOST, Placement("cpu", "gpu"), Placement("gpu", "gpu"))


def problems(decode: str, augment: str, device: str | None) -> list[str]:
    """What does not go together."""
    asked = {"decode": decode, "augment": augment}
    problems = [
        f"{name}: 'gpu' needs device='cuda' (got {device!r}); add device='cuda', or leave {name} "
        "out"
        for name, where in asked.items() if where == "gpu" and not (device or "").startswith("cuda")
    ]  # fmt: skip
    if (decode, augment) == ("gpu", "cpu"):
        problems.append(
            "augment: 'cpu' needs decode='cpu' (got 'gpu', whose images are on the GPU); leave "
            "augment out, or use 'gpu'"
        )
    return problems


def asked_for(decode: str, augment: str) -> tuple[Placement, ...]:
    """The placements that these arguments allow."""
    return tuple(
        placement
        for placement in ALL
        if decode in ("auto", placement.decode) and augment in ("auto", placement.augment)
    )


@dataclass
class _Turn:
    """Batches of one placement in a row."""

    placement: Placement
    first: "torch.cuda.Event"  # marks on the caller's stream
    last: "torch.cuda.Event"
    images: int


@dataclass
class _Trial:
    """Of one size."""

    turns: list[_Turn] = field(default_factory=list)
    first: "torch.cuda.Event | None" = None  # of the turn under way
    images: int = 0
    batches: int = 0
    chosen: Placement | None = None


class Chooser:
    """Which placement the next batch gets. `choose` is called where batches are begun, `handed`
    where they are handed out, in order.

    seconds: between two marks, on the caller's stream; None: not known yet. depth: batches under
        way, which a turn leaves out at its
    beginning: they were made while the pool still worked for the one before.
    """

    def __init__(
        self,
        placements: Sequence[Placement],
        depth: int = 0,
        seconds: "Callable[[torch.cuda.Event, torch.cuda.Event], float | None]" = lambda *_: None,
    ) -> None:
        self.placements, self.depth, self.seconds = list(placements), depth, seconds
        self.dropped: dict[Placement, str] = {}  # and why
        self._lock = threading.Lock()  # batches are begun in one thread and handed out in another
        self._trials: dict[int | None, _Trial] = {}
        # What was handed out last, and how often in a row
        self._row: tuple[int | None, Placement] | None = None
        self._fresh = 0

    def begin(self) -> None:
        """A new epoch: what was handed out before says nothing about what comes."""
        self._row, self._fresh = None, 0

    def choose(self, size: Size | None) -> Placement:
        """Of a batch of this size, px."""
        size = _measured(size)
        with self._lock:
            if len(self.placements) == 1:
                return self.placements[0]
            trial, order = self._trials.setdefault(size, _Trial()), self._order()
            if trial.chosen is None and len(trial.turns) < len(order):
                return order[len(trial.turns)]
            trial.chosen = trial.chosen or self._best(size, trial)
            return trial.chosen or self.placements[0]

    def handed(
        self, size: Size | None, placement: Placement, images: int, mark: "torch.cuda.Event"
    ) -> None:
        """A batch went to the caller, whose stream passes `mark` then."""
        size = _measured(size)
        with self._lock:
            self._fresh = self._fresh + 1 if self._row == (size, placement) else 1
            self._row = size, placement
            trial, order = self._trials.get(size), self._order()
            if trial is None or len(trial.turns) >= len(order):
                return
            if order[len(trial.turns)] == placement and self._fresh > self.depth:
                self._count(trial, placement, images, mark)
            else:
                trial.first = None

    def _count(
        self, trial: _Trial, placement: Placement, images: int, mark: "torch.cuda.Event"
    ) -> None:
        """One batch of a turn: between two marks the caller worked on all batches but the one that
        came with the last mark.
        """
        if trial.first is None:
            trial.first, trial.images, trial.batches = mark, images, 0
            return
        trial.batches += 1
        if trial.batches == COUNTED:
            trial.turns.append(_Turn(placement, trial.first, mark, trial.images))
            trial.first, self._fresh = None, 0
        trial.images += images

    def drop(self, placement: Placement, reason: str) -> bool:
        """This placement is not to be used any more; False if it is the only one."""
        with self._lock:
            if placement in self.placements:
                if len(self.placements) == 1:
                    return False
                self.dropped[placement] = reason
                self.placements.remove(placement)
                self._trials.clear()
            return True

    def rates(self, size: int | None) -> dict[Placement, float]:
        """Images per second of the caller with each placement, as far as measured: medians of its
        turns.
        """
        rates: dict[Placement, list[float]] = {}
        for turn in self._trials.get(size, _Trial()).turns:
            took = self.seconds(turn.first, turn.last)
            if took:
                rates.setdefault(turn.placement, []).append(turn.images / took)
        return {placement: median(values) for placement, values in rates.items()}

    def explain(self) -> list[str]:
        """What was measured and chosen, a line for each size; why placements are out."""
        out = [f"{placement} is out: {reason}" for placement, reason in self.dropped.items()]
        if len(self.placements) == 1:
            return [f"{self.placements[0]}", *out]
        if not self._trials:
            out.append(f"measured in the first batches: {'; '.join(map(str, self.placements))}")
        for size in self._trials:
            where = "" if size is None else f"at {size} px: "
            shown = (
                "; ".join(
                    f"{placement} {rate:,.0f} images/s"
                    for placement, rate in self.rates(size).items()
                )
                or "nothing yet"
            )
            chosen = self._trials[size].chosen
            out.append(
                f"{where}{f'chosen {chosen}' if chosen else 'still measuring'} (training got "
                f"{shown})"
            )
        return out

    def _order(self) -> list[Placement]:
        """Of the turns: there and back, so that a drift of the machine is not any placement's."""
        return [
            placement
            for number in range(ROUNDS)
            for placement in (self.placements if number % 2 == 0 else self.placements[::-1])
        ]

    def _best(self, size: int | None, trial: _Trial) -> Placement | None:
        """None: some marks are not passed yet."""
        if any(self.seconds(turn.first, turn.last) is None for turn in trial.turns):
            return None
        rates = self.rates(size)
        best = max(rates.values(), default=0.0)
        return next(
            (
                placement
                for placement in self.placements
                if rates.get(placement, 0.0) * (1 + MARGIN) >= best
            ),
            self.placements[0],
        )


def _measured(size: Size | None) -> int | None:
    """What batches of this size are measured as. Those of buckets, which have about as many px and
    come in any order, are measured together.
    """
    return None if isinstance(size, tuple) else size
