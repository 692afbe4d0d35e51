"""Training steps to measure against: a recipe's own, or one emulated by the clock without a GPU."""

import math
import time
from numbers import Real

import torch

from fastload.errors import UsageError
from fastload.measure import rate
from fastload.profiler.batches import images_in
from fastload.recipes import Recipe
from fastload.recipes.step import TrainingStep

# Seconds that the host may run ahead of the emulated GPU: about one real batch of 256, whatever
# the size of the batches here
LEAD = 0.05


class EmulatedStep:
    """A GPU played by the clock, as MLPerf Storage does.

    It takes no CPU time, and the host runs a little ahead of it.

    Args:
        rate: Images/s of the training step alone, above 0.

    Raises:
        UsageError: The rate is no such number.

    Example:
        >>> import torch
        >>> from fastload.profiler import EmulatedStep
        >>> step = EmulatedStep(rate=100_000)
        >>> step([torch.zeros(4, 3, 48, 64), torch.zeros(4)])
    """

    kind = "emulated"
    note = ""
    resident = 1  # batches to keep for the step alone; nothing looks at them

    def __init__(self, rate: float) -> None:
        if not _is_rate(rate):
            raise UsageError(f"EmulatedStep: rate is {rate!r}, want images/s, a number above 0")
        self.rate = rate  # images/s
        self._free_at = 0.0  # s, time.perf_counter's clock: when the GPU has nothing left to do

    def __call__(self, batch: object) -> None:
        takes = images_in(batch) / self.rate
        self._free_at = max(time.perf_counter(), self._free_at) + takes
        _sleep_until(self._free_at - max(takes, LEAD))

    def to_device(self, batch: object) -> object:
        return batch

    def rate_at(self, scale: float, batch: object, seconds: float) -> float:
        """Images/s for sides `scale` times as long: a step is taken to cost as much per pixel at
        every size.
        """
        return self.rate / scale**2

    def settle(self) -> float:
        """When the GPU will have done everything: exact, however late the host wakes up."""
        return self._free_at


def _is_rate(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < math.inf


def _sleep_until(moment: float) -> None:
    left = moment - time.perf_counter()
    if left > 0:
        time.sleep(left)


class RecipeStep:
    """A recipe's own training step, whole:

    `fastload.recipes.step` says what is in it. model: another network than the recipe's.
    """

    kind = "recipe"
    resident = 8  # distinct real batches: a repeated one, or zeros, would flatter power and caches

    def __init__(
        self, recipe: Recipe, classes: int, device: str = "cuda", model: str | None = None
    ) -> None:
        self.step = TrainingStep(recipe, classes, device, model)
        self.note = f"The training step ran: {self.step.describe()}."

    def __call__(self, batch: object) -> None:
        self.step(batch)

    def to_device(self, batch: object) -> object:
        return self.step.to_device(batch)

    def rate_at(self, scale: float, batch: object, seconds: float) -> float:
        """Images/s, measured over `seconds` with `batch`, whose sides are `scale` times as long as
        at full size.
        """
        resident = self.to_device(batch)

        def once() -> int:
            self(resident)
            return images_in(batch)

        once(), once()  # the first steps choose kernels and take memory
        return rate(once, seconds, self.settle)

    def settle(self) -> float:
        return synchronise()


def synchronise() -> float:
    """Wait until the GPU, if there is one, has done everything; returns when that was, s."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
