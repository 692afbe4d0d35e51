"""Fuzz targets for the formats that are opened in place, whose samples are spans of files: opening,
with values beside the images, gives spans inside of the files, or the typed error.

The input of a format with an index is that JSON, a zero byte, and a shard. fuzz/readers.py runs
these.
"""

import contextlib
import io
import json
import os
import resource
import struct
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fastload import _native
from fastload.errors import FastloadError, SampleError, SourceError
from fastload.files import cache
from fastload.sources import fields, open_source, row_file, span_index, tf_records
from fastload.sources.base import read
from fastload.sources.fields import Field
from fuzz.places import as_the_engine_reads, inside
from tests.conftest import encoded, textured
from tests.sources import litdata_files, lmdb_files, parquet_files, tfrecord_files
from tests.sources.litdata_files import LEAF, of_dict
from tests.unit import mds_files

COUNT = 3
MOST_MEMORY = 64 << 10  # KiB that one input may add to what the process has had
FEW = 8  # samples whose values are read


def image(number: int) -> bytes:
    return encoded(textured(5 + number, 9, number), quality=60)


def caption(number: int) -> bytes:
    return f"Zürich {number}".encode()


def tall() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def one_line(error: FastloadError, folder: Path) -> None:
    """Each problem is a line that begins with a path, and says what to do."""
    for line in str(error).split("\n"):
        if not line.startswith(str(folder)) or "; " not in line:
            raise AssertionError(f"a line without a path or remedy: {line!r}") from error


def look(
    folder: Path, where: Path, names: Sequence[str], chosen: tuple[str, str] | None = None
) -> None:
    """Open what is there, with each of the values, and read those of the first samples."""
    before = tall()
    with cache.nowhere():
        for options in ({}, {"fields": chosen}) if chosen else ({},):
            try:
                source = open_source(where, **options)
            except SourceError as error:
                one_line(error, folder)
                continue
            every = np.arange(len(source))
            place = source.locate(every)
            inside(source, (place.file, place.offset, place.size), "images")
            if not 0 < len(source) == len(source.labels) == len(place.size):
                raise AssertionError("columns of other lengths")
            source.name(len(source) - 1)
            for name in names:
                _values(folder, where, name, options)
    if tall() - before > MOST_MEMORY:
        raise AssertionError(f"took {tall() - before} KiB")


def _values(folder: Path, where: Path, name: str, options: dict[str, object]) -> None:
    try:
        source = open_source(where, target=(name,), **options)
    except SourceError as error:
        one_line(error, folder)
        return
    field: Field = fields.known(source)[0]
    if field.data is None:
        files = source.locate(np.arange(len(source))).file
        inside(source, (files, field.offset, field.size), name)
    for sample in range(min(len(source), FEW)):
        try:
            fields.values(source, field, np.array([sample], np.int64))
        except SampleError as error:
            one_line(error, folder)


