"""One FFCV file (version 2) with a field of images and one of integer labels, as FFCV 1.0.2 reads it.

JPEGs are kept byte for byte, unless they are to be changed; everything else becomes raw pixels: nothing is encoded again.
"""

import base64
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import PIL
from PIL import Image

from fastload import _native, rng
from fastload.conversion import beton_pages, finished, samples, staging, transcoding, workers
from fastload.conversion.beton_pages import PAGE, ROWS, Pages, Stored
from fastload.conversion.editing import UNCHANGED, Edits
from fastload.conversion.forecast import SECONDS, Forecast, estimate
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.journal import Journal
from fastload.conversion.keys import readable
from fastload.conversion.making import How, Maker
from fastload.conversion.options import POLICIES
from fastload.conversion.parts import Bad, Item
from fastload.conversion.readers.base import Reader, stamp_of
from fastload.conversion.readers.spans import spooled
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, UsageError
from fastload.files.below import PLAIN
from fastload.machine import usable_cores
from fastload.sources import beton_file as format
from fastload.spec import Longs
from fastload.transforms import pil

LARGEST = 1 << 31  # bytes of an image: a page holds it whole, and the header has 32 bits for a page's size
MOST_PX = 0xFFFF  # of a side
MODES = ("keep", "raw")
KEPT = ("samples", "classes", "bytes", "jpegs", "raw")  # of a summary, for --resume of a finished file
TASK, ROUND = 16, 64  # images of one task; tasks whose results are held in memory


@dataclass(frozen=True)
class Options:
    """How to write a file. mode: "keep" the bytes of JPEGs, or store "raw" pixels of all."""

    mode: str = "keep"
    workers: int | None = None
    shuffle: int | None = None  # seed; None keeps the source's order
    on_error: str = "raise"  # or "skip", "substitute"
    check: str = "decode"  # of samples.CHECKS
    overwrite: bool = False
    transcode: bool = False  # rewrite slow JPEGs as baseline
    edits: Edits = UNCHANGED
    extras: str = "keep"  # or "drop": files beside the images, which FFCV's files cannot hold
    resume: bool = False  # go on with what an interrupted conversion left

    def __post_init__(self) -> None:
        wanted = (("mode", self.mode, MODES), ("on_error", self.on_error, POLICIES), ("check", self.check, samples.CHECKS))
        for name, value, known in wanted:
            if value not in known:
                raise UsageError(f"{name}: got {value!r}, want {' or '.join(map(repr, known))}; choose one")

    @property
    def how(self) -> How:
        """Up to the checks, which are another matter here: what is no JPEG that FFCV takes becomes pixels."""
        return How("none", self.transcode, self.edits, extras=False, substitute=self.on_error == "substitute")


@dataclass(frozen=True)
class Summary:
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


def run(reader: Reader, where: str, options: Options, advance: Advance = workers.ignore, committing: Committing = delayed) -> Summary:
    """Write all samples to the file `where`. Raises ConversionError and leaves nothing under that name if it cannot be completed.

    committing: as in job.run.
    """
    if options.extras == "keep" and (count := int(np.count_nonzero(reader.beside))):
        raise ConversionError(f"{where}: FFCV's files hold images and labels, and {count} samples have other files; pass --extras drop")
    if options.shuffle is not None and reader.in_order:
        reader = spooled(reader)
    if options.resume and (said := finished.found(where, _identity(reader, options), overwrite=options.overwrite)):
        samples, classes, size, jpegs, raw = (int(said[name]) for name in KEPT)
        return Summary(samples, classes, size, jpegs, raw, (), transcoding.total((), on=options.transcode), whole=True)
    with ExitStack() as at_the_end:
        summary = _staged(reader, where, options, advance, lambda: at_the_end.enter_context(committing()))
        finished.note(where, _identity(reader, options), {name: getattr(summary, name) for name in KEPT})
    return summary


def _staged(reader: Reader, where: str, options: Options, advance: Advance, committing: Callable[[], None]) -> Summary:
    """committing: is called when the commit begins."""
    needed = int(np.maximum(reader.sizes, 0).sum()) + len(reader) * (ROWS.itemsize + format.PAYLOAD.itemsize) + 2 * PAGE
    stage = staging.Stage(where)
    with staging.being_staged(stage, needed, lambda path: _check(path, overwrite=options.overwrite), resume=options.resume) as hold:
        hold.strange = options.resume
        with closing(Journal(hold.journal, _identity(reader, options), resume=options.resume)) as journal:
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
        lambda sample: _Maker(reader, options, [sample]),
        lambda item: len(item.data) + row,
        options.workers or usable_cores(),
        seconds,
    )


def _check(where: str, *, overwrite: bool) -> None:
    if os.path.isdir(where):
        raise ConversionError(f"{where}: is a folder, want a file; give another path")
    if os.path.lexists(where) and not overwrite:
        raise ConversionError(f"{where}: exists already; give another path, or --overwrite to replace it")


def _identity(reader: Reader, options: Options) -> dict[str, Any]:
    """What must be the same for a job to go on."""
    source = stamp_of([reader.stamp, len(reader), list(map(readable, reader.keys))], reader.sizes, reader.labels)
    return {
        "target": "beton", "source": f"{source:016x}", "mode": options.mode, "check": options.check, "edits": asdict(options.edits),
        "shuffle": options.shuffle, "transcode": options.transcode, "substitute": options.on_error == "substitute",
        "Pillow": PIL.__version__,
    }  # fmt: skip


