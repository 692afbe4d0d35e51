"""What a conversion will take, from some samples of the source: read, changed and indexed as the
job would, written nowhere.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fastload.conversion import plan, tar
from fastload.conversion.making import Maker
from fastload.conversion.parts import Item
from fastload.conversion.parts_writer import Job, how_of, threads
from fastload.conversion.readers.base import Reader
from fastload.conversion.sizing import Range, known, whole
from fastload.conversion.workers import Stop

INDEX_ROW = 68  # bytes of the index for a sample, beside its key
INDEX_BASE = 16 << 10  # bytes of it whatever the samples, at most
MOST, SECONDS = 200, 5.0  # samples, and time, at most


@dataclass(frozen=True)
class Forecast:
    """Estimates for the whole data set."""

    looked_at: int  # samples
    bad: int  # of these
    bytes: int  # of all files
    images_per_s: float  # by all workers, without the disk's share of writing
    seconds: float
    low: int = 0  # bytes: the truth lies between these with about 95 % of certainty
    high: int = 0


def forecast(job: Job, seconds: float = SECONDS) -> Forecast:
    """Make up to MOST samples, spread evenly, within about `seconds`.

    Raises nothing for bad ones.
    """
    how = replace(how_of(job.options, job.writer.seek_step), substitute=False)

    estimated = estimate(
        job.reader,
        lambda sample: Maker(job.reader, how, [sample], lambda _: None, Stop()),
        weight,
        min(threads(job), job.plan.shards),
        seconds,
    )
    of_all = Range(estimated.bytes, estimated.low, estimated.high)
    of_all = of_all.more(*index_bytes(job)).at_most(job.plan.bytes)
    return replace(estimated, **of_all._asdict())


def weight(item: Item) -> int:
    """Bytes that a sample takes in a shard, with its seek index."""
    return (
        tar.most(len(item.key.encode()), len(item.data))
        + sum(len(extra.data) for extra in item.extras)
        + len(item.index)
    )


def index_bytes(job: Job) -> tuple[int, int]:
    """Bytes of the index of all, and of its checksums: at least, at most."""
    if job.options.to != "shards":
        return 0, 0
    count = len(job.reader)
    keys = job.plan.index_bytes - plan.INDEX_BASE - plan.INDEX_ROW * count
    about = keys + INDEX_ROW * count
    return about, about + about // 10 + INDEX_BASE


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
    begin, sizes, bad = time.perf_counter(), list[int](), 0
    for sample in chosen.tolist():
        maker = make(sample)
        sizes.append(sum(map(weight, maker)))
        bad += len(maker.bad)
        if time.perf_counter() - begin > seconds:
            break
    done, before = len(sizes), known(reader.sizes)
    rate = done / max(time.perf_counter() - begin, 1e-9) * threads
    looked = before[chosen[:done]]
    of_all = whole(np.array(sizes, np.int64), looked, int(before.sum()), total)
    return Forecast(done, bad, of_all.bytes, rate, total / rate, of_all.low, of_all.high)
