"""A conversion from plan to commit: orchestration only.

What is read and what is written do not know each other.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass

import numpy as np
import PIL

from fastload.conversion import (
    finished,
    parts,
    plan,
    readers,
    seek_writer,
    store_writer,
    transcoding,
    workers,
    writers,
)
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.journal import Journal
from fastload.conversion.options import SHARD_BYTES, SHARD_LIMITS, Options
from fastload.conversion.parts import Bad, NothingLeftError, Written
from fastload.conversion.parts_writer import Job, Noted, fails, write_parts
from fastload.conversion.readers import ANYTHING, Choice, Reader
from fastload.conversion.readers.base import stamp_of
from fastload.conversion.readers.spans import spooled
from fastload.conversion.target import Hold
from fastload.conversion.workers import Advance
from fastload.conversion.writers import Catalog
from fastload.errors import ConversionError, grouped
from fastload.files.names import check_keys
from fastload.remote import urls
from fastload.sources.arrow import import_arrow
from fastload.spec import Json
from fastload.system.machine import usable_cores

__all__ = [
    "SHARD_BYTES",
    "SHARD_LIMITS",
    "ConversionSummary",
    "Job",
    "Options",
    "prepare",
    "prepare_reader",
    "run",
]
KEPT = ("samples", "classes", "shards", "bytes")  # of a summary, for --resume of a finished target


@dataclass(frozen=True)
class ConversionSummary:
    """What a conversion has written."""

    samples: int
    classes: int
    shards: int  # files that hold the samples
    bytes: int  # of all these files
    bad: tuple[Bad, ...]
    seek: seek_writer.Totals
    transcoding: transcoding.Totals
    resumed: int = 0  # samples that an earlier run had written
    notes: tuple[str, ...] = ()
    whole: bool = False  # an earlier run had finished it, and nothing was done


def prepare(source: str, where: str, options: Options, choice: Choice = ANYTHING) -> Job:
    """Read the source's names and sizes and plan the parts; writes nothing.

    Raises SourceError, ConversionError, UsageError.
    """
    where = urls.local(where)
    store_writer.store_url(where, options)
    import_arrow(urls.public(where), ConversionError)
    refuse_nesting(source, where)
    return prepare_reader(readers.open_reader(source, choice), where, options)


def prepare_reader(reader: Reader, where: str, options: Options) -> Job:
    """The same for samples that are no path: `readers.from_iterable`."""
    where = urls.local(where)
    url, shown = store_writer.store_url(where, options), urls.public(where)
    import_arrow(shown, ConversionError)
    if not len(reader):
        raise ConversionError(f"{shown}: the source holds no samples; give some")
    check_keys(reader.where, reader.keys)
    if options.shuffle is not None and reader.in_order:
        reader = spooled(reader)
    sizes = (
        transcoding.room(reader.sizes)
        if options.transcode or not options.edits.none
        else reader.sizes
    )
    if options.extras == "keep":
        sizes = np.where(sizes > 0, sizes + reader.beside, sizes)
    writer: writers.Writer
    if url is None:
        writer = writers.open_writer(where, reader, options)
    else:
        writer = store_writer.open_writer(url, reader, options)
    parts = plan.make(reader.keys, sizes, options.shard_bytes, options.shuffle, writer.seek_step)
    return Job(shown, reader, parts, options, writer)


def refuse_nesting(source: str, where: str) -> None:
    """A target inside the source would become one of its classes."""
    where, source = urls.local(where), urls.local(source)
    if urls.is_url(where) or urls.is_url(source):
        where, source = urls.public(where), urls.public(source)
        nested = f"{where}/".startswith(f"{source}/")
    else:
        inner, outer = os.path.realpath(where), os.path.realpath(source)
        nested = os.path.commonpath([inner, outer]) == outer
    if nested:
        raise ConversionError(f"{where}: lies in the source {source}; give a folder outside of it")


def run(
    job: Job, advance: Advance = workers.ignore, committing: Committing = delayed
) -> ConversionSummary:
    """Convert. Raises ConversionError and leaves nothing under the final name if it cannot be
    completed.

    The renames that put the target in its place stand in `committing`: before them Ctrl-C
    interrupts, behind them all is done.
    """
    if job.options.resume and (
        said := finished.found(place(job), identity(job), overwrite=job.options.overwrite)
    ):
        return already(said, on=job.options.transcode)
    with ExitStack() as at_the_end:
        return _converted(job, advance, lambda: at_the_end.enter_context(committing()))


def place(job: Job) -> finished.Place:
    """Where the target stands."""
    if isinstance(job.writer, store_writer.StoreWriter):
        return job.writer.place
    return finished.Local(job.where)


def _converted(job: Job, advance: Advance, committing: Callable[[], None]) -> ConversionSummary:
    """committing: is called when the commit begins."""
    options, writer = job.options, job.writer
    with writer.holding(job.plan.bytes, overwrite=options.overwrite, resume=options.resume) as hold:
        hold.strange = options.resume
        with closing(Journal(hold.journal, identity(job), resume=options.resume)) as journal:
            hold.strange = False
            done = earlier(job, journal, hold)
            with hold.settling():
                parts = write_parts(job, Noted(journal, hold), done, advance)
                bad = tuple(
                    sorted((bad for part in parts for bad in part.bad), key=lambda bad: bad.sample)
                )
                check_bad(job, bad, parts)
            catalog = Catalog(job.reader.keys, job.reader.labels, job.reader.classes)
            committing()
            committed = writer.commit(
                parts, catalog, lambda pairs: journal.append({"commit": pairs})
            )
        summary = ConversionSummary(
            sum(len(part.samples) for part in parts), len(job.reader.classes), committed.files,
            committed.bytes, bad,
            seek_writer.total(part.sidecar for part in parts if len(part.samples)),
            transcoding.total((part.transcoding for part in parts), on=options.transcode),
            sum(len(part.samples) for part in done.values()), committed.notes,
        )  # fmt: skip
        # As long as the journal is there: a kill leaves one of both
        finished.note(place(job), identity(job), {name: getattr(summary, name) for name in KEPT})
    return summary


def already(said: Json, *, on: bool) -> ConversionSummary:
    """Of a target that an earlier run has finished. on: whether images were to be rewritten."""
    samples, classes, shards, size = (int(said[name]) for name in KEPT)
    return ConversionSummary(
        samples,
        classes,
        shards,
        size,
        (),
        seek_writer.total(()),
        transcoding.total((), on=on),
        whole=True,
    )


def identity(job: Job) -> Json:
    """What must be the same for a job to go on: everything that decides a byte of the result."""
    reader, options = job.reader, job.options
    keys = stamp_of(
        list(map(readers.readable, reader.keys)), list(map(readers.readable, reader.classes))
    )
    source = stamp_of([keys, reader.stamp, len(reader)], reader.sizes, reader.labels)
    return {
        "target": options.to,
        "source": f"{source:016x}",
        "shard size": options.shard_bytes, "shuffle": options.shuffle, "check": options.check,
        "seek step": options.seek_step,
        "transcode": options.transcode, "edits": asdict(options.edits), "extras": options.extras,
        "substitute": options.on_error == "substitute", "mode": options.mode,
        "parts": job.plan.shards,
        "Pillow": None if options.edits.none else PIL.__version__,
    }  # fmt: skip


def earlier(job: Job, journal: Journal, hold: Hold) -> dict[int, Written]:
    """Parts that an earlier run has written and that are still as they were."""
    folder = getattr(hold, "data", hold.folder)
    noted = {record["part"]: record for record in journal.records if "part" in record}
    kept = {number: part for number, record in noted.items() if (part := known(record, folder))}
    hold.keep = bool(kept)
    count = job.options.workers or usable_cores()
    good = workers.run(kept.items(), lambda item, _: job.writer.intact(item[1]), count)
    return {number: part for (number, part), whole in zip(kept.items(), good, strict=True) if whole}


def known(record: Json, folder: str) -> Written | None:
    """What a record of the journal says; None for what no journal of ours says."""
    try:
        return parts.unpack(record, folder)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def check_bad(job: Job, bad: Sequence[Bad], parts: Sequence[Written]) -> None:
    """Raise ConversionError with every bad sample, one per line, unless they are to be left out."""
    total = len(job.reader)
    lines = "\n".join(grouped((one.name, one.reason) for one in bad))
    if fails(job, bad):
        raise ConversionError(
            f"{job.where}: {len(bad)} of {total} samples are bad; mend them, or pass --on-error "
            f"skip\n{lines}"
        )
    if not any(len(part.samples) for part in parts):
        error = NothingLeftError(
            f"{job.where}: no sample is left of {total}; give other images\n{lines}"
        )
        error.bad = tuple(bad)
        raise error
