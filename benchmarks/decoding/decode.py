"""One JPEG in memory to uint8 [size, size, 3] (decode, antialiased resize of a crop, flip) on one
pinned core, without Python's own time.

Variants take turns by whole passes over the images, after one pass each that is dropped and in
which their pixels are compared.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.decoding.images import RANDOM, read, workloads
from benchmarks.decoding.passes import check_pixels, layer_share, pinned
from benchmarks.decoding.rows import rows
from benchmarks.decoding.settings import Settings
from benchmarks.decoding.variants import (
    CORES,
    INDEX,
    LAYER,
    Times,
    clock_key,
    clocks,
    key,
    make_variants,
)
from benchmarks.report import facts
from benchmarks.report.row import Row
from fastload.measure import interleaved


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
        share = next(
            layer_share(passes)
            for work, variant, passes in variants
            if (work, variant) == (RANDOM, LAYER)
        )
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
        results = interleaved(runs | timed, settings.repetitions, advance)
    times: Times = {}
    for work, variant, passes in variants:
        times.setdefault(work, {})[variant] = np.stack(passes.times)
    return list(rows(settings, images, times, results, common, share))
