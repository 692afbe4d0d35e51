"""What `fastload.open` gives for the toy format."""

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fastload.extending import Files, Location
from toy.layout import read_index

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ToySource:
    """Spans of bytes of a few files."""

    where: str
    paths: tuple[str, ...]
    keys: tuple[str, ...]
    spans: Longs  # [N, 3]: file, offset, size
    labels: Longs
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "files"}

    @cached_property
    def files(self) -> Files:
        return Files(self.paths, keep_open=True)

    def locate(self, samples: Longs) -> Location:
        file, offset, size = np.ascontiguousarray(self.spans[samples].T)
        return Location(file, offset, size, None)

    def name(self, sample: int) -> str:
        return f"{self.where}:{self.keys[sample]}"


def load(where: str) -> ToySource:
    """Raises SourceError."""
    said = read_index(where)
    keys, labels, *spans = zip(*said["samples"], strict=True)
    return ToySource(
        where,
        tuple(os.path.join(where, name) for name in said["files"]),
        keys,
        np.array(spans, np.int64).T,
        np.array(labels, np.int64),
        tuple(said["classes"]),
    )
