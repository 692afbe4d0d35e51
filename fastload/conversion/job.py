"""A conversion from plan to commit: orchestration only."""

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from fastload import _native
from fastload.conversion import index_writer, plan, readers, seek_writer, shards_writer, target, transcoding, workers
from fastload.conversion.index_writer import Extras
from fastload.conversion.readers import Reader
from fastload.conversion.shards_writer import Bad, Hooks, How, Written
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, UsageError
from fastload.machine import usable_cores
from fastload.sources.arrow import import_arrow
from fastload.sources.shards import Shard

SHARD_BYTES = 256 << 20  # default
SHARD_LIMITS = (1 << 10, 4 << 30)  # bytes; a shard is held in memory while it is written


@dataclass(frozen=True)
class Options:
    """How to convert."""

    workers: int | None = None  # None: one per processor that this process may use
    shard_bytes: int = SHARD_BYTES
    shuffle: int | None = None  # seed; None keeps the source's order
    on_error: str = "raise"  # or "skip"
    check: bool = True  # decode every image
    overwrite: bool = False
    seek_step: int | None = seek_writer.STEP  # MCUs per entry of the seek index, 0: rows only; None builds none
    transcode: bool = False  # rewrite JPEGs that cannot have a seek index as baseline

    def __post_init__(self) -> None:
        low, high = SHARD_LIMITS
        if not low <= self.shard_bytes <= high:
            raise UsageError(f"shard size: {self.shard_bytes} bytes (want {low} to {high}); the default is {SHARD_BYTES}")
        if self.on_error not in ("raise", "skip"):
            raise UsageError(f"on_error: got {self.on_error!r}, want 'raise' or 'skip'; choose one")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"workers: got {self.workers}, want at least 1; leave it out for one per processor")
        if self.shuffle is not None and not 0 <= self.shuffle < 1 << 64:
            raise UsageError(f"shuffle: seed {self.shuffle} (want 0 to 2^64 - 1); give another seed")
        seek_writer.check_step(self.seek_step)


@dataclass(frozen=True)
class Job:
    """A conversion that can begin: what is read, and what goes where."""

    where: str
    reader: Reader
    plan: plan.Plan
    options: Options


@dataclass(frozen=True)
class Summary:
    """What a conversion has written."""

    samples: int
    classes: int
    shards: int
    bytes: int  # of all shards
    bad: tuple[Bad, ...]
    seek: seek_writer.Totals
    transcoding: transcoding.Totals


def prepare(source: str, where: str, options: Options) -> Job:
    """Read the source's names and sizes and plan the shards; writes nothing. Raises SourceError, ConversionError."""
    import_arrow(where, ConversionError)
    refuse_nesting(source, where)
    reader = readers.open_reader(source)
    sizes = transcoding.room(reader.sizes) if options.transcode else reader.sizes
    return Job(where, reader, plan.make(reader.keys, sizes, options.shard_bytes, options.shuffle, options.seek_step), options)


def refuse_nesting(source: str, where: str) -> None:
    """A target inside the source would become one of its classes."""
    inner, outer = os.path.realpath(where), os.path.realpath(source)
    if os.path.commonpath([inner, outer]) == outer:
        raise ConversionError(f"{where}: lies in the source {source}; give a folder outside of it")


def run(job: Job, advance: Advance = workers.ignore) -> Summary:
    """Convert. Raises ConversionError and leaves nothing under the final name if it cannot be completed."""
    with target.being_written(job.where, job.plan.bytes, overwrite=job.options.overwrite):
        shards = write_shards(job, advance)
        bad = tuple(sorted((bad for shard in shards for bad in shard.bad), key=lambda bad: bad.sample))
        full = [shard for shard in shards if len(shard.samples)]
        check_bad(job, bad, full)
        names = [f"shard-{number:06d}.tar" for number in range(len(full))]
        pairs = [(os.path.basename(shard.path), name) for shard, name in zip(full, names, strict=True)]
        sidecars = [] if job.options.seek_step is None else [
            Shard(seek_writer.beside(name), shard.sidecar.bytes, shard.sidecar.checksum) for shard, name in zip(full, names, strict=True)
        ]  # fmt: skip
        pairs += [(os.path.basename(shard.sidecar.path), sidecar.name) for shard, sidecar in zip(full, sidecars, strict=False)]
        rewritten = transcoding.total((shard.transcoding for shard in full), on=job.options.transcode)
        count = sum(rewritten.images.values()) if rewritten.on else None
        index = index_writer.index_bytes(job.where, job.reader, full, names, Extras(sidecars, count))
        target.commit(job.where, pairs, index, _native.xxh3(index), bad_lines(bad))
    samples, size = sum(len(shard.samples) for shard in full), sum(shard.bytes for shard in full)
    seek = seek_writer.total(shard.sidecar for shard in full)
    return Summary(samples, len(job.reader.source.classes), len(full), size, bad, seek, rewritten)


def write_shards(job: Job, advance: Advance) -> list[Written]:
    """All planned shards under temporary names. Once a sample is bad and that is an error, the rest is only checked."""
    Image.init()  # Pillow loads its plugins at first use, which is not safe in several threads
    options, failing = job.options, threading.Event()

    def wanted(bad: bool) -> bool:
        return options.on_error == "skip" or not (bad or failing.is_set())

    def work(shard: int, stop: Stop) -> Written:
        written = shards_writer.write_shard(
            job.reader, job.plan.samples(shard), int(job.plan.capacity[shard]), shards_writer.temporary(job.where, shard),
            Hooks(lambda size: advance(1, size), wanted, stop), How(options.check, options.seek_step, options.transcode),
        )  # fmt: skip
        if written.bad:
            failing.set()
        return written

    count = workers.fitting(options.workers or usable_cores(), int(job.plan.capacity.max()))
    return workers.run(range(job.plan.shards), work, count)


def check_bad(job: Job, bad: Sequence[Bad], full: Sequence[Written]) -> None:
    """Raise ConversionError with every bad sample, one per line, unless they are to be left out."""
    total = len(job.reader)
    lines = "\n".join(map(str, bad))
    if bad and job.options.on_error == "raise":
        raise ConversionError(f"{job.where}: {len(bad)} of {total} samples are bad; mend them, or pass --on-error skip\n{lines}")
    if not full:
        raise ConversionError(f"{job.where}: no sample is left of {total}; give other images\n{lines}")


def bad_lines(bad: Sequence[Bad]) -> bytes:
    """One JSON object per line."""
    rows = ({"sample": row.sample, "name": readers.readable(row.name), "reason": row.reason} for row in bad)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
