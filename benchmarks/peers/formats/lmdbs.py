"""LMDB as PyTorch programs read it: a data set of one's own over the package lmdb.

`python -m benchmarks.peers.formats.lmdbs FOLDER OUT` writes the database.
"""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lmdb
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from benchmarks.peers import torches

SIZE = 64 << 30  # bytes that the database may have


class Images(Dataset[tuple[Any, int]]):
    """Opened in each worker, as lmdb asks for."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.path, self.ops, self.count = spec["data"], torches.pil(spec), spec["images"]
        self.opened: Any = None

    def __len__(self) -> int:
        return int(self.count)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if self.opened is None:
            self.opened = lmdb.open(self.path, readonly=True, lock=False, readahead=False)
        with self.opened.begin() as reading:
            raw = reading.get(b"image-%09d" % index)
            label = int(reading.get(b"label-%09d" % index))
        return self.ops(Image.open(io.BytesIO(raw)).convert("RGB")), label


def make(spec: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    torch.manual_seed(0)
    loader = DataLoader(
        Images(spec), spec["batch_size"], shuffle=True, num_workers=spec["workers"],
        persistent_workers=True,
    )  # fmt: skip
    return lambda: (images for images, _ in loader)


def write(folder: str, out: str) -> None:
    number = 0
    with lmdb.open(out, map_size=SIZE) as opened:
        for label, of_class in enumerate(sorted(Path(folder).iterdir())):
            for file in sorted(of_class.iterdir()):
                with opened.begin(write=True) as writing:
                    writing.put(b"image-%09d" % number, file.read_bytes())
                    writing.put(b"label-%09d" % number, b"%d" % label)
                number += 1


if __name__ == "__main__":
    write(*sys.argv[1:])
