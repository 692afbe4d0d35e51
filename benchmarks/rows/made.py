"""A data set of so many rows, few of whose images are different ones.

It looks like MDS shards: index.json, and a file for each EACH images. All files are hard links to a
few with the same DIFFERENT JPEGs, one after the other, and nothing else is in them. So the images
lie in the page cache. The index in the user's cache, which a first look would have left, is whole
and real: for each file EACH rows of a place, a size and a random class.
"""

import functools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fastload import demo_images
from fastload.sources import mds, mds_index, span_index
from fastload.sources.span_index import Keeping, Part, Stamp

EACH, DIFFERENT, CLASSES = 10_000, 250, 1000
MOST_LINKS = 50_000  # of one file, of which file systems allow 65,000
COLUMNS = {"image": ("jpeg", None), "label": ("int", 8)}


class Made(NamedTuple):
    where: Path  # the data set
    cache: Path  # what XDG_CACHE_HOME is to be
    index: Path
    bytes: int  # of the index


@functools.cache
def few_images(count: int) -> list[bytes]:
    return [demo_images.one_image(number, seed=0)[0] for number in range(count)]


def make(folder: Path, rows: int) -> Made:
    """Below `folder`, where nothing is yet; links and an index."""
    where, cache = folder / "data", folder / "cache"
    where.mkdir(parents=True)
    cache.mkdir(mode=0o700)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    images = few_images(DIFFERENT)
    counts = [min(EACH, rows - at) for at in range(0, rows, EACH)]
    names = [f"shard.{number:06d}.mds" for number in range(len(counts))]
    linked(where, names, b"".join(images))
    encodings, sizes = zip(*COLUMNS.values(), strict=True)
    shards = [
        {
            "format": "mds", "version": 2, "samples": count, "compression": None,
            "raw_data": {"basename": name}, "column_names": list(COLUMNS),
            "column_encodings": encodings, "column_sizes": sizes,
        }
        for name, count in zip(names, counts, strict=True)
    ]  # fmt: skip
    (where / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    index = _index(where, np.array([len(image) for image in images]))
    return Made(where, cache, index, index.stat().st_size)


def linked(where: Path, names: Sequence[str], content: bytes) -> None:
    """Files of these names, all with this content, which takes room for a few."""
    for number, name in enumerate(names):
        first = where / names[number // MOST_LINKS * MOST_LINKS]
        if number % MOST_LINKS:
            os.link(first, where / name)
        else:
            first.write_bytes(content)


def _index(where: Path, sizes: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Path:
    """As the first look would have left it."""
    index, rng = span_index.path_of("mds", str(where)), np.random.default_rng(0)
    begins = np.cumsum(sizes) - sizes
    keeping = Keeping(index)
    for number, shard in enumerate(mds_index.shards_of(str(where))):
        asked = mds_index.asked_of(shard, mds.fields_of(shard, None))
        facts = os.stat(shard.path)
        image = np.sort(rng.integers(0, DIFFERENT, shard.samples))
        label = rng.integers(0, CLASSES, shard.samples)
        stamp = Stamp(facts.st_size, facts.st_mtime_ns, facts.st_ino)
        part = Part(begins[image], sizes[image], label, asked=asked, stamp=stamp)
        keeping.add(number, os.path.abspath(shard.path), part)
    keeping.keep()
    os.fsync(keeping.file)
    keeping.close()
    return Path(index)
