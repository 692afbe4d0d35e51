"""One FFCV file (version 2) with a field of images and one of integer labels, as FFCV 1.0.2 reads it.

JPEGs are kept byte for byte, everything else becomes raw pixels: nothing is encoded again. Layout: sources/beton_file.py.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import numpy as np
from PIL import Image

from fastload.conversion import samples, target, workers
from fastload.conversion.readers import Reader
from fastload.conversion.samples import BadSampleError
from fastload.conversion.shards_writer import Bad
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, UsageError
from fastload.machine import usable_cores
from fastload.sources import beton_file as format
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
    check: bool = True  # decode every image
    overwrite: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (("mode", self.mode, MODES), ("on_error", self.on_error, ("raise", "skip"))):
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


class _Payload(NamedTuple):
    sample: int
    mode: int
    height: int  # px
    width: int
    data: bytes


def run(reader: Reader, where: str, options: Options, advance: Advance = workers.ignore) -> Summary:
    """Write all samples to the file `where`. Raises ConversionError and leaves nothing under that name if it cannot be completed."""
    folder, name = os.path.split(os.path.abspath(where))
    if os.path.lexists(where) and not options.overwrite:
        raise ConversionError(f"{where}: exists already; give another path, or --overwrite to replace it")
    temporary = os.path.join(folder, f".fastload-{name}")
    needed = int(np.maximum(reader.sizes, 0).sum()) + len(reader) * (ROWS.itemsize + format.PAYLOAD.itemsize) + 2 * PAGE
    with target.translated(folder, needed):
        target.check_room(folder, needed)
        try:
            with open(temporary, "wb") as file:
                summary = _write(reader, where, file, options, advance)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, where)
            target.sync_folder(folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    return summary


def _write(reader: Reader, where: str, file: BinaryIO, options: Options, advance: Advance) -> Summary:
    rows, pages, bad = np.zeros(len(reader), ROWS), _Pages(file, len(reader)), list[Bad]()
    labels, count = reader.source.labels, 0
    for payload in _payloads(reader, options, advance):
        if isinstance(payload, Bad):
            bad.append(payload)
            continue
        at = pages.add(count, payload.data)
        rows[count] = ((payload.mode, payload.width, payload.height, at), labels[payload.sample])
        count += 1
    if bad and options.on_error == "raise":
        lines = "\n".join(map(str, bad))
        raise ConversionError(f"{where}: {len(bad)} of {len(reader)} samples are bad; mend them, or pass --on-error skip\n{lines}")
    if not count:
        raise ConversionError(f"{where}: no sample is left of {len(reader)}; give other images")
    table = pages.finish()
    file.seek(0)
    file.write(_head(count, pages.page, table) + rows[:count].tobytes())
    raw = int(np.count_nonzero(rows[:count][IMAGE]["mode"] == format.RAW))
    return Summary(count, len(reader.source.classes), os.fstat(file.fileno()).st_size, count - raw, raw, tuple(bad))


def _head(count: int, page: int, table: int) -> bytes:
    """Header and field descriptors."""
    fields = np.zeros(2, format.DESCRIPTOR)
    fields["type_id"] = [format.KINDS.index("image"), format.KINDS.index("int")]
    fields["name"] = [IMAGE, LABEL]
    return np.array((format.VERSION, len(fields), page, count, table), format.HEADER).tobytes() + fields.tobytes()


class _Pages:
    """Payloads into pages of one size; none lies across the edge of two, as FFCV reads page by page."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file, self.page = file, PAGE
        self.start = self.at = _up(format.HEADER.itemsize + 2 * format.DESCRIPTOR.itemsize + most * ROWS.itemsize, PAGE)
        self.table: list[tuple[int, int, int]] = []

    def add(self, sample: int, data: bytes) -> int:
        """Where it lies, bytes from the file's start."""
        while len(data) > self.page:  # what lies in one small page lies in one large page too
            self.page *= 2
        if self.at // self.page != (self.at + len(data) - 1) // self.page:
            self.at = _up(self.at, self.page)
        at = self.at
        self.file.seek(at)
        self.file.write(data)
        self.table.append((sample, at, len(data)))
        self.at = at + len(data)
        return at

    def finish(self) -> int:
        """Write the table behind the last page; where it begins."""
        end = _up(self.at, self.page)
        self.file.truncate(end)
        self.file.seek(end)
        self.file.write(np.array(self.table, format.PAYLOAD).tobytes())
        return end


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def _payloads(reader: Reader, options: Options, advance: Advance) -> Iterator[_Payload | Bad]:
    """In the order of the samples; read, checked and decoded by several threads."""
    Image.init()

    def work(start: int, stop: Stop) -> list[_Payload | Bad]:
        found = list[_Payload | Bad]()
        for sample in range(start, min(start + TASK, len(reader))):
            stop.check()
            try:
                found.append(_payload(reader, sample, options))
            except BadSampleError as error:
                found.append(Bad(sample, reader.source.name(sample), str(error)))
            advance(1, int(max(reader.sizes[sample], 0)))
        return found

    count = options.workers or usable_cores()
    for first in range(0, len(reader), TASK * ROUND):
        for results in workers.run(range(first, min(first + TASK * ROUND, len(reader)), TASK), work, count):
            yield from results


def _payload(reader: Reader, sample: int, options: Options) -> _Payload:
    """Raises BadSampleError."""
    data = reader.read(sample)
    facts = samples.examine(data, check=False)
    plain = facts.format.startswith(("jpeg 4:", "jpeg grey"))  # FFCV's decoder takes no others
    if options.mode == "keep" and plain and (not options.check or samples.decodes_natively(data)):
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
