"""Fuzz targets for what reads one file of a data set that is opened in place: its bytes give a
`Part` that keeps its promise, or the typed error.

Nothing is opened or kept as a data set: that is what fuzz/spans.py does, with a few of the inputs,
and it takes a hundred times as long. Checksums are made to fit. Each gives whether the file was
taken whole.
"""

import json
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from fastload import _native
from fastload.errors import FastloadError, SourceError
from fastload.files.names import outside
from fastload.sources import (
    field_types,
    fields,
    litdata,
    litdata_fields,
    litdata_index,
    lmdb,
    lmdb_keys,
    mds,
    mds_fields,
    mds_index,
    mds_shards,
    parquet,
    parquet_columns,
    parquet_files,
    parquet_pages,
    parquet_scan,
    parquet_spans,
    tar_fields,
    tar_parts,
    tf_fields,
    tf_records,
    tfrecord,
)
from fastload.sources.span_files import json_in
from fastload.sources.span_index import Part
from fuzz.places import FEW, within

CODECS = (*parquet_scan.CODECS, "ZSTD")
Found = TypeVar("Found")


class Draw:
    """Choices that the bytes of an input make, so that whatever is found is found again."""

    def __init__(self, data: bytes) -> None:
        self.left = _native.xxh3(data)

    def of(self, choices: Sequence[Found]) -> Found:
        self.left, at = divmod(self.left, len(choices))
        return choices[at]

    def one_in(self, many: int) -> bool:
        return self.of(range(many)) == 0


def one_line(error: FastloadError, folder: Path) -> None:
    """Each problem is a line that begins with a path, and says what to do."""
    for line in str(error).split("\n"):
        if not line.startswith(str(folder)) or "; " not in line:
            raise AssertionError(f"a line without a path or remedy: {line!r}") from error


def got(folder: Path, read: Callable[[], Found]) -> Found | None:
    """What is read; None: it is refused as promised."""
    try:
        return read()
    except SourceError as error:
        one_line(error, folder)
        return None


@contextmanager
def content(path: str, data: bytes) -> Iterator[IO[bytes]]:
    """An open file of these bytes."""
    with open(path, "w+b", buffering=0) as file:
        file.write(data)
        file.seek(0)
        yield file


def decoded(part: Part, data: bytes, kind: str) -> None:
    """The values, as `fields.values` makes them of their bytes."""
    for start, size in zip(part.offset[:FEW].tolist(), part.size[:FEW].tolist(), strict=True):
        try:
            field_types.decoder(kind, None)[1](data[start : start + size])
        except (ValueError, RecursionError):
            continue


def _beside(folder: Path, data: bytes, what: str, kind: str, read: Callable[[], Part]) -> None:
    found = got(folder, read)
    if found is not None:
        within(found, data, what)
        decoded(found, data, kind)


