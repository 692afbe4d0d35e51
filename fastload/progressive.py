"""Size schedules for progressive resizing: the image size as a function of (epoch, step)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.errors import PipelineError, UsageError
from fastload.transforms.base import MAX_SIDE, is_number

MODES = ("decode", "resize", "crop")
WHERE = "size_schedule"


@dataclass(frozen=True)
class SizeSchedule(ABC):
    """The side of the images, batch by batch. It has no state, so it needs no resuming."""

    mode = "decode"  # the images are decoded to the size; see ProgressiveResize for the others
    counts_steps = False  # whether it must know the number of batches in an epoch

    def problems(self) -> list[str]:
        """Everything that is wrong with the arguments: "what (got, want)"."""
        return []

    @abstractmethod
    def size(self, full: int, epoch: int, step: int = 0, steps: int = 0) -> Any:
        """Side in px of batch `step` of `epoch`, both from 0.

        full: the side that the pipeline gives, px; steps: batches in an epoch.
        """

    def known(self, full: int) -> tuple[Any, ...]:
        """Sizes that will come: all of them, or at least the smallest and the largest, if known."""
        return (self.size(full, 0),)


@dataclass(frozen=True)
class ProgressiveResize(SizeSchedule):
    """Sizes that grow linearly from `scale` times the pipeline's size to the whole of it.

    Source: Composer 0.7.1, algorithms/progressive_resizing, with its defaults; "decode" is not
    Composer's. A loader raises PipelineError for arguments that are wrong.

    Args:
        total_epochs: Length of the training; sizes change between epochs.
        total_steps: The same in batches, in place of total_epochs; sizes change between batches.
        scale: Of the first size, above 0 and up to 1.
        delay: Share of the training at the first size.
        finetune: Share of the training at the full size, at its end.
        increment: Sizes are multiples of so many px, but for the full size.
        mode: "decode" decodes to the size: best pixels, least work. The others change finished
            batches, as Composer does. "resize" takes the nearest pixels, and a side may come out
            1 px smaller: 119 for 120 of 176. "crop" cuts one random window per batch.

    Example:
        >>> from fastload import ProgressiveResize
        >>> schedule = ProgressiveResize(total_epochs=10)
        >>> [schedule.size(224, epoch) for epoch in (0, 6, 9)]
        [112, 148, 224]
    """

    total_epochs: int | None = None
    total_steps: int | None = None
    scale: float = 0.5
    delay: float = 0.5
    finetune: float = 0.2
    increment: int = 4
    mode: str = "decode"

    @property
    def counts_steps(self) -> bool:  # type: ignore[override]
        return self.total_steps is not None

    def problems(self) -> list[str]:
        problems = []
        totals = [
            (name, getattr(self, name))
            for name in ("total_epochs", "total_steps")
            if getattr(self, name) is not None
        ]
        if len(totals) != 1:
            problems.append(
                f"{len(totals)} of total_epochs and total_steps are given, want exactly one"
            )
        problems += [
            f"{name} is {value}, want a whole number from 1"
            for name, value in totals
            if not _whole(value)
        ]
        if not is_number(self.scale) or not 0 < self.scale <= 1:
            problems.append(f"scale is {self.scale}, want above 0 and up to 1")
        shares = [(name, getattr(self, name)) for name in ("delay", "finetune")]
        wrong = [
            f"{name} is {value}, want 0 to 1"
            for name, value in shares
            if not is_number(value) or not 0 <= value <= 1
        ]
        if not wrong and self.delay + self.finetune > 1:
            wrong = [f"delay + finetune is {self.delay + self.finetune}, want at most 1"]
        problems += wrong
        if not _whole(self.increment):
            problems.append(f"increment is {self.increment}, want a whole number from 1")
        if self.mode not in MODES:
            problems.append(f"mode is {self.mode!r}, want one of {', '.join(MODES)}")
        return problems

    def size(self, full: int, epoch: int, step: int = 0, steps: int = 0) -> int:
        if self.total_steps is None:
            return self.at(full, epoch / (self.total_epochs or 1))
        return self.at(full, (epoch * steps + step) / (self.total_steps or 1))

    def known(self, full: int) -> tuple[int, ...]:
        return (self.at(full, 0), full)

    def at(self, full: int, elapsed: float) -> int:
        """Side in px after the share `elapsed` of the training."""
        ramp = 1 - self.finetune - self.delay
        if elapsed < self.delay:
            done = 0.0
        elif ramp <= 0:
            done = 1.0
        else:
            done = min((elapsed - self.delay) / ramp, 1.0)
        scaled = full * (self.scale + (1 - self.scale) * done)
        return min(round(scaled / self.increment) * self.increment, full)


@dataclass(frozen=True)
class Ramp(SizeSchedule):
    """min_res up to epoch `start`, max_res from epoch `end` on, px, and a line between them.

    Sizes on the line are the nearest multiples of 32.

    Source: libffcv/ffcv-imagenet, train_imagenet.py, get_resolution.
    """

    min_res: int
    max_res: int
    start: int  # epochs, from 0
    end: int

    def problems(self) -> list[str]:
        problems = _size_problems("min_res", self.min_res) + _size_problems("max_res", self.max_res)
        if not problems and self.min_res > self.max_res:
            problems.append(f"min_res is {self.min_res}, want at most max_res ({self.max_res})")
        if (
            not all(is_number(value) for value in (self.start, self.end))
            or not 0 <= self.start <= self.end
        ):
            problems.append(
                f"start is {self.start} and end is {self.end}, want 0 <= start <= end, in epochs"
            )
        return problems

    def size(self, full: int, epoch: int, step: int = 0, steps: int = 0) -> int:
        if epoch <= self.start or epoch >= self.end:
            return self.min_res if epoch <= self.start else self.max_res
        line = np.interp([epoch], [self.start, self.end], [self.min_res, self.max_res])
        return int(np.round(line[0] / 32)) * 32

    def known(self, full: int) -> tuple[int, ...]:
        first, last = int(np.floor(self.start)), int(np.ceil(self.end))
        return tuple(
            sorted(
                {self.min_res, self.max_res, self.size(full, first + 1), self.size(full, last - 1)}
            )
        )


@dataclass(frozen=True)
class PerEpoch(SizeSchedule):
    """One size per epoch, px; the last stays. mode: as ProgressiveResize has it."""

    sizes: tuple[int, ...]
    mode: str = "decode"

    def problems(self) -> list[str]:
        if not self.sizes:
            return ["the list is empty, want one size per epoch"]
        return [
            problem
            for epoch, size in enumerate(self.sizes)
            for problem in _size_problems(f"epoch {epoch}: size", size)
        ]

    def size(self, full: int, epoch: int, step: int = 0, steps: int = 0) -> int:
        return self.sizes[min(epoch, len(self.sizes) - 1)]

    def known(self, full: int) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.sizes))


@dataclass(frozen=True)
class ByFunction(SizeSchedule):
    """A function from the epoch (from 0) to the size, px."""

    function: Callable[[int], int]

    def size(self, full: int, epoch: int, step: int = 0, steps: int = 0) -> Any:
        return self.function(epoch)


def runs_code(sizes: SizeSchedule) -> bool:
    """Whether a schedule runs code of the user's: a function, or a class of their own."""
    return type(sizes) not in (ProgressiveResize, Ramp, PerEpoch)


