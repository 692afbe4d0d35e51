"""Data sets with captions and other values beside their images, for tests."""

import json
import tarfile

import numpy as np
import pytest

import fastload
from fastload import transforms as T
from fastload.errors import SourceError
from tests.conftest import encoded, textured
from tests.sources.tar_helpers import put
from tests.unit import mds_files

COUNT = 14
OPS = [T.RandomResizedCrop((20, 28)), T.ToImage()]


def caption(number):
    return f"a picture of { {0: 'Zürich', 1: '猫', 2: ''}.get(number % 3) } no. {number}"


def facts(number):
    return {"caption": caption(number), "aesthetic": number / 7, "tags": ["x"] * (number % 3)}


def members(numbers, lacking=()):
    for number in numbers:
        yield f"{number:05}.jpg", encoded(textured(40 + number, 60, number))
        if number not in lacking:
            yield f"{number:05}.txt", caption(number).encode()
        yield f"{number:05}.json", json.dumps(facts(number)).encode()
        yield f"{number:05}.cls", str(number % 4).encode()
        yield f"{number:05}.vector.npy", bytes([number]) * 5


def write(root, **named):
    root.mkdir()
    for first in range(0, COUNT, 5):
        numbers = range(first, min(first + 5, COUNT))
        put(root / f"{first:03}.tar", members(numbers, **named), tarfile.GNU_FORMAT)
    return str(root)


def write_mds(root):
    """Without a label, as caption data sets are."""
    columns = (
        ("jpg", "bytes", None), ("txt", "str", None), ("json", "json", None),
        ("score", "float32", 4), ("pickled", "pkl", None),
    )  # fmt: skip
    shards, listed = {}, []
    for first in range(0, COUNT, 5):
        samples = [
            (
                encoded(textured(40 + n, 60, n)), caption(n).encode(),
                json.dumps(facts(n)).encode(), np.float32(n / 2).tobytes(), b"x",
            )
            for n in range(first, min(first + 5, COUNT))
        ]  # fmt: skip
        name = f"shard.{first:05}.mds"
        shards[name] = mds_files.shard(samples, columns)
        listed.append(mds_files.described(name, len(samples), columns))
    return str(mds_files.write(root, shards, listed))


def loader(data, batch_size=4, **named):
    settings = {"shuffle": True, "seed": 2, "num_workers": 1} | named
    return fastload.DataLoader(data, batch_size, **settings)


def refused(where, target):
    with pytest.raises(SourceError) as error:
        fastload.open(where, OPS, target=target)
    return str(error.value)
