"""One FFCV file (version 2) with a field of images and one of integer labels, as FFCV 1.0.2 reads it.

JPEGs are kept byte for byte, everything else becomes raw pixels: nothing is encoded again. Layout: sources/beton_file.py.
"""

import base64
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import PIL
from PIL import Image

from fastload import _native
from fastload.conversion import editing, samples, staging, workers
from fastload.conversion.editing import UNCHANGED, Edits
from fastload.conversion.journal import Journal
from fastload.conversion.keys import readable
from fastload.conversion.parts import Bad
from fastload.conversion.readers.base import Reader, stamp_of
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, UsageError
from fastload.machine import usable_cores
from fastload.sources import beton_file as format
from fastload.spec import Longs
from fastload.transforms import pil

IMAGE, LABEL = "image", "label"  # what FFCV's own examples call them
PAGE = 8 << 20  # bytes, FFCV's default; larger where an image needs it
LARGEST = 1 << 31  # bytes of an image: a page holds it whole, and the header has 32 bits for a page's size
MOST_PX = 0xFFFF  # of a side
MODES = ("keep", "raw")
TASK, ROUND = 16, 64  # images of one task; tasks whose results are held in memory
ROWS = np.dtype([(IMAGE, format.IMAGE), (LABEL, "<i8")], align=True)


@dataclass(frozen=True)
class Options:
    """How to write a file. mode: "keep" the bytes of JPEGs, or store "raw" pixels of all."""

    mode: str = "keep"
    workers: int | None = None
    on_error: str = "raise"  # or "skip"
    check: str = "decode"  # of samples.CHECKS
    overwrite: bool = False
    edits: Edits = UNCHANGED
    extras: str = "keep"  # or "drop": files beside the images, which FFCV's files cannot hold
    resume: bool = False  # go on with what an interrupted conversion left

    def __post_init__(self) -> None:
        wanted = (("mode", self.mode, MODES), ("on_error", self.on_error, ("raise", "skip")), ("check", self.check, samples.CHECKS))
        for name, value, known in wanted:
            if value not in known:
                raise UsageError(f"{name}: got {value!r}, want {' or '.join(map(repr, known))}; choose one")


@dataclass(frozen=True)
class Summary:
    """What was written."""

    samples: int
    classes: int
    bytes: int  # of the file
    jpegs: int
    raw: int
    bad: tuple[Bad, ...]
    resumed: int = 0  # samples that an earlier run had written


class _Payload(NamedTuple):
    sample: int
    mode: int
    height: int  # px
    width: int
    data: bytes


def run(reader: Reader, where: str, options: Options, advance: Advance = workers.ignore) -> Summary:
    """Write all samples to the file `where`. Raises ConversionError and leaves nothing under that name if it cannot be completed."""
    if options.extras == "keep" and (count := int(np.count_nonzero(reader.beside))):
        raise ConversionError(f"{where}: FFCV's files hold images and labels, and {count} samples have other files; pass --extras drop")
    needed = int(np.maximum(reader.sizes, 0).sum()) + len(reader) * (ROWS.itemsize + format.PAYLOAD.itemsize) + 2 * PAGE
    stage = staging.Stage(where)
    with staging.being_staged(stage, needed, lambda path: _check(path, overwrite=options.overwrite), resume=options.resume) as hold:
        hold.strange = options.resume
        with closing(Journal(hold.journal, _identity(reader, options), resume=options.resume)) as journal:
            hold.strange = False
            summary = _write(reader, stage, options, journal, advance)
            stage.commit()
    return summary


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
        "Pillow": PIL.__version__,
    }  # fmt: skip