def schedule(value: Any) -> SizeSchedule | None:
    """The schedule that `DataLoader(size_schedule=value)` means.

    value: None, a schedule, a list of sizes per epoch, or a function of the epoch.
    """
    if value is None or isinstance(value, SizeSchedule):
        return value
    if callable(value):
        return ByFunction(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return PerEpoch(tuple(value))
    kinds = (
        "ProgressiveResize, progressive.Ramp, a list of sizes per epoch or a function of the epoch"
    )
    raise UsageError(f"DataLoader: size_schedule is {value!r}, want {kinds}")


def checked_size(sizes: SizeSchedule, full: int, epoch: int, step: int, steps: int) -> int | None:
    """The batch's side in px, or None for the size that the pipeline gives anyway.

    Raises PipelineError for what is no size.
    """
    size = sizes.size(full, epoch, step, steps)
    if problems := _size_problems("size", size):
        raise PipelineError(f"{WHERE}: epoch {epoch}: {problem}" for problem in problems)
    return None if size == full else int(size)


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 1


def _size_problems(name: str, size: Any) -> list[str]:
    if _whole(size) and size <= MAX_SIDE:
        return []
    return [f"{name} is {size}, want a whole number from 1 to {MAX_SIDE} px"]


def schedule_problems(sizes: SizeSchedule, full: int) -> list[str]:
    """What is wrong with the schedule itself, for a pipeline of `full` px."""
    problems = sizes.problems()
    if not problems:
        known = sizes.known(full)
        problems = [problem for size in known for problem in _size_problems("size", size)]
    return [f"{WHERE}: {problem}" for problem in dict.fromkeys(problems)]
