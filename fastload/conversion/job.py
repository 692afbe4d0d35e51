"""A conversion from plan to commit: orchestration only.

What is read and what is written do not know each other.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from fastload.conversion import (
    finished,
    parts,
    readers,
    seek_writer,
    store_writer,
    transcoding,
    workers,
)
from fastload.conversion.cluster import drop
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.report import Spread
from fastload.conversion.cluster.spreading import spread_parts, take_left
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.journal import Journal
from fastload.conversion.options import SHARD_BYTES, SHARD_LIMITS, Options
from fastload.conversion.parts import Bad, NothingLeftError, Written
from fastload.conversion.parts_writer import Job, Noted, fails, write_parts
from fastload.conversion.preparing import identity, prepare, prepare_reader, refuse_nesting
from fastload.conversion.readers.select import notes
from fastload.conversion.target import Hold
from fastload.conversion.workers import Advance
from fastload.conversion.writers import Catalog, Committed
from fastload.errors import ConversionError, grouped
from fastload.spec import Json
from fastload.system.machine import usable_cores

__all__ = [
    "SHARD_BYTES",
    "SHARD_LIMITS",
    "ConversionSummary",
    "Job",
    "On",
    "Options",
    "prepare",
    "prepare_reader",
    "readers",
    "refuse_nesting",
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
    spread: Spread | None = None  # how it was spread over workers


def run(
    job: Job,
    advance: Advance = workers.ignore,
    committing: Committing = delayed,
    on: On | None = None,
    given: Sequence[Json] = (),
) -> ConversionSummary:
    """Convert. Raises ConversionError and leaves nothing under the final name if it cannot be
    completed.

    The renames that put the target in its place stand in `committing`: before them Ctrl-C
    interrupts, behind them all is done. on: what runs its units; None: threads of this process.
    given: what `distributed.unit` returned elsewhere, for a job that is resumed.
    """
    if job.options.resume and (
        said := finished.found(place(job), identity(job), overwrite=job.options.overwrite)
    ):
        return already(said, on=job.options.transcode)
    with ExitStack() as at_the_end:
        return _converted(job, advance, lambda: at_the_end.enter_context(committing()), on, given)


def place(job: Job) -> finished.Place:
    """Where the target stands."""
    if isinstance(job.writer, store_writer.StoreWriter):
        return job.writer.place
    return finished.Local(job.where)


def _converted(
    job: Job,
    advance: Advance,
    committing: Callable[[], None],
    on: On | None,
    given: Sequence[Json],
) -> ConversionSummary:
    """committing: is called when the commit begins."""
    options, writer = job.options, job.writer
    with writer.holding(job.plan.bytes, overwrite=options.overwrite, resume=options.resume) as hold:
        hold.strange = options.resume
        with closing(Journal(hold.journal, identity(job), resume=options.resume)) as journal:
            hold.strange = False
            done, noted = earlier(job, journal, hold), Noted(journal, hold)
            done |= take_left(job, noted, done, given)
            with hold.settling():
                if on is None:
                    parts = write_parts(job, noted, done, advance)
                else:
                    parts = spread_parts(job, noted, done, advance, on)
                bad = tuple(
                    sorted((bad for part in parts for bad in part.bad), key=lambda bad: bad.sample)
                )
                check_bad(job, bad, parts)
            drop.clear(hold)
            catalog = Catalog(job.reader.keys, job.reader.labels, job.reader.classes)
            committing()
            committed = writer.commit(
                parts, catalog, lambda pairs: journal.append({"commit": pairs})
            )
        summary = _summary(job, parts, done, bad, committed, on)
        # As long as the journal is there: a kill leaves one of both
        finished.note(place(job), identity(job), {name: getattr(summary, name) for name in KEPT})
    return summary


def _summary(
    job: Job,
    parts: Sequence[Written],
    done: dict[int, Written],
    bad: tuple[Bad, ...],
    committed: Committed,
    on: On | None,
) -> ConversionSummary:
    """done: the parts that an earlier run had written."""
    return ConversionSummary(
        sum(len(part.samples) for part in parts),
        len(job.reader.classes),
        committed.files,
        committed.bytes,
        bad,
        seek_writer.total(part.sidecar for part in parts if len(part.samples)),
        transcoding.total((part.transcoding for part in parts), on=job.options.transcode),
        sum(len(part.samples) for part in done.values()),
        (*committed.notes, *notes(job.reader)),
        spread=on.spread if on else None,
    )


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
