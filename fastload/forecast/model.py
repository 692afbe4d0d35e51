"""From what was measured here to a run on some machine. Pure functions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fastload.forecast import machines, rates, steps
from fastload.forecast.bands import Band, Range, constant, exactly
from fastload.forecast.edges import Edges
from fastload.forecast.machines import Machine
from fastload.forecast.measuring import Measured
from fastload.forecast.run import Run, blend_of
from fastload.forecast.steps import Gpu
from fastload.measure import Sample
from fastload.recipes import Recipe

BUSY = 0.95  # share of the run in which the GPUs shall work
MOST_CORES = 4096
CACHED = 0.8  # share of a machine's memory that its page cache may take


@dataclass(frozen=True)
class Question:
    """What is forecast. gpu: the assumed step of one GPU; None: the step was measured here."""

    recipe: Recipe
    sizes: tuple[int, ...]  # px of each epoch
    images: int  # of an epoch
    image_bytes: float  # mean
    machine: Machine
    gpu: Gpu | None
    here: bool  # whether `machine` is the one that was measured


def run(asked: Question, measured: Measured) -> Run:
    sizes, machine = asked.sizes, asked.machine
    loader = rates.per_image(measured.loader, sizes)
    if not asked.here:
        loader = loader.times(machines.slower(machine, measured.used, grows(measured)))
    measured_whole = asked.gpu is None and asked.here and machine.gpus == 1
    return Run(
        sizes, asked.images, _step(asked, measured), loader, _read(asked), blend(measured),
        edges(measured, len(sizes), measured_whole),
        rates.per_image(measured.together, sizes) if measured_whole else None,
    )  # fmt: skip


def grows(measured: Measured) -> Range:
    """How the loader's rate grows with the cores, as `machines.exponent` has it.

    Two hardware threads of a core share it, on any machine alike. So where this one has them, the
    growth is that from one core to all cores, with one worker on each.
    """
    one = measured.one_core.median if measured.one_core else None
    cores, full = measured.used_cores, measured.loader[max(measured.loader)]
    if cores < measured.used:
        if measured.each_core is None:
            return machines.UNKNOWN
        full = measured.each_core
    return machines.exponent(one, full.median, cores)


def edges(measured: Measured, epochs: int, shared: bool) -> Edges:
    """shared: whether step and loader share the cores."""
    begin, first, closing = starts(measured, epochs), fill(measured), exactly(0.0)
    if measured.closing is not None:
        closing = exactly(measured.closing.median)
    if not shared or not measured.ahead:
        return Edges(begin, first, closing=closing)
    # The kernel gives each worker and the step as much. One worker alone has a core: 1
    one, workers = measured.one_core, measured.workers
    gain = max(1.0, measured.loader[max(measured.loader)].median / one.median) if one else 1.0
    each = min(1.0, gain / (workers + 1)) if workers + 1 > measured.cores else 1.0
    paces = each, each * workers / gain
    return Edges(begin, first, measured.ahead * measured.batch, paces, closing)


def starts(measured: Measured, epochs: int) -> Band:
    """Seconds from an epoch's begin until batches are made; in the first epoch the loader is
    new.
    """
    seen = measured.start
    first, *later = seen.values
    value = np.full(epochs, Sample(tuple(later) or (first,)).median)
    value[0] = first
    return Band(value, np.full(epochs, seen.low), np.full(epochs, seen.high))


def fill(measured: Measured) -> Range:
    """Images that are made before an epoch's first step.

    Workers that began together may fall out of step, until one batch is made after the other.
    """
    if measured.fill is None:
        return exactly(0.0)
    seen = measured.fill
    return Range(seen.median, min(1.0, seen.low), seen.high).times(measured.batch)


def blend(measured: Measured) -> Range:
    """How well step and loader work side by side, from the losses that were seen."""
    seen = measured.losses
    return Range(blend_of(seen.median), blend_of(seen.high), blend_of(seen.low))


def needed_cores(asked: Question, measured: Measured) -> Range | None:
    """The fewest cores that keep all GPUs busy; None where no number does.

    value: by the estimate; low and high: at best, and to be safe.
    """

    def busy(end: str, cores: int) -> float:
        return float(getattr(_with_cores(asked, measured, cores).busy, end))

    value, low, high = (_fewest(partial(busy, end)) for end in ("value", "high", "low"))
    if value is None:
        return None
    return Range(value, low if low is not None else value, high if high is not None else np.inf)


def _with_cores(asked: Question, measured: Measured, cores: int) -> Run:
    return run(replace(asked, machine=replace(asked.machine, cores=cores), here=False), measured)


def _fewest(busy: Callable[[int], float]) -> int | None:
    """More cores never make GPUs less busy, so halving finds it."""
    if busy(MOST_CORES) < BUSY:
        return None
    low, high = 0, MOST_CORES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if busy(middle) >= BUSY else (middle, high)
    return high


def what_ifs(asked: Question, measured: Measured) -> dict[str, Run]:
    """The same run, had it one thing more."""
    now = run(asked, measured)
    sizes = len(now.sizes)
    free = constant(exactly(0.0), sizes)
    found = {"decoding and augmenting were free": replace(now, loader=free, together=None)}
    if now.together is not None:  # a step on these cores: then nothing else is known
        return found
    doubled = replace(asked.machine, cores=2 * asked.machine.cores)
    found["there were twice the cores"] = run(replace(asked, machine=doubled, here=False), measured)
    if now.read.value.any():
        found["disk and network gave half as much"] = replace(now, read=now.read.times(exactly(2)))
    found["each GPU were twice as fast"] = replace(now, step=now.step.times(exactly(0.5)))
    return found


def read_bytes(asked: Question) -> tuple[float, float]:
    """Bytes read from disk or network in the first epoch, and in each later one."""
    whole = asked.images * asked.image_bytes
    memory = asked.machine.memory
    if asked.machine.megabytes_per_s is None or memory is None:
        return whole, whole
    return whole, 0.0 if whole <= CACHED * memory * 1e9 else whole


def needed_memory(asked: Question) -> float:
    """Bytes of memory of a machine whose page cache holds all data, so that they are read once."""
    return asked.images * asked.image_bytes / CACHED


def _read(asked: Question) -> Band:
    """Seconds per image of disk or network; epochs after the first read from memory if it holds
    all.
    """
    epochs, rate = len(asked.sizes), asked.machine.megabytes_per_s
    if rate is None:
        return constant(exactly(0.0), epochs)
    seconds = np.full(epochs, asked.image_bytes / (rate * 1e6))
    if read_bytes(asked)[1] == 0:
        seconds[1:] = 0
    return Band(seconds, seconds, seconds)


def _step(asked: Question, measured: Measured) -> Band:
    sizes, gpus = asked.sizes, asked.machine.gpus
    if asked.gpu is not None:
        return steps.per_image(asked.gpu, sizes, gpus, asked.recipe)
    several = steps.several(gpus)
    inverse = Range(1 / several.value, 1 / several.high, 1 / several.low)
    return rates.per_image(measured.step, sizes).times(inverse)
