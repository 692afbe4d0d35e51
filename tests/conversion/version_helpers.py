"""Folders that grow by small images, and what a data set of shards says of itself."""

import hashlib
import os
from pathlib import Path

from fastload.conversion.options import Options
from fastload.conversion.versions import job
from fastload.sources import open_source
from tests.conversion.conftest import encode, write_tree


def one(number):
    """A small image that is no other's: every third is a PNG, which has no seek index."""
    return encode(9 + number % 7, 13, number, format="PNG" if number % 3 == 2 else "JPEG")


def folder(root, numbers, name="c"):
    """Images NAME/000.jpg, …, one for each number."""
    return write_tree(Path(root), {f"{name}/{number:03d}.jpg": one(number) for number in numbers})


def options(**how):
    """Each sample alone in its shard, unless told otherwise."""
    return Options(**{"workers": 1, "shard_bytes": 1024, **how})


def append(source, target, delete=(), meter=None, **how):
    meters = {} if meter is None else {"meter": meter}
    return job.append(str(source), str(target), options(**how), delete=delete, **meters)


def keys(where, version=None):
    index = open_source(where, version=version).index
    return [index.key(row) for row in range(len(index))]


def prints(where):
    """A hash of every file of a data set, by its name."""
    return {
        name: hashlib.sha256((Path(where) / name).read_bytes()).hexdigest()
        for name in sorted(os.listdir(where))
    }


def parts(count, each):
    """0 to count - 1, so many at a time."""
    return [range(at, min(at + each, count)) for at in range(0, count, each)]
