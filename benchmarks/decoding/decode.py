"""One JPEG in memory to uint8 [size, size, 3] (decode, antialiased resize of a crop, flip) on one
pinned core, without Python's own time.

Variants take turns by whole passes over the images, after one pass each that is dropped and in
which their pixels are compared.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.decoding.images import (
    RANDOM,
    SCALAR,
    SMALL,
    TINY,
    Images,
    Workload,
    read,
    workloads,
)
from benchmarks.decoding.passes import (
    PIXELS,
    Passes,
    Way,
    check_pixels,
    clock_rate,
    indexes,
    pinned,
    pinned_threads,
    rates,
)
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import _native
from fastload.conversion import seek_writer
from fastload.errors import UsageError
from fastload.measure import Sample, interleaved
from fastload.spec import Longs
from fastload.transforms.base import size_problems

FULL, REFERENCE = "libjpeg-turbo, full decode", "libjpeg-turbo, skip and crop"
SCAN, ROWS, INDEX = "fastload, no index", "fastload, index of rows", "fastload, index"
READY = "pixels already decoded"
SLOW_TARGETS = ("SCALAR", "EMU128")  # Highway's; the scalar body stands for them
STAGES = {
    "headers": "headers, check of the index",
    "entropy": "entropy decoding",
    "planes": "dequantise, IDCT",
}
LAST_STAGES = ("upsampling, colour", "resize")  # of INDEX, whose route these are
SAMPLINGS = ("4:4:4", "4:2:0", "grey")  # others are taken together
CORES = (1, 2)

Times = dict[
    str, dict[str, Longs]
]  # workload → variant → int64 [passes, N, 2], ns of decoding and of the resize


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Side of the output in px; MCUs per entry of the seek index, 0: rows only.
    """

    size: int = 224
    step: int = seek_writer.STEP
    repetitions: int = 5

    def check(self) -> None:
        """Raise UsageError with everything that cannot be measured."""
        problems = size_problems((self.size, self.size))
        if not 0 <= self.step <= seek_writer.MOST_STEP:
            problems.append(
                f"step: {self.step} (want 0 to {seek_writer.MOST_STEP} MCUs per entry); the "
                f"default is {seek_writer.STEP}"
            )
        if self.repetitions < 1:
            problems.append(
                f"repetitions: {self.repetitions} (want 1 or more); 5 or more give a useful "
                "interval"
            )
        if problems:
            raise UsageError("\n".join(problems))


def run(data: str, name: str, settings: Settings, progress: Callable[[int], Any]) -> list[Row]:
    """Measure every variant on the data set at `data`. progress(total) gives a context with
    advance(), called after each pass.
    """
    settings.check()
    images = read(data)
    common = {"data": images.facts(name), "page_cache": "not used", **facts.common()}
    cores = sorted(os.sched_getaffinity(0))[: max(CORES)]
    variants = make_variants(settings, workloads(images, settings.size))
    with pinned(cores[0]), ExitStack() as stack:
        runs: dict[str, Callable[[], float]] = {
            key(work, variant): passes for work, variant, passes in variants
        }
        plain = next(
            passes for work, variant, passes in variants if (work, variant) == (RANDOM, INDEX)
        )
        timed = {clock_key(count): clock for count, clock in clocks(plain, cores, stack)}
        advance = stack.enter_context(
            progress((len(runs) + len(timed)) * (settings.repetitions + 1))
        )
        expected: dict[str, list[int]] = {}
        for work, variant, passes in variants:
            check_pixels(key(work, variant), passes, expected)
            advance()
        for clock in timed.values():
            clock()  # dropped
            advance()
        found = interleaved(runs | timed, settings.repetitions, advance)
    times: Times = {}
    for work, variant, passes in variants:
        times.setdefault(work, {})[variant] = np.stack(passes.times)
    return list(rows(settings, images, times, found, common))


# --- what is measured ---


def make_variants(settings: Settings, works: Sequence[Workload]) -> list[tuple[str, str, Passes]]:
    """Workload, variant and its passes, in the order of the rows.

    The first of a workload makes the pixels that all must make.
    """
    built: dict[tuple[str, int | None], list[bytes | None]] = {}
    found = []
    for work in works:
        for name, way in ways(work.name, settings.step).items():
            if (work.name, way.step) not in built:
                built[work.name, way.step] = indexes(work, way.step)
            found.append((work.name, name, Passes(work, way, built[work.name, way.step])))
    return found


