"""What a forecast must say beside its numbers: where they come from, and how far they reach."""

from fastload.forecast import model, steps, words
from fastload.forecast.measuring import Measured
from fastload.forecast.model import Question
from fastload.forecast.steps import Gpu
from fastload.profiler.job import left_out as not_run
from fastload.profiler.steps import EmulatedStep

ALWAYS = ("validation and checkpoints", "a cold page cache")
SAM = "SAM"  # it is counted: its steps compute two gradients


def step(gpu: Gpu | None, on_cpu: bool, measured: Measured) -> str:
    """Where the step's rate comes from."""
    if gpu is not None:
        return gpu.said
    where = "this CPU, beside the loader" if on_cpu else "this machine's GPU"
    return f"measured on {where}, at {_sizes(tuple(measured.step))}"


def extrapolated(
    asked: Question, measured: Measured, images: int, seconds: float
) -> tuple[str, ...]:
    """What was not measured but computed, and how far away it is.

    images: of the data set here; seconds: of measuring.
    """
    machine, found = asked.machine, []
    total = model.run(asked, measured).total.value
    if total > seconds:
        found.append(f"{total / seconds:,.0f} times as long as was measured ({seconds:.0f} s)")
    if asked.images != images:
        found.append(
            f"an epoch of {asked.images:,} images, {words.number(asked.images / images)} times "
            "those that are here, and taken to be like them"
        )
    distinct = len(set(asked.sizes))
    if distinct > len(measured.loader):
        sizes = _sizes(tuple(measured.loader))
        found.append(f"{distinct} sizes from {sizes}, on lines between them")
    if not asked.here:
        grows = model.grows(measured)
        found.append(
            f"the loader on {machine.cores} cores from {measured.used} here, "
            f"{words.number(machine.cores / measured.used)} times: its rate grows by the power "
            f"{grows.value:.2f} ({grows.low:.2f} to {grows.high:.2f}) of the cores, and a core "
            f"there is taken to be {machine.core_speed:g} times as fast"
        )
    if machine.gpus > 1:
        many = steps.several(machine.gpus)
        beyond = f", beyond the {steps.most_gpus()} that the source has" * (
            machine.gpus > steps.most_gpus()
        )
        found.append(
            f"{machine.gpus} GPUs give {many.value:.1f} times what one gives "
            f"({many.low:.1f} to {many.high:.1f}){beyond}"
        )
    return tuple(found)


def left_out(asked: Question) -> tuple[str, ...]:
    """What the forecast does not hold."""
    kind = EmulatedStep.kind if asked.gpu is not None else ""
    parts = not_run(asked.recipe, kind)
    return (*(part for part in parts if not part.startswith(SAM)), *ALWAYS)


def _sizes(sizes: tuple[int, ...]) -> str:
    return f"{', '.join(str(size) for size in sorted(sizes))} px"
