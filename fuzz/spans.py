"""Fuzz targets for the formats that are opened in place, whose samples are spans of files: opening,
with values beside the images, gives spans inside of the files, or the typed error.

What reads one file gets each input (fuzz/parts.py). One in SHARE is opened as a data set besides,
which takes a hundred times as long: its own bytes choose, so what was found is found again. The
input of a format with an index is that JSON, a zero byte, and a shard. fuzz/readers.py runs these.
"""

import contextlib
import os
import resource
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fastload import _native
from fastload.errors import SampleError, SourceError
from fastload.files import cache
from fastload.sources import fields, open_source, row_file, span_index
from fastload.sources.base import read
from fastload.sources.fields import Field
from fuzz import parts, span_seeds
from fuzz.parts import one_line
from fuzz.places import FEW, as_the_engine_reads, inside

SHARE = 256  # inputs of which one is opened
MOST_MEMORY = 64 << 10  # KiB that one input may add to what the process has had


def tall() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def look(
    folder: Path, where: Path, names: Sequence[str], chosen: tuple[str, str] | None = None
) -> None:
    """Open what is there, with each of the values, and read those of the first samples."""
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


def open_tars(folder: Path, data: bytes) -> None:
    path = folder / "x.tar"
    path.write_bytes(data)
    look(folder, path, ("txt", "json"))


def _indexed(folder: Path, data: bytes, name: str) -> Path:
    index, _, shard = data.partition(b"\0")
    where = folder / "data"
    where.mkdir(exist_ok=True)
    (where / "index.json").write_bytes(index)
    (where / name).write_bytes(shard)
    return where


def open_mds(folder: Path, data: bytes) -> None:
    where = _indexed(folder, data, "x.mds")
    look(folder, where, ("caption", "score", "facts", "image"), ("image", "label"))


def open_litdata(folder: Path, data: bytes) -> None:
    where = _indexed(folder, data, "chunk-0-0.bin")
    look(folder, where, ("text", "score", "label", "image", "1"), ("image", "label"))


def open_tfrecord(folder: Path, data: bytes) -> None:
    path = folder / "x.tfrecord"
    path.write_bytes(parts.signed(data))
    look(folder, path, ("caption", "score", "label", "width", "facts.json"), ("image", "width"))


def open_lmdb(folder: Path, data: bytes) -> None:
    path = folder / "x.lmdb"
    path.write_bytes(data)
    look(folder, path, ("txt", "label", "json"))


def open_parquet(folder: Path, data: bytes) -> None:
    path = folder / "x.parquet"
    path.write_bytes(data)
    look(folder, path, ("caption", "boxes", "label", "image"), ("image", "label"))
    with cache.nowhere(), contextlib.suppress(SourceError):
        source = open_source(path)
        for sample in range(min(len(source), FEW)):
            with contextlib.suppress(OSError):
                if len(read(source, sample)) != source.size[sample]:
                    raise AssertionError("an image of another size")


def run_kept(folder: Path, data: bytes) -> bool:
    """The index in the user's cache: tables that are damaged are left aside, without an error, and
    so is a block, with one. The tables are sealed again, so that they may say anything.
    """
    *_, at, size, text = row_file.HEADER.unpack(data[: row_file.HEADER.size].ljust(48, b"\0"))
    head = (row_file.VERSION, _native.xxh3(data[at : at + size]), at, size, text)
    path = folder / "cache" / cache.OURS / "x.index"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(row_file.HEADER.pack(row_file.MAGIC, *head) + data[row_file.HEADER.size :])
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    spans = span_index.recall(str(path))
    if spans is None:
        return False
    if len(spans) > 0:
        some = np.arange(min(len(spans), FEW))
        with contextlib.suppress(SourceError, UnicodeDecodeError):
            part, (offset, sizes, *_) = spans.at(some)
            limit = spans.stamps()[part, 0]
            if ((sizes != 0) & ((offset < 0) | (offset + sizes > limit))).any():
                raise AssertionError("an image outside of its file")
            spans.name(0)
        as_the_engine_reads(spans)
    return True


Run = Callable[[Path, bytes], bool]


def target(run: Run, opens: Callable[[Path, bytes], None] | None = None) -> Run:
    """What is done with an input: whether it was taken whole."""

    def both(folder: Path, data: bytes) -> bool:
        before = tall()
        taken = run(folder, data)
        if opens is not None and parts.Draw(data).one_in(SHARE):
            opens(folder, data)
        if tall() - before > MOST_MEMORY:
            raise AssertionError(f"took {tall() - before} KiB")
        return taken

    return both


OPENS = {
    "tars": open_tars, "mds": open_mds, "litdata": open_litdata, "tfrecord": open_tfrecord,
    "lmdb": open_lmdb, "parquet": open_parquet,
}  # fmt: skip
RUNS: dict[str, Run] = {
    "tars": parts.run_tars, "mds": parts.run_mds, "litdata": parts.run_litdata,
    "tfrecord": parts.run_tfrecord, "lmdb": parts.run_lmdb, "parquet": parts.run_parquet,
    "chunk": parts.run_chunk, "kept": run_kept,
}  # fmt: skip
TARGETS = {
    name: (getattr(span_seeds, name), target(run, OPENS.get(name))) for name, run in RUNS.items()
}