def ways(workload: str, step: int) -> dict[str, Way]:
    """The variants of a workload."""
    best = {FULL: Way("turbo-whole"), REFERENCE: Way("turbo"), INDEX: Way("index", step)}
    if workload == SCALAR:
        return {
            REFERENCE: best[REFERENCE],
            f"{INDEX}, scalar body": Way("index", step, target="scalar"),
        }
    if workload != RANDOM:
        return best
    own = {SCAN: Way("scan"), ROWS: Way("index", 0), INDEX: best[INDEX]}
    if step == 0:
        del own[ROWS]
    limited = {f"{INDEX}, {name}": Way("index", step, limit=name) for name in weaker_targets()}
    stages = {stage: Way(route, step) for route, stage in STAGES.items()}
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


# --- rows ---


def rows(
    settings: Settings,
    images: Images,
    times: Times,
    found: dict[str, Sample],
    common: dict[str, Any],
) -> Iterator[Row]:
    """The main table, and those of the stages, the chroma samplings and the cores."""
    taken = {"taken": f"every {images.stride}th image"} if images.stride > 1 else {}
    shared = {
        "index_step": settings.step,
        "best_instruction_set": _native.targets()[0],
        "left_out": images.left_out,
        **taken,
    }
    for workload, variants in times.items():
        shown = {
            name: sample
            for name, sample in variants.items()
            if name not in (READY, *STAGES.values())
        }
        size = TINY if workload == SMALL else settings.size
        yield from compared(shown, {"workload": workload, "size": size, **shared}, common)
    shared = {"size": settings.size, **shared}
    yield from compared(
        {READY: times[RANDOM][READY]}, {"workload": f"{RANDOM} of raw arrays", **shared}, common
    )
    shared = {"workload": RANDOM, **shared}
    yield from stages(
        times[RANDOM], {"table": "stages", "rate": "up to the end of the stage", **shared}, common
    )
    yield from by_sampling(times[RANDOM], images, {"table": "sampling", **shared}, common)
    yield from by_cores(found, {"table": "cores", **shared}, common)


def compared(
    variants: dict[str, Longs], settings: dict[str, Any], common: dict[str, Any]
) -> Iterator[Row]:
    """Rows of variants that did the same work, against libjpeg-turbo's skip and crop if it is one
    of them.
    """
    reference = rates(variants[REFERENCE]) if REFERENCE in variants else None
    for name, times in variants.items():
        yield make_row(
            name,
            settings,
            rates(times),
            None if name == REFERENCE else reference,
            REFERENCE,
            common,
        )


def make_row(
    variant: str,
    settings: dict[str, Any],
    sample: Sample,
    against: Sample | None,
    reference: str,
    common: dict[str, Any],
    **also: float,
) -> Row:
    named = None if against is None else reference
    return Row(
        benchmark="decode",
        variant=variant,
        settings=settings,
        reference=named,
        also=also,
        **measured(sample, against),
        **common,
    )


def stages(
    variants: dict[str, Longs], settings: dict[str, Any], common: dict[str, Any]
) -> Iterator[Row]:
    """Rates up to the end of each stage on the way by the index, and what the stage itself takes."""
    ends = [variants[stage][..., 0] for stage in STAGES.values()] + [
        variants[INDEX][..., 0],
        variants[INDEX].sum(axis=-1),
    ]
    before, whole = np.zeros_like(ends[0]), np.median(ends[-1].mean(axis=1))
    for stage, end in zip((*STAGES.values(), *LAST_STAGES), ends, strict=True):
        own = float(
            np.median((end - before).mean(axis=1))
        )  # of each turn, since its passes saw the same machine
        figures = {"microseconds_per_image": own / 1e3, "percent_of_all": own / float(whole) * 100}
        yield make_row(stage, settings, rates(end), None, "", common, **figures)
        before = end


def by_sampling(
    variants: dict[str, Longs], images: Images, settings: dict[str, Any], common: dict[str, Any]
) -> Iterator[Row]:
    """The same passes, by chroma sampling."""
    groups = np.array(
        [sampling if sampling in SAMPLINGS else "other" for sampling in images.samplings]
    )
    for sampling in (*SAMPLINGS, "other"):
        chosen = groups == sampling
        if chosen.any():
            part = {name: variants[name][:, chosen] for name in (FULL, REFERENCE, INDEX)}
            yield from compared(
                part, {"sampling": sampling, "images": int(chosen.sum()), **settings}, common
            )


def by_cores(
    found: dict[str, Sample], settings: dict[str, Any], common: dict[str, Any]
) -> Iterator[Row]:
    """Images per second by the clock, of the way by the index; the ratio says how it scales."""
    first = clock_key(1)
    for name in filter(found.__contains__, map(clock_key, CORES)):
        yield make_row(
            name,
            {"decoder": INDEX, **settings},
            found[name],
            None if name == first else found[first],
            first,
            common,
        )
