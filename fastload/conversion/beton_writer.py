"""One FFCV file (version 2) with a field of images and one of integer labels, as FFCV 1.0.2 reads
it.

JPEGs are kept byte for byte, unless they are to be changed; everything else becomes raw pixels:
nothing is encoded again.
"""

import base64
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from typing import NoReturn

import numpy as np
import PIL
from PIL import Image

from fastload import _native, rng
from fastload.conversion import beton_pages, finished, staging, transcoding, workers
from fastload.conversion.beton_pages import PAGE, ROWS, Pages, Stored
from fastload.conversion.beton_samples import Options, StoredMaker
from fastload.conversion.forecast import SECONDS, Forecast, estimate
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.journal import Journal
from fastload.conversion.parts import Bad
from fastload.conversion.readers.base import Reader, stamp_of
from fastload.conversion.readers.spans import spooled
from fastload.conversion.store_writer import check_url
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, UsageError, grouped
from fastload.files.below import PLAIN
from fastload.files.names import readable
from fastload.sources import beton_file as format
from fastload.spec import Json, Longs
from fastload.system.machine import usable_cores

__all__ = ["BetonSummary", "Options", "forecast", "run"]
# Of a summary, for --resume of a finished file
KEPT = ("samples", "classes", "bytes", "jpegs", "raw")
TASK, ROUND = 16, 64  # images of one task; tasks whose results are held in memory


def open_writer(where: str, reader: Reader, options: object) -> NoReturn:
    """Raises UsageError."""
    raise UsageError("to: FFCV's files have a job of their own; use conversion.beton_writer.run")


@dataclass(frozen=True)
class BetonSummary:
    """What was written."""

    samples: int
    classes: int
    bytes: int  # of the file
    jpegs: int
    raw: int
    bad: tuple[Bad, ...]
    transcoding: transcoding.Totals
    resumed: int = 0  # samples that an earlier run had written
    whole: bool = False  # an earlier run had finished it, and nothing was done


def run(
    reader: Reader,
    where: str,
    options: Options,
    advance: Advance = workers.ignore,
    committing: Committing = delayed,
) -> BetonSummary:
    """Write all samples to the file `where`. Raises ConversionError and leaves nothing under that
    name if it cannot be completed.

    committing: as in job.run.
    """
    check_url(where, "beton")
    _refuse_extras(reader, where, options)
    if options.shuffle is not None and reader.in_order:
        reader = spooled(reader)
    if options.resume and (
        said := finished.found(
            finished.Local(where), _identity(reader, options), overwrite=options.overwrite
        )
    ):
        return _already(said, on=options.transcode)
    with ExitStack() as at_the_end:
        summary = _staged(
            reader, where, options, advance, lambda: at_the_end.enter_context(committing())
        )
        finished.note(
            finished.Local(where),
            _identity(reader, options),
            {name: getattr(summary, name) for name in KEPT},
        )
    return summary


def _refuse_extras(reader: Reader, where: str, options: Options) -> None:
    if options.extras == "keep" and (count := int(np.count_nonzero(reader.beside))):
        raise ConversionError(
            f"{where}: FFCV's files hold images and labels, and {count} samples have other files; "
            "pass --extras drop"
        )


def _already(said: Json, *, on: bool) -> BetonSummary:
    """Of a file that an earlier run has finished. on: whether images were to be rewritten."""
    samples, classes, size, jpegs, raw = (int(said[name]) for name in KEPT)
    totals = transcoding.total((), on=on)
    return BetonSummary(samples, classes, size, jpegs, raw, (), totals, whole=True)


def _staged(
    reader: Reader, where: str, options: Options, advance: Advance, committing: Callable[[], None]
) -> BetonSummary:
    """committing: is called when the commit begins."""
    needed = (
        int(np.maximum(reader.sizes, 0).sum())
        + len(reader) * (ROWS.itemsize + format.PAYLOAD.itemsize)
        + 2 * PAGE
    )
    stage = staging.Stage(where)
    with staging.being_staged(
        stage, needed, lambda path: _check(path, overwrite=options.overwrite), resume=options.resume
    ) as hold:
        hold.strange = options.resume
        with closing(
            Journal(hold.journal, _identity(reader, options), resume=options.resume)
        ) as journal:
            hold.strange = False
            summary = _write(reader, stage, options, journal, advance)
            committing()
            stage.commit()
    return summary


def forecast(reader: Reader, options: Options, seconds: float = SECONDS) -> Forecast:
    """What `run` will take, from some samples. Raises nothing for bad ones."""
    row = ROWS.itemsize + format.PAYLOAD.itemsize
    return estimate(
        reader,
        lambda sample: StoredMaker(reader, options, [sample]),
        lambda item: len(item.data) + row,
        options.workers or usable_cores(),
        seconds,
    )


