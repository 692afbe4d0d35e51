"""What is measured: the ways to decode each workload."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from benchmarks.decoding.images import PROGRESSIVE, RANDOM, SCALAR, Workload
from benchmarks.decoding.passes import PIXELS, Passes, Way, clock_rate, indexes, pinned_threads
from benchmarks.decoding.settings import Settings
from fastload import _native
from fastload.conversion.seek_writer import COEFFICIENTS
from fastload.spec import Longs

FULL, REFERENCE = "libjpeg-turbo, full decode", "libjpeg-turbo, skip and crop"
SCAN, ROWS, INDEX = "fastload, no index", "fastload, index of rows", "fastload, index"
LAYER = "fastload, coefficient layer"
READY = "pixels already decoded"
SLOW_TARGETS = ("SCALAR", "EMU128")  # Highway's; the scalar body stands for them
STAGES = {
    "headers": "headers, check of the index",
    "entropy": "entropy decoding",
    "planes": "dequantise, IDCT",
}
LAYER_STAGES = {route: f"{LAYER}: {stage}" for route, stage in STAGES.items()}
CORES = (1, 2)

# workload → variant → int64 [passes, N, 2], ns of decoding and of the resize
Times = dict[str, dict[str, Longs]]


def make_variants(settings: Settings, works: Sequence[Workload]) -> list[tuple[str, str, Passes]]:
    """Workload, variant and its passes, in the order of the rows.

    The first of a workload makes the pixels that all must make.
    """
    built: dict[tuple[str, int | None], list[bytes | None]] = {}
    results = []
    for work in works:
        for name, way in ways(work.name, settings.step).items():
            if (work.name, way.step) not in built:
                built[work.name, way.step] = indexes(work, way.step)
            results.append((work.name, name, Passes(work, way, built[work.name, way.step])))
    return results


def ways(workload: str, step: int) -> dict[str, Way]:
    """The variants of a workload."""
    best = {
        FULL: Way("turbo-whole"),
        REFERENCE: Way("turbo"),
        INDEX: Way("index", step),
        LAYER: Way("index", COEFFICIENTS),
    }
    if workload == SCALAR:
        return {
            REFERENCE: best[REFERENCE],
            f"{INDEX}, scalar body": Way("index", step, target="scalar"),
        }
    if workload == PROGRESSIVE:  # no index knows them
        return {FULL: best[FULL], REFERENCE: best[REFERENCE], SCAN: Way("scan")}
    if workload != RANDOM:
        return best
    own = {SCAN: Way("scan"), ROWS: Way("index", 0), INDEX: best[INDEX], LAYER: best[LAYER]}
    if step == 0:
        del own[ROWS]
    limited = {
        f"{variant}, {name}": replace(best[variant], limit=name)
        for variant in (INDEX, LAYER)
        for name in weaker_targets()
    }
    stages = {stage: Way(route, step) for route, stage in STAGES.items()}
    stages |= {stage: Way(route, COEFFICIENTS) for route, stage in LAYER_STAGES.items()}
    return {
        FULL: best[FULL],
        REFERENCE: best[REFERENCE],
        **own,
        **limited,
        READY: Way(PIXELS),
        **stages,
    }


def weaker_targets() -> list[str]:
    return [name for name in _native.targets()[1:] if name not in SLOW_TARGETS]


def clocks(
    passes: Passes, cores: Sequence[int], stack: ExitStack
) -> Iterator[tuple[int, Callable[[], float]]]:
    """The same by the clock, on as many cores as there are of CORES."""
    for count in (count for count in CORES if count <= len(cores)):
        threads = stack.enter_context(pinned_threads(cores[:count]))
        yield count, partial(clock_rate, passes, threads, count)


def key(workload: str, variant: str) -> str:
    return f"{workload}: {variant}"


def clock_key(cores: int) -> str:
    return f"{cores} core{'s' if cores > 1 else ''}, by the clock"
