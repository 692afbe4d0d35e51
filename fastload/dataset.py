"""What `fastload.open` gives: a map-style data set over a source, usable anywhere; fastload.DataLoader runs it natively."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch.utils.data

from fastload.errors import SampleError
from fastload.pipeline import Pipeline
from fastload.sources import read
from fastload.spec import Longs
from fastload.transforms import pil


class Dataset(torch.utils.data.Dataset[tuple[Any, int]]):
    """Pairs (image, label). Indexing decodes one image and applies the ops, with draws from torch's default generator."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @property
    def classes(self) -> tuple[str, ...]:
        return self.pipeline.source.classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int]:
        return [int(label) for label in self.pipeline.source.labels]

    @property
    def samples(self) -> "Samples":
        """(name, label) pairs; a name is a path, or shard and key."""
        return Samples(self.pipeline)

    def __len__(self) -> int:
        return len(self.pipeline.source)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        """Image (PIL, or what the ops make of it) and label. Raises IndexError, SampleError."""
        sample = place(index, len(self))
        source = self.pipeline.source
        try:
            image: Any = pil.decode(read(source, sample))
        except pil.DECODE_ERRORS as error:
            raise SampleError(source.name(sample), sample, f"cannot be decoded ({error}); mend or remove the file") from error
        for op in self.pipeline.ops:
            image = op(image)
        return image, int(source.labels[sample])

    def __repr__(self) -> str:
        ops = "".join(f"\n    {op}" for op in self.pipeline.ops)
        return f"fastload.open({self.pipeline.source.where!r}): {len(self)} images, {len(self.classes)} classes{ops}"


class Samples(Sequence[tuple[str, int]]):
    """A view: nothing is copied, whatever the length."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.source = pipeline.source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        sample = place(index, len(self))
        return self.source.name(sample), int(self.source.labels[sample])


def place(index: Any, length: int) -> int:
    """A user's index as 0..length-1, negative ones from the end. Raises IndexError, and TypeError for what is no integer."""
    sample = operator.index(index)
    if not -length <= sample < length:
        raise IndexError(f"data set: index {sample} is outside (want -{length} to {length - 1}); check the sampler")
    return sample % length


def place_all(indices: Any, length: int) -> Longs:
    """A batch of a user's indices as int64 [N] in 0..length-1. Raises IndexError, and TypeError for what are no integers."""
    whole = isinstance(indices, np.ndarray) and indices.dtype == np.int64 and indices.ndim == 1 and len(indices) > 0
    if whole and 0 <= indices.min() <= indices.max() < length:
        return np.ascontiguousarray(indices)
    placed = np.array([place(index, length) for index in indices], np.int64)
    if not len(placed):
        raise IndexError("batch sampler: an empty batch (want 1 index or more); check the sampler")
    return placed