def _check(where: str, *, overwrite: bool) -> None:
    if os.path.isdir(where):
        raise ConversionError(f"{where}: is a folder, want a file; give another path")
    if os.path.lexists(where) and not overwrite:
        raise ConversionError(
            f"{where}: exists already; give another path, or --overwrite to replace it"
        )


def _identity(reader: Reader, options: Options) -> Json:
    """What must be the same for a job to go on."""
    source = stamp_of(
        [reader.stamp, len(reader), list(map(readable, reader.keys))], reader.sizes, reader.labels
    )
    return {
        "target": "beton", "source": f"{source:016x}", "mode": options.mode, "check": options.check,
        "edits": asdict(options.edits),
        "shuffle": options.shuffle, "transcode": options.transcode,
        "substitute": options.on_error == "substitute",
        "Pillow": PIL.__version__,
    }  # fmt: skip


def _write(
    reader: Reader, stage: staging.Stage, options: Options, journal: Journal, advance: Advance
) -> BetonSummary:
    order = np.arange(len(reader))
    order = order if options.shuffle is None else rng.permute(order, len(order), options.shuffle, 0)
    file = (
        stage.at.open(staging.DATA, os.O_RDWR)
        if stage.at.has(staging.DATA)
        else stage.at.create(staging.DATA, PLAIN, os.O_RDWR)
    )
    try:
        stage.writes(file)
        pages = Pages(file, len(order), transcode=options.transcode)
        resumed = _fill_all(pages, reader, order, stage, options, journal, advance)
        _check_bad(stage.where, pages, len(order), options)
        _finish(pages)
        return _summary(pages, reader, options, resumed)
    finally:
        os.close(file)


def _fill_all(
    pages: Pages, reader: Reader, order: Longs, stage: staging.Stage, options: Options,
    journal: Journal, advance: Advance,
) -> int:  # fmt: skip
    """All rounds, each noted in the journal; how many samples an earlier run had written."""
    start = sum(pages.restore(record) for record in _whole(journal.records, pages.file))
    resumed, stage.keep = len(pages.table), start > 0
    advance(start, 0)
    os.ftruncate(pages.file, pages.at)
    for first in range(start, len(order), TASK * ROUND):
        chosen = order[first : first + TASK * ROUND]
        _fill(pages, reader, chosen, options, advance)
        if not _fails(pages, options):
            os.fsync(pages.file)
            journal.append(pages.since(len(chosen)))
            stage.keep = True
    return resumed


def _finish(pages: Pages) -> None:
    """Write the table, then header and rows: without them the file is none."""
    table, count = pages.finish(), len(pages.table)
    head = beton_pages.head(count, pages.page, table) + pages.rows[:count].tobytes()
    beton_pages.put(pages.file, head, 0)
    os.fsync(pages.file)


def _summary(pages: Pages, reader: Reader, options: Options, resumed: int) -> BetonSummary:
    count, changed = len(pages.table), transcoding.total(pages.tallies, on=options.transcode)
    raw = int(np.count_nonzero(pages.rows[:count][beton_pages.IMAGE]["mode"] == format.RAW))
    size, classes = os.fstat(pages.file).st_size, len(reader.classes)
    return BetonSummary(count, classes, size, count - raw, raw, tuple(pages.bad), changed, resumed)


def _fails(pages: Pages, options: Options) -> bool:
    return options.on_error != "skip" and not all(bad.mended for bad in pages.bad)


def _check_bad(where: str, pages: Pages, total: int, options: Options) -> None:
    lines = "\n".join(grouped((one.name, one.reason) for one in pages.bad))
    if _fails(pages, options):
        raise ConversionError(
            f"{where}: {len(pages.bad)} of {total} samples are bad; mend them, or pass --on-error "
            f"skip\n{lines}"
        )
    if not pages.table:
        raise ConversionError(f"{where}: no sample is left of {total}; give other images\n{lines}")


def _whole(records: Sequence[Json], file: int) -> Iterator[Json]:
    """Rounds of an earlier run, up to the first whose payloads are not as they were."""
    for record in records:
        table = np.frombuffer(base64.b64decode(record["table"]), format.PAYLOAD)
        rows = [
            _native.xxh3(os.pread(file, int(size), int(ptr))) for _, ptr, size in table.tolist()
        ]
        if stamp_of(rows) != record["xxh3"]:
            return
        yield record


def _fill(pages: Pages, reader: Reader, chosen: Longs, options: Options, advance: Advance) -> None:
    """A round of samples, in their order; read, checked and decoded by several threads."""
    Image.init()

    def work(start: int, stop: Stop) -> tuple[list[Stored], StoredMaker]:
        maker = StoredMaker(
            reader,
            options,
            chosen[start : start + TASK].tolist(),
            lambda size: advance(1, size),
            stop,
        )
        return [item for item in maker if isinstance(item, Stored)], maker

    for items, maker in workers.run(
        range(0, len(chosen), TASK), work, options.workers or usable_cores()
    ):
        for item in items:
            pages.add(item)
        pages.bad += maker.bad
        pages.tally.take(maker.tally)