def tars_seeds(_: Path) -> list[bytes]:
    out = []
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
            for number in range(COUNT):
                for end, data in (
                    ("jpg", image(number)), ("txt", caption(number)), ("json", b'{"a": 1}'),
                    ("cls", b"%d" % number),
                ):  # fmt: skip
                    info = tarfile.TarInfo(f"{'ü' * 60}/{number}.{end}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        out.append(packed.getvalue())
    return out


def run_tars(folder: Path, data: bytes) -> None:
    path = folder / "x.tar"
    path.write_bytes(data)
    look(folder, path, ("txt", "json"))


def mds_seeds(_: Path) -> list[bytes]:
    columns = (
        ("caption", "str", None), ("image", "jpeg", None), ("label", "int", 8),
        ("score", "float32", 4), ("facts", "json", None),
    )  # fmt: skip
    samples = [
        (caption(n), image(n), struct.pack("<q", n), struct.pack("<f", n), b"[1]")
        for n in range(COUNT)
    ]
    index = {"version": 2, "shards": [mds_files.described("x.mds", COUNT, columns)]}
    return [json.dumps(index).encode() + b"\0" + mds_files.shard(samples, columns)]


def _indexed(folder: Path, data: bytes, name: str) -> Path:
    index, _, shard = data.partition(b"\0")
    where = folder / "data"
    where.mkdir(exist_ok=True)
    (where / "index.json").write_bytes(index)
    (where / name).write_bytes(shard)
    return where


def run_mds(folder: Path, data: bytes) -> None:
    where = _indexed(folder, data, "x.mds")
    look(folder, where, ("caption", "score", "facts", "image"), ("image", "label"))


def litdata_seeds(_: Path) -> list[bytes]:
    from tests.sources.test_litdata_table import table

    spec = of_dict(image=LEAF, label=LEAF, text=LEAF, score=LEAF)
    settings = litdata_files.config(("bytes", "int", "str", "float"), spec)
    listed = [litdata_files.described("chunk-0-0.bin", COUNT)]
    index = json.dumps({"chunks": listed, "config": settings}).encode()
    items = [
        litdata_files.item((image(n), struct.pack("<q", n), caption(n), struct.pack("<d", n)))
        for n in range(COUNT)
    ]
    rows = [
        {"image": image(n), "label": n, "text": caption(n).decode(), "score": n / 2}
        for n in range(COUNT)
    ]
    return [index + b"\0" + chunk for chunk in (litdata_files.chunk(items), table(rows, 2))]


def run_litdata(folder: Path, data: bytes) -> None:
    where = _indexed(folder, data, "chunk-0-0.bin")
    look(folder, where, ("text", "score", "label", "image", "1"), ("image", "label"))


def tfrecord_seeds(_: Path) -> list[bytes]:
    out = []
    for label in ("label", "width"):
        every = [
            {
                "image": image(n), label: n - 1, "caption": caption(n), "score": n / 2,
                "facts.json": b"[1]",
            }
            for n in range(COUNT)
        ]  # fmt: skip
        out.append(b"".join(tfrecord_files.record(tfrecord_files.example(one)) for one in every))
    return out


def signed(data: bytes) -> bytes:
    """With the checksums of the lengths that are there."""
    out, at = bytearray(data), 0
    while at + tf_records.HEAD.size <= len(out):
        length = bytes(out[at : at + 8])
        out[at + 8 : at + 12] = tf_records.masked(length).to_bytes(4, "little")
        at += tf_records.HEAD.size + int.from_bytes(length, "little") + tf_records.SUM
    return bytes(out)


def run_tfrecord(folder: Path, data: bytes) -> None:
    path = folder / "x.tfrecord"
    path.write_bytes(signed(data))
    look(folder, path, ("caption", "score", "label", "width", "facts.json"), ("image", "width"))


def lmdb_seeds(_: Path) -> list[bytes]:
    pairs = {b"image-%d" % n: image(n) for n in range(COUNT)}
    pairs |= {b"label-%d" % n: b"%d" % n for n in range(COUNT)}
    files = {b"%d.jpg" % n: image(n) for n in range(COUNT)}
    files |= {b"%d.txt" % n: caption(n) for n in range(COUNT)}
    folders = {b"%d/%d" % (n % 2, n): image(n) for n in range(40)}
    return [lmdb_files.database(items, 512) for items in (pairs, files, folders)]


def run_lmdb(folder: Path, data: bytes) -> None:
    path = folder / "x.lmdb"
    path.write_bytes(data)
    look(folder, path, ("txt", "label", "json"))


def parquet_seeds(folder: Path) -> list[bytes]:
    """Packed and not, with dictionaries and without, of both versions."""
    captions = [caption(n).decode() for n in range(COUNT)]
    images = [image(n) for n in range(COUNT)]
    of = parquet_files.table(images, list(range(COUNT)), caption=captions, boxes=[[1]] * COUNT)
    return [
        parquet_files.write(folder / "seed.parquet", of, row_group_size=2, **how).read_bytes()
        for how in (
            {}, {"compression": "none"}, {"data_page_version": "2.0", "use_dictionary": False},
        )
    ]  # fmt: skip


def run_parquet(folder: Path, data: bytes) -> None:
    path = folder / "x.parquet"
    path.write_bytes(data)
    look(folder, path, ("caption", "boxes", "label", "image"), ("image", "label"))
    with cache.nowhere(), contextlib.suppress(SourceError):
        source = open_source(path)
        for sample in range(min(len(source), FEW)):
            with contextlib.suppress(OSError):
                if len(read(source, sample)) != source.size[sample]:
                    raise AssertionError("an image of another size")


def kept_seeds(folder: Path) -> list[bytes]:
    columns = (np.array([5, 9]), np.array([4, 3]), np.array([0, 1]))
    stamp, packed = span_index.Stamp(20, 1, 1), (np.array([0, 2]), np.array([0, 70]))
    part = span_index.Part(*columns, b"a\nb", ("x", "y"), "said", "asked", stamp, *packed)
    with cache.nowhere():
        keeping = span_index.Keeping("x.index")
    keeping.add(0, "/a", part)
    keeping.add(1, "/b", part._replace(names=b"", texts=()))
    keeping.keep()
    content = os.pread(keeping.file, MOST_MEMORY, 0)
    keeping.close()
    return [content]


def run_kept(folder: Path, data: bytes) -> None:
    """The index in the user's cache: tables that are damaged are left aside, without an error, and
    so is a block, with one. The tables are sealed again, so that they may say anything.
    """
    before = tall()
    *_, at, size, text = row_file.HEADER.unpack(data[: row_file.HEADER.size].ljust(48, b"\0"))
    head = (row_file.VERSION, _native.xxh3(data[at : at + size]), at, size, text)
    path = folder / "cache" / cache.OURS / "x.index"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(row_file.HEADER.pack(row_file.MAGIC, *head) + data[row_file.HEADER.size :])
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    spans = span_index.recall(str(path))
    if spans is not None and len(spans) > 0:
        some = np.arange(min(len(spans), FEW))
        with contextlib.suppress(SourceError, UnicodeDecodeError):
            part, (offset, sizes, *_) = spans.at(some)
            limit = spans.stamps()[part, 0]
            if ((sizes != 0) & ((offset < 0) | (offset + sizes > limit))).any():
                raise AssertionError("an image outside of its file")
            spans.name(0)
        as_the_engine_reads(spans)
    if tall() - before > MOST_MEMORY:
        raise AssertionError(f"took {tall() - before} KiB")


Pair = tuple[Callable[[Path], list[bytes]], Callable[[Path, bytes], None]]
TARGETS: dict[str, Pair] = {
    "tars": (tars_seeds, run_tars),
    "mds": (mds_seeds, run_mds),
    "litdata": (litdata_seeds, run_litdata),
    "tfrecord": (tfrecord_seeds, run_tfrecord),
    "lmdb": (lmdb_seeds, run_lmdb),
    "parquet": (parquet_seeds, run_parquet),
    "kept": (kept_seeds, run_kept),
}