def summed(data: bytes) -> bytes:
    """A tar whose headers have their checksums."""
    out, at, block = bytearray(data), 0, tarfile.BLOCKSIZE
    while at + block <= len(out):
        out[at + 148 : at + 156] = b" " * 8
        head = out[at : at + block]
        if head.count(0) == block - 8:
            out[at + 148 : at + 156] = bytes(8)
        else:
            out[at + 148 : at + 156] = b"%06o\0 " % sum(head)
        try:
            size = tarfile.nti(head[124:136])
        except tarfile.HeaderError:
            size = 0
        at += block * (1 + max(0, -(-size // block)))
    return bytes(out)


def run_tars(folder: Path, data: bytes) -> bool:
    data, path, draw = summed(data), f"{folder}/x.tar", Draw(data)
    with content(path, data) as file:
        walk = tar_parts.walked(file, len(data))
        for folders in (draw.of((True, False)), None):
            found = got(folder, lambda how=folders: tar_parts.part_of(path, walk, file, how))
            if found is not None:
                within(found, data, "images")
    for span in walk.spans:
        if outside(span.name):
            raise AssertionError(f"{span.name!r} leads out")
    if found is not None:
        name, folders = draw.of(("txt", "json")), found.said == tar_parts.FOLDERS
        kind = fields.of_suffix(name)
        _beside(
            folder, data, name, kind, lambda: tar_fields.beside(name, path, walk, folders=folders)
        )
    return found is not None


def _indexed(data: bytes) -> tuple[bytes, bytes]:
    index, _, rest = data.partition(b"\0")
    return index, rest


def run_mds(folder: Path, data: bytes) -> bool:
    index, data, names = *_indexed(data), Draw(data).of((None, ("image", "label")))
    where = f"{folder}/data"
    said = got(folder, lambda: json_in(os.path.join(where, mds_index.INDEX), index, "write it"))
    listed = got(folder, lambda: list(mds_index.shards_in(where, said)))
    shard = next((one for one in listed or () if one.samples), None)
    of = shard and got(folder, lambda: mds.fields_of(shard, names))
    if not of:
        return False
    os.makedirs(where, exist_ok=True)
    with content(f"{where}/x.mds", data) as file:
        found = got(folder, lambda: mds.part_of(shard, of, file.fileno(), len(data)))
        layout = got(folder, lambda: mds_shards.layout(shard, file.fileno(), len(data)))
    if found is not None:
        within(found, data, "images")
    for number, place in enumerate((layout or ())[:FEW]):
        column = Part(*place, np.zeros_like(place[0]))
        kind = got(folder, lambda it=number: mds_fields.kind_of(shard, it)) or "bytes"
        _beside(folder, data, "a column", kind, lambda it=column: it)
    return found is not None


def run_litdata(folder: Path, data: bytes) -> bool:
    index, data, draw = *_indexed(data), Draw(data)
    where, path = f"{folder}/data", f"{folder}/data/{litdata_index.INDEX}"
    said = got(folder, lambda: litdata_index.described(where, json_in(path, index, "write it")))
    if said is None:
        return False
    (leaves, chunks), names = said, draw.of((None, ("image", "label")))
    of = got(folder, lambda: litdata.fields_of(where, leaves, names))
    number = draw.of(range(len(leaves)))
    kind = litdata_fields.kind_of(leaves[number])
    os.makedirs(where, exist_ok=True)
    with content(f"{where}/chunk-0-0.bin", data) as opened:
        file = opened.fileno()
        found = of and got(folder, lambda: litdata.part_of(chunks[0], leaves, of, file))
        if found:
            within(found, data, "images")
        if kind:
            asked = chunks[0], leaves, number, kind, file
            _beside(folder, data, "a leaf", kind, lambda: litdata_fields.part_of(*asked))
    return found is not None


def signed(data: bytes) -> bytes:
    """With the checksums of the lengths that are there."""
    out, at = bytearray(data), 0
    while at + tf_records.HEAD.size <= len(out):
        length = bytes(out[at : at + 8])
        out[at + 8 : at + 12] = tf_records.masked(length).to_bytes(4, "little")
        at += tf_records.HEAD.size + int.from_bytes(length, "little") + tf_records.SUM
    return bytes(out)


def run_tfrecord(folder: Path, data: bytes) -> bool:
    data, path, draw = signed(data), f"{folder}/x.tfrecord", Draw(data)
    asked = draw.of((None, ("image", "width")))
    name = draw.of((b"caption", b"score", b"label", b"facts.json"))
    with content(path, data) as file:
        names = got(folder, lambda: tfrecord.of_first(path, file.fileno(), asked))
        found = names and got(folder, lambda: tfrecord.part_of(path, file.fileno(), names))
        if not found:
            return False
        within(found, data, "images")
        one = got(folder, lambda: tf_fields.part_of(name, path, file, len(data)))
    if one is not None and one.said:
        _beside(folder, data, "x", tf_fields.kind_of(name.decode(), {one.said}), lambda: one)
    return True


def run_lmdb(folder: Path, data: bytes) -> bool:
    path = f"{folder}/x.lmdb"
    with content(path, data) as file:
        entries = got(folder, lambda: lmdb_keys.found(path, file.fileno()))
        if entries is None:
            return False
        found = got(folder, lambda: lmdb.part_of(path, file.fileno(), entries))
    if found is None:
        return False
    within(found, data, "images")
    classes = json.loads(found.said)
    if not ((found.label >= 0) & (found.label < len(classes))).all():
        raise AssertionError("labels without classes")
    images, layout = lmdb_keys.images(path, entries)
    name = Draw(data).of(("txt", "label", "json"))
    one = got(folder, lambda: lmdb.beside(path, entries, images, layout, name))
    if one is not None:
        there = Part(one.offset, one.size, np.zeros_like(one.size))
        _beside(folder, data, name, one.kind, lambda: there)
    return True


def run_parquet(folder: Path, data: bytes) -> bool:
    path = f"{folder}/x.parquet"
    with content(path, data) as file:
        table = got(folder, lambda: parquet_files.opened(path, file))
        if table is None or not table.metadata.num_rows:
            return False
        chosen = got(folder, lambda: parquet_columns.chosen_in(path, file, table, None))
        if chosen is None:
            return False
        found = got(folder, lambda: parquet.part_in(chosen, path, path, file.fileno(), table))
    if found is not None:
        within(found, data, "images")
    return found is not None


def run_chunk(folder: Path, data: bytes) -> bool:
    """The pages of a column, whose codec, levels and number of rows are the first bytes."""
    if len(data) < 4:
        return False
    codec, depth, count, data = data[0], data[1], data[2], data[3:]
    leaf = parquet_scan.Leaf("x", 0, depth % 4)
    with content(f"{folder}/x.pages", data) as file:
        asked = file.fileno(), 0, len(data)
        try:
            if parquet_pages.check_chunk(*asked).longest < 0:
                raise AssertionError("values of less than no bytes")
            every = [*parquet_scan.of_chunk(*asked, CODECS[codec % len(CODECS)], count, leaf)]
        except ValueError:
            return False
    rows = np.concatenate([np.zeros((0, parquet_scan.COLUMNS), np.int64), *every])
    if len(rows) != count:
        raise AssertionError(f"{len(rows)} rows, want {count}")
    within(parquet_spans.part_of(rows, np.zeros(count, np.int64)), data, "images")
    return True
