"""What the tests of a plain folder's seek index share."""

import os
from pathlib import Path

import numpy as np

from fastload import _native
from fastload.conversion import indexing
from fastload.sources import open_source, seek

FILES = ["fastload.seek", "fastload.seek.arrow", "fastload.seek.arrow.xxh3"]


def index(folder, step=8, count=1):
    return indexing.run(indexing.prepare(str(folder)), step, count)


def ours(folder):
    return sorted(name for name in os.listdir(folder) if "fastload" in name)


def blobs(folder_seek, count):
    place = folder_seek.locate(np.arange(count))
    rows = zip(place.file.tolist(), place.offset.tolist(), place.size.tolist(), strict=True)
    return [place.files.read(*row) if row[2] else None for row in rows]


def want(paths, step=8):
    return [_native.jpeg_index(Path(path).read_bytes(), step) for path in paths]


def problems(folder):
    return [
        str(problem)
        for problem in seek.find_beside(open_source(folder).paths, str(folder)).problems
    ]
