"""What a conversion will take, from some samples of the source: read, changed and indexed as the
job would, written nowhere.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fastload.conversion import tar
from fastload.conversion.making import Maker
from fastload.conversion.parts import Item
from fastload.conversion.parts_writer import Job, how_of, threads
from fastload.conversion.readers.base import Reader
from fastload.conversion.workers import Stop

MOST, SECONDS = 200, 5.0  # samples, and time, at most


@dataclass(frozen=True)
class Forecast:
    """Estimates for the whole data set."""

    looked_at: int  # samples
    bad: int  # of these
    bytes: int  # of all files
    images_per_s: float  # by all workers, without the disk's share of writing
    seconds: float


def forecast(job: Job, seconds: float = SECONDS) -> Forecast:
    """Make up to MOST samples, spread evenly, within about `seconds`.

    Raises nothing for bad ones.
    """
    how = replace(how_of(job.options, job.writer.seek_step), substitute=False)

    def weight(item: Item) -> int:
        return (
            tar.most(len(item.key.encode()), len(item.data))
            + sum(len(extra.data) for extra in item.extras)
            + len(item.index)
        )

    estimated = estimate(
        job.reader,
        lambda sample: Maker(job.reader, how, [sample], lambda _: None, Stop()),
        weight,
        min(threads(job), job.plan.shards),
        seconds,
    )
    return replace(
        estimated,
        bytes=min(
            estimated.bytes + job.plan.index_bytes * (job.options.to == "shards"), job.plan.bytes
        ),
    )


def estimate(
    reader: Reader,
    make: Callable[[int], Maker],
    weight: Callable[[Item], int],
    threads: int,
    seconds: float = SECONDS,
) -> Forecast:
    """The same for any way of making a sample. weight: bytes that one takes."""
    total = len(reader)
    chosen = np.unique(np.linspace(0, total - 1, min(MOST, total)).astype(np.int64))
    # What time allows is spread too
    shuffled = np.random.Generator(np.random.Philox(0)).permutation(len(chosen))
    chosen = np.arange(len(chosen)) if reader.in_order else chosen[shuffled]
    begin, done, size, bad = time.perf_counter(), 0, 0, 0
    for sample in chosen.tolist():
        maker = make(sample)
        size += sum(map(weight, maker))
        bad += len(maker.bad)
        done += 1
        if time.perf_counter() - begin > seconds:
            break
    rate = done / max(time.perf_counter() - begin, 1e-9) * threads
    return Forecast(done, bad, int(size / max(done, 1) * total), rate, total / rate)
