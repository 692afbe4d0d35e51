"""What one part of a conversion has become: a shard, a table, a run of files.

Kept in the journal, so a resumed job knows it.
"""

import base64
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.conversion import seek_writer, transcoding
from fastload.conversion.readers.base import Extra
from fastload.conversion.samples import Facts, extension
from fastload.errors import ConversionError
from fastload.files.names import readable
from fastload.sources.extras import Placed
from fastload.spec import Json, Longs


class Bad(NamedTuple):
    """A sample that was left out, or that makes the conversion fail."""

    sample: int
    name: str
    reason: str
    mended: bool = False  # another sample stands in for it

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class NothingLeftError(ConversionError):
    """All samples are bad."""

    bad: tuple[Bad, ...] = ()


class Row(NamedTuple):
    """What stays known of a sample once it is written."""

    sample: int  # number in the source
    size: int  # bytes
    checksum: int  # XXH3-64 of the image
    facts: Facts


@dataclass(frozen=True)
class Item:
    """A sample as it is written: read, perhaps changed, looked at.

    Args:
        key: A path without an extension, unique.
        label: Number of its class.
        data: The encoded image.
        row: What stays known of it once it is written.
        extras: The files beside it.
        index: Its seek index; empty: it has none.
        reason: Why it has no seek index.

    Example:
        >>> from fastload.conversion.parts import Facts, Row
        >>> from fastload.extending import Item
        >>> row = Row(0, 3, 0, Facts(48, 64, "png"))
        >>> Item("cat/0", 0, b"...", row).extension
        'png'
    """

    key: str
    label: int
    data: bytes
    row: Row
    extras: tuple[Extra, ...] = ()
    index: bytes = b""
    reason: str = ""

    @property
    def extension(self) -> str:
        return extension(self.row.facts.format)


@dataclass(frozen=True, eq=False)
class Written:
    """One part under its temporary name; K rows in the order of the payloads.

    Args:
        path: Of its file, or of the first of them.
        bytes: Of its files.
        checksum: XXH3-64 of its file, or of their checksums.
        samples: int64 [K], numbers in the source.
        offset: int64 [K], bytes.
        size: int64 [K], bytes.
        height: int64 [K], px.
        width: int64 [K], px.
        checksums: uint64 [K], XXH3-64 of each image.
        formats: [K], as `inspect` names them: "jpeg 4:2:0".
        bad: Samples that were left out.
        sidecar: Their seek indexes.
        transcoding: What became of JPEGs that were rewritten.
        extras: [K], where the files beside each sample lie; or empty.
        names: Of all files, where a part is many.
        objects: In a store: key and ETag of each of its files.

    Example:
        >>> from fastload.extending import StagedWriter, Written
        >>> def images(parts: list[Written]) -> int:
        ...     return sum(len(part.samples) for part in parts)
        >>> images([])
        0
    """

    path: str
    bytes: int
    checksum: int
    samples: Longs
    offset: Longs
    size: Longs
    height: Longs
    width: Longs
    checksums: NDArray[np.uint64]
    formats: tuple[str, ...]
    bad: tuple[Bad, ...]
    sidecar: seek_writer.Sidecar
    transcoding: transcoding.Tally
    extras: tuple[tuple[Placed, ...], ...] = ()
    names: tuple[str, ...] = ()
    objects: tuple[tuple[str, str], ...] = ()


NUMBERS = {
    **dict.fromkeys(("samples", "offset", "size", "height", "width"), "<i8"),
    "checksums": "<u8",
}


def written(
    path: str, whole: tuple[int, int], rows: Sequence[Row], offset: Sequence[int], **rest: Any
) -> Written:
    """The part with these samples. whole: bytes and checksum of the file."""

    def column(values: Iterable[int]) -> Longs:
        return np.fromiter(values, np.int64, len(rows))

    return Written(
        path, *whole, column(row.sample for row in rows), np.array(offset, np.int64),
        column(row.size for row in rows),
        column(row.facts.height for row in rows), column(row.facts.width for row in rows),
        np.array([row.checksum for row in rows], np.uint64),
        tuple(sys.intern(row.facts.format) for row in rows), **rest,
    )  # fmt: skip


def pack(part: Written) -> Json:
    """The part as JSON can hold it; its files by their names only."""
    side = part.sidecar
    formats = sorted(set(part.formats))
    return {
        **{name: _text(getattr(part, name), kind) for name, kind in NUMBERS.items()},
        "path": os.path.basename(part.path),
        "bytes": part.bytes,
        "checksum": part.checksum,
        "formats": formats,
        "format": _text([formats.index(name) for name in part.formats], "<i4"),
        "bad": part.bad,
        "extras": part.extras,
        "names": part.names,
        "objects": part.objects,
        "sidecar": [os.path.basename(side.path), side.bytes, side.checksum, side.reasons],
        "seek": [_text(side.offset, "<i8"), _text(side.size, "<i8")],
        "transcoding": part.transcoding.pack(),
    }


def unpack(said: Json, folder: str) -> Written:
    """What `pack` was given, its files in `folder`.

    Raises KeyError, TypeError, ValueError for what it has not made.
    """
    numbers = {name: _array(said[name], kind) for name, kind in NUMBERS.items()}
    path, size, checksum, reasons = said["sidecar"]
    offsets, sizes = (_array(text, "<i8") for text in said["seek"])
    return Written(
        path=os.path.join(folder, said["path"]),
        bytes=said["bytes"],
        checksum=said["checksum"],
        **numbers,
        formats=tuple(said["formats"][code] for code in _array(said["format"], "<i4").tolist()),
        bad=tuple(Bad(*each) for each in said["bad"]),
        sidecar=seek_writer.Sidecar(
            os.path.join(folder, path), size, checksum, offsets, sizes, Counter(reasons)
        ),
        transcoding=transcoding.Tally.unpack(said["transcoding"]),
        extras=tuple(tuple(Placed(*each) for each in row) for row in said["extras"]),
        names=tuple(said["names"]),
        objects=tuple((str(key), str(etag)) for key, etag in said.get("objects", ())),
    )


def _text(values: Any, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(kind)).tobytes()).decode()


def _array(text: str, kind: str) -> Any:
    out = np.frombuffer(base64.b64decode(text, validate=True), np.dtype(kind))
    return out.astype(np.dtype(kind).newbyteorder("="))


def bad_lines(bad: Sequence[Bad]) -> bytes:
    """One JSON object per line."""
    rows = ({"sample": row.sample, "name": readable(row.name), "reason": row.reason} for row in bad)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
