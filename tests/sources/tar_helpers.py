"""Tars as people have them, and folders with the same images."""

import io
import os
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fastload
from fastload.errors import FastloadError
from fastload.sources import open_source, read
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.conftest import encoded, textured

OPS = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]
KINDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("jpg", "JPEG", {"quality": 90, "subsampling": 2}),
    ("jpeg", "JPEG", {"progressive": True}),
    ("png", "PNG", {}),
    ("JPG", "JPEG", {"subsampling": 0, "optimize": True}),
    ("webp", "WEBP", {"lossless": True}),
)


def image(number: int) -> tuple[str, bytes]:
    """Extension and bytes; images that follow each other have other kinds and sizes."""
    extension, kind, options = KINDS[number % len(KINDS)]
    return extension, encoded(textured(40 + number, 61 - number % 7, number), kind, **options)


def put(path: Path | str, members: Iterable[tuple[str, bytes]], format: int) -> str:
    with tarfile.open(path, "w", format=format) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


def sample(key: str, number: int, label: str | None = None) -> list[tuple[str, bytes]]:
    """The members of one."""
    extension, data = image(number)
    beside = [] if label is None else [(f"{key}.cls", label.encode())]
    return [(f"{key}.{extension}", data), *beside]


def folder_of(root: Path, count: int, classes: int) -> str:
    """ROOT/CLASS/NUMBER.EXT; sample n of the data set is image(n)."""
    for number in range(count):
        extension, data = image(number)
        place = root / f"{number * classes // count}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:04d}.{extension}").write_bytes(data)
    return str(root)


def tars_of(
    root: Path,
    count: int,
    classes: int,
    each: int,
    key: Callable[[int], str] = "{:09d}".format,
    format: int = tarfile.GNU_FORMAT,
) -> str:
    """The same samples with labels, `each` to a tar."""
    root.mkdir(parents=True, exist_ok=True)
    for first in range(0, count, each):
        members = [
            member
            for number in range(first, min(first + each, count))
            for member in sample(key(number), number, str(number * classes // count))
        ]
        put(root / f"{first // each:05d}.tar", members, format)
    return str(root)


def contents(where: Any) -> list[tuple[int, bytes]]:
    source = open_source(where)
    return [(int(source.labels[n]), read(source, n)) for n in range(len(source))]


def batches(where: Any, epochs: int = 2, **options: Any) -> list[torch.Tensor]:
    data = fastload.open(where, OPS) if isinstance(where, (str, os.PathLike)) else where
    settings = {"shuffle": "sampler" not in options, "seed": 3, "num_workers": 2} | options
    loader = fastload.DataLoader(data, 4, backend="native", **settings)
    return [part for _ in range(epochs) for batch in loader for part in batch]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) > 0 and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def refused(where: Any) -> str:
    with pytest.raises(FastloadError) as error:
        open_source(where)
    return str(error.value)


def forged(header: bytes | bytearray, size: bytes) -> bytes:
    """A header with another size field, and the checksum that fits."""
    changed = bytearray(header)
    changed[124:136] = size
    changed[148:156] = b" " * 8
    changed[148:156] = b"%06o\0 " % int(np.sum(changed, dtype=np.int64))
    return bytes(changed)
