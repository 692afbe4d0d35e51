"""Fuzz targets of converted shards' index, and what the other targets make their input of."""

import os
import shutil
from pathlib import Path

import numpy as np

from fastload import _native
from fastload.conversion import job
from fastload.errors import SourceError
from fastload.sources import arrow, shard_index, shard_rows, shards, sums
from tests.conftest import encoded, textured

LEAF = {
    "a/0.jpg": (5, 9),
    "b/1.jpg": (6, 8),
    "b/2.jpg": (17, 33),
}  # px of the images of a small folder


def put(path: Path, content: bytes, *, signed: bool = False) -> None:
    path.write_bytes(content)
    if signed:
        path.with_name(path.name + arrow.SUFFIX).write_bytes(arrow.sum_line(_native.xxh3(content)))


def refused(error: Exception, where: object) -> None:
    """Every line of the error names a file below `where`."""
    for line in str(error).splitlines():
        if not line.startswith(str(where)):
            raise AssertionError(f"a line without its path: {line!r}") from error


def folder_of_images(root: Path) -> Path:
    for number, (name, (height, width)) in enumerate(LEAF.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(textured(height, width, number), quality=80))
    return root


def made(folder: Path) -> Path:
    root = folder_of_images(folder / "images")
    job.run(job.prepare(str(root), str(folder / "out"), job.Options(workers=1)))
    return folder / "out"


def arrow_seeds(folder: Path) -> list[bytes]:
    return [(made(folder) / shard_index.INDEX).read_bytes()]


def run_arrow(folder: Path, data: bytes) -> bool:
    put(folder / "out" / shard_index.INDEX, data, signed=True)
    return looked_at(folder)


def looked_at(folder: Path) -> bool:
    try:
        source = shards.load(str(folder / "out"))
    except SourceError as error:
        refused(error, folder)
        return False
    every = np.arange(len(source))
    place = source.locate(every)
    if not (len(place.file) == len(source.labels) == len(every)) or min(source.labels) < 0:
        raise AssertionError("columns of other lengths")
    for row in every[:10].tolist():
        source.name(row), source.index.format(row)
    return True


def run_groups(folder: Path, data: bytes) -> bool:
    """As a large index, which is gone over in groups: those of its blocks fit as well."""
    (folder / "out" / shard_index.INDEX).write_bytes(data)
    (folder / "out" / shard_index.SUM).write_bytes(sums.text(data))
    shutil.rmtree(folder / "cache", ignore_errors=True)
    small, shard_rows.SMALL = shard_rows.SMALL, 0
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    try:
        return looked_at(folder)
    finally:
        shard_rows.SMALL = small


TARGETS = {"arrow": (arrow_seeds, run_arrow), "groups": (arrow_seeds, run_groups)}
