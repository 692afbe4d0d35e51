"""Rows of what was timed: the main table, and those of the stages, the samplings and the cores."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.decoding.images import RANDOM, SMALL, TINY, Images
from benchmarks.decoding.passes import rates
from benchmarks.decoding.settings import Settings
from benchmarks.decoding.variants import (
    CORES,
    FULL,
    INDEX,
    LAYER,
    LAYER_STAGES,
    READY,
    REFERENCE,
    STAGES,
    Times,
    clock_key,
)
from benchmarks.report.row import Row, measured
from fastload import _native
from fastload.measure import Sample
from fastload.spec import Longs

LAST_STAGES = ("upsampling, colour", "resize")  # of INDEX, whose route these are
SAMPLINGS = ("4:4:4", "4:2:0", "grey")  # others are taken together


def rows(
    settings: Settings,
    images: Images,
    times: Times,
    results: dict[str, Sample],
    common: dict[str, Any],
    layer_share: float,
) -> Iterator[Row]:
    """The main table, and those of the stages, the chroma samplings and the cores.

    layer_share: bytes of all coefficient layers to those of the JPEGs.
    """
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
            if name not in (READY, *STAGES.values(), *LAYER_STAGES.values())
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
    layers = {"table": "layer stages", "rate": "up to the end of the stage", **shared}
    layers["layer_share"] = layer_share
    yield from stages(times[RANDOM], layers, common, LAYER, LAYER_STAGES)
    yield from by_sampling(times[RANDOM], images, {"table": "sampling", **shared}, common)
    yield from by_cores(results, {"table": "cores", **shared}, common)


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
    variants: dict[str, Longs],
    settings: dict[str, Any],
    common: dict[str, Any],
    way: str = INDEX,
    names: Mapping[str, str] = STAGES,
) -> Iterator[Row]:
    """Rates up to the end of each stage on the way by the index or layer, and what the stage itself
    takes. names: the variants that stop behind a stage.
    """
    ends = [variants[stage][..., 0] for stage in names.values()] + [
        variants[way][..., 0],
        variants[way].sum(axis=-1),
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
            part = {name: variants[name][:, chosen] for name in (FULL, REFERENCE, INDEX, LAYER)}
            yield from compared(
                part, {"sampling": sampling, "images": int(chosen.sum()), **settings}, common
            )


def by_cores(
    results: dict[str, Sample], settings: dict[str, Any], common: dict[str, Any]
) -> Iterator[Row]:
    """Images per second by the clock, of the way by the index; the ratio says how it scales."""
    first = clock_key(1)
    for name in filter(results.__contains__, map(clock_key, CORES)):
        yield make_row(
            name,
            {"decoder": INDEX, **settings},
            results[name],
            None if name == first else results[first],
            first,
            common,
        )
