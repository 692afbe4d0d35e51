"""What a conversion will take, from some samples of the source: read, changed and indexed as the job would, written nowhere."""

import time
from dataclasses import dataclass, replace

import numpy as np

from fastload.conversion import tar
from fastload.conversion.job import Job, how_of, threads
from fastload.conversion.making import Maker
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
    """Make up to MOST samples, spread evenly, within about `seconds`. Raises nothing for bad ones."""
    options, total = job.options, len(job.reader)
    chosen = np.unique(np.linspace(0, total - 1, min(MOST, total)).astype(np.int64))
    mixed = np.random.Generator(np.random.Philox(0)).permutation(len(chosen))  # what time allows is spread too
    chosen = np.arange(len(chosen)) if job.reader.in_order else chosen[mixed]
    how = replace(how_of(options), substitute=False)
    begin, done, size = time.perf_counter(), 0, 0
    bad = 0
    for sample in chosen.tolist():
        maker = Maker(job.reader, how, [sample], lambda _: None, Stop())
        for item in maker:
            size += tar.most(len(item.key.encode()), len(item.data)) + sum(len(extra.data) for extra in item.extras) + len(item.index)
        bad += len(maker.bad)
        done += 1
        if time.perf_counter() - begin > seconds:
            break
    taken = max(time.perf_counter() - begin, 1e-9)
    rate = done / taken * min(threads(job), job.plan.shards)
    whole = size / max(done, 1) * total + job.plan.index_bytes * (options.to == "shards")
    return Forecast(done, bad, min(int(whole), job.plan.bytes), rate, total / rate)