def _write(reader: Reader, stage: staging.Stage, options: Options, journal: Journal, advance: Advance) -> Summary:
    order = np.arange(len(reader))
    order = order if options.shuffle is None else rng.permute(order, len(order), options.shuffle, 0)
    file = stage.at.open(staging.DATA, os.O_RDWR) if stage.at.has(staging.DATA) else stage.at.create(staging.DATA, PLAIN, os.O_RDWR)
    try:
        stage.writes(file)
        pages = Pages(file, len(order), transcode=options.transcode)
        start = sum(pages.restore(record) for record in _whole(journal.records, file))
        resumed, stage.keep = len(pages.table), start > 0
        advance(start, 0)
        os.ftruncate(file, pages.at)
        for first in range(start, len(order), TASK * ROUND):
            chosen = order[first : first + TASK * ROUND]
            _fill(pages, reader, chosen, options, advance)
            if not _fails(pages, options):
                os.fsync(file)
                journal.append(pages.since(len(chosen)))
                stage.keep = True
        _check_bad(stage.where, pages, len(order), options)
        table = pages.finish()
        beton_pages.put(file, beton_pages.head(len(pages.table), pages.page, table) + pages.rows[: len(pages.table)].tobytes(), 0)
        os.fsync(file)
        raw = int(np.count_nonzero(pages.rows[: len(pages.table)][beton_pages.IMAGE]["mode"] == format.RAW))
        count, changed = len(pages.table), transcoding.total(pages.tallies, on=options.transcode)
        return Summary(count, len(reader.classes), os.fstat(file).st_size, count - raw, raw, tuple(pages.bad), changed, resumed)
    finally:
        os.close(file)


def _fails(pages: Pages, options: Options) -> bool:
    return options.on_error != "skip" and not all(bad.mended for bad in pages.bad)


def _check_bad(where: str, pages: Pages, total: int, options: Options) -> None:
    lines = "\n".join(map(str, pages.bad))
    if _fails(pages, options):
        raise ConversionError(f"{where}: {len(pages.bad)} of {total} samples are bad; mend them, or pass --on-error skip\n{lines}")
    if not pages.table:
        raise ConversionError(f"{where}: no sample is left of {total}; give other images\n{lines}")


def _whole(records: Sequence[dict[str, Any]], file: int) -> Iterator[dict[str, Any]]:
    """Rounds of an earlier run, up to the first whose payloads are not as they were."""
    for record in records:
        table = np.frombuffer(base64.b64decode(record["table"]), format.PAYLOAD)
        found = [_native.xxh3(os.pread(file, int(size), int(ptr))) for _, ptr, size in table.tolist()]
        if stamp_of(found) != record["xxh3"]:
            return
        yield record


def _fill(pages: Pages, reader: Reader, chosen: Longs, options: Options, advance: Advance) -> None:
    """A round of samples, in their order; read, checked and decoded by several threads."""
    Image.init()

    def work(start: int, stop: Stop) -> tuple[list[Stored], _Maker]:
        maker = _Maker(reader, options, chosen[start : start + TASK].tolist(), lambda size: advance(1, size), stop)
        return [item for item in maker if isinstance(item, Stored)], maker

    for items, maker in workers.run(range(0, len(chosen), TASK), work, options.workers or usable_cores()):
        for item in items:
            pages.add(item)
        pages.bad += maker.bad
        pages.tally.take(maker.tally)


class _Maker(Maker):
    """Samples as FFCV stores them."""

    def __init__(
        self, reader: Reader, options: Options, chosen: Sequence[int], step: Callable[[int], object] = int, stop: Stop | None = None
    ) -> None:
        super().__init__(reader, options.how, chosen, step, stop or Stop())
        self.options = options

    def made(self, sample: int, owner: int) -> Stored:
        return _stored(super().made(sample, owner), self.options)


def _stored(item: Item, options: Options) -> Stored:
    """Raises BadSampleError."""
    data, facts, own = item.data, item.row.facts, (item.key, item.label)
    plain = facts.format.startswith(("jpeg 4:", "jpeg grey"))  # FFCV's decoder takes no others
    if (
        options.mode == "keep"
        and plain
        and (samples.look(data, options.check).sound or options.check == "none" or samples.decodes_natively(data))
    ):
        return Stored(*own, data, item.row, height=facts.height, width=facts.width)
    try:
        pixels = np.asarray(pil.decode(data))
    except samples.PILLOW_ERRORS as error:
        why = "is no image that Pillow knows" if facts.format == "unknown" else f"cannot be decoded ({samples.reason(error)})"
        raise BadSampleError(f"{why}; mend or remove the file") from error
    height, width = pixels.shape[:2]
    if max(height, width) > MOST_PX or pixels.nbytes > LARGEST:
        raise BadSampleError(f"is too large for FFCV (got {height}x{width} px, want sides up to {MOST_PX} and 2 GiB); resize it")
    return Stored(*own, np.ascontiguousarray(pixels).tobytes(), item.row, mode=format.RAW, height=height, width=width)