def _write(reader: Reader, stage: staging.Stage, options: Options, journal: Journal, advance: Advance) -> Summary:
    file = os.open(stage.data, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        pages = Pages(file, len(reader), reader.labels)
        start = sum(pages.restore(record) for record in _whole(journal.records, file))
        resumed, stage.keep = len(pages.table), start > 0
        advance(start, 0)
        os.ftruncate(file, pages.at)
        for first in range(start, len(reader), TASK * ROUND):
            for payload in _payloads(reader, first, options, advance):
                pages.add(payload)
            if not (pages.bad and options.on_error == "raise"):
                os.fsync(file)
                journal.append(pages.since(min(TASK * ROUND, len(reader) - first)))
                stage.keep = True
        _check_bad(stage.where, pages, len(reader), options)
        table = pages.finish()
        _put(file, _head(len(pages.table), pages.page, table) + pages.rows[: len(pages.table)].tobytes(), 0)
        os.fsync(file)
        raw = int(np.count_nonzero(pages.rows[: len(pages.table)][IMAGE]["mode"] == format.RAW))
        count = len(pages.table)
        return Summary(count, len(reader.classes), os.fstat(file).st_size, count - raw, raw, tuple(pages.bad), resumed)
    finally:
        os.close(file)


def _check_bad(where: str, pages: "Pages", total: int, options: Options) -> None:
    lines = "\n".join(map(str, pages.bad))
    if pages.bad and options.on_error == "raise":
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


def _head(count: int, page: int, table: int) -> bytes:
    """Header and field descriptors."""
    fields = np.zeros(2, format.DESCRIPTOR)
    fields["type_id"] = [format.KINDS.index("image"), format.KINDS.index("int")]
    fields["name"] = [IMAGE, LABEL]
    return np.array((format.VERSION, len(fields), page, count, table), format.HEADER).tobytes() + fields.tobytes()


class Pages:
    """Payloads into pages of one size; none lies across the edge of two, as FFCV reads page by page."""

    def __init__(self, file: int, most: int, labels: Longs) -> None:
        self.file, self.page, self.labels = file, PAGE, labels
        self.start = self.at = _up(format.HEADER.itemsize + 2 * format.DESCRIPTOR.itemsize + most * ROWS.itemsize, PAGE)
        self.table: list[tuple[int, int, int]] = []
        self.rows = np.zeros(most, ROWS)
        self.bad: list[Bad] = []
        self.checksums: list[int] = []
        self.noted = (0, 0)  # samples and bad ones that the journal has

    def add(self, payload: "_Payload | Bad") -> None:
        """The next sample."""
        if isinstance(payload, Bad):
            self.bad.append(payload)
            return
        data, count = payload.data, len(self.table)
        while len(data) > self.page:  # what lies in one small page lies in one large page too
            self.page *= 2
        if self.at // self.page != (self.at + len(data) - 1) // self.page:
            self.at = _up(self.at, self.page)
        _put(self.file, data, self.at)
        self.rows[count] = ((payload.mode, payload.width, payload.height, self.at), self.labels[payload.sample])
        self.table.append((count, self.at, len(data)))
        self.checksums.append(_native.xxh3(data))
        self.at += len(data)

    def since(self, samples: int) -> dict[str, Any]:
        """What came since the last call, of `samples` samples of the source."""
        (count, bad), self.noted = self.noted, (len(self.table), len(self.bad))
        new = np.array(self.table[count:], format.PAYLOAD)
        checksums, self.checksums = self.checksums, []
        return {
            "samples": samples, "at": self.at, "page": self.page, "bad": self.bad[bad:], "xxh3": stamp_of(checksums),
            "rows": base64.b64encode(self.rows[count : len(self.table)].tobytes()).decode(),
            "table": base64.b64encode(new.tobytes()).decode(),
        }  # fmt: skip

    def restore(self, record: dict[str, Any]) -> int:
        """Take over what `since` said; how many samples of the source that were."""
        count, new = len(self.table), np.frombuffer(base64.b64decode(record["table"]), format.PAYLOAD)
        self.table += [(int(sample), int(ptr), int(size)) for sample, ptr, size in new.tolist()]
        self.rows[count : len(self.table)] = np.frombuffer(base64.b64decode(record["rows"]), ROWS)
        self.bad += [Bad(*each) for each in record["bad"]]
        self.at, self.page, self.noted = record["at"], record["page"], (len(self.table), len(self.bad))
        return int(record["samples"])

    def finish(self) -> int:
        """Write the table behind the last page; where it begins."""
        end = _up(self.at, self.page)
        os.ftruncate(self.file, end)
        _put(self.file, np.array(self.table, format.PAYLOAD).tobytes(), end)
        return end


def _put(file: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(file, view, at)
        view, at = view[count:], at + count


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def _payloads(reader: Reader, first: int, options: Options, advance: Advance) -> Iterator[_Payload | Bad]:
    """A round from `first` on, in the order of the samples; read, checked and decoded by several threads."""
    Image.init()

    def work(start: int, stop: Stop) -> list[_Payload | Bad]:
        found = list[_Payload | Bad]()
        for sample in range(start, min(start + TASK, len(reader))):
            stop.check()
            try:
                payload = _payload(reader, sample, options)
                found.append(payload)
                advance(1, len(payload.data))
            except BadSampleError as error:
                found.append(Bad(sample, reader.name(sample), str(error)))
                advance(1, 0)
        return found

    count = options.workers or usable_cores()
    for results in workers.run(range(first, min(first + TASK * ROUND, len(reader)), TASK), work, count):
        yield from results


def _payload(reader: Reader, sample: int, options: Options) -> _Payload:
    """Raises BadSampleError."""
    data = editing.edit(reader.read(sample), options.edits)
    looked = samples.look(data, options.check)
    facts = looked.facts
    plain = facts.format.startswith(("jpeg 4:", "jpeg grey"))  # FFCV's decoder takes no others
    if options.mode == "keep" and plain and (looked.sound or options.check == "none" or samples.decodes_natively(data)):
        return _Payload(sample, format.JPEG, facts.height, facts.width, data)
    try:
        pixels = np.asarray(pil.decode(data))
    except samples.PILLOW_ERRORS as error:
        why = "is no image that Pillow knows" if facts.format == "unknown" else f"cannot be decoded ({samples.reason(error)})"
        raise BadSampleError(f"{why}; mend or remove the file") from error
    height, width = pixels.shape[:2]
    if max(height, width) > MOST_PX or pixels.nbytes > LARGEST:
        raise BadSampleError(f"is too large for FFCV (got {height}x{width} px, want sides up to {MOST_PX} and 2 GiB); resize it")
    return _Payload(sample, format.RAW, height, width, np.ascontiguousarray(pixels).tobytes())
