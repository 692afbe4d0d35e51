"""What `fastload.open` gives: a map-style data set over a source, usable anywhere;
fastload.DataLoader runs it natively.
"""

import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias, overload

import numpy as np
import torch
import torch.utils.data
from PIL import Image

from fastload.backends import masks
from fastload.errors import OpError, SampleError
from fastload.plan.pipeline import Pipeline
from fastload.sources import raw_pixels, read
from fastload.sources.views import part_of
from fastload.spec import Longs, Records
from fastload.transforms import Op, pil
from fastload.transforms.base import ImageLike

Sample: TypeAlias = ImageLike | list[ImageLike]  # a list of the views
Target: TypeAlias = Any  # a label, a mask, or what `target` names


class Dataset(torch.utils.data.Dataset[tuple[Sample, Target]]):
    """Pairs (image, label), or (image, mask), that `fastload.open` gives.

    Indexing decodes one image and applies the ops, with draws from torch's default generator.

    Args:
        pipeline: The source of the samples, and the ops; `fastload.open` makes it.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> train = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> train.classes
        ('cat', 'dog')
        >>> image, label = train[0]
        >>> image.shape
        torch.Size([3, 48, 64])
    """

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
        labels: list[int] = np.asarray(self.pipeline.source.labels).tolist()
        return labels

    @property
    def masks(self) -> tuple[str, ...]:
        """The path of each sample's mask; none where samples have labels."""
        return self.pipeline.masks.paths if self.pipeline.masks else ()

    @property
    def samples(self) -> "Samples":
        """(name, label) pairs; a name is a path, or shard and key."""
        return Samples(self.pipeline)

    def __len__(self) -> int:
        return len(self.pipeline.source)

    def __getitem__(self, index: int) -> tuple[Sample, Target]:
        """Image (PIL, or what the ops make of it; of several views a list) and label, or mask.

        Raises IndexError, SampleError.
        """
        sample = position(index, len(self))
        source = self.pipeline.source
        try:
            pixels = raw_pixels(source, sample)
            image: ImageLike = (
                pil.decode(read(source, sample)) if pixels is None else Image.fromarray(pixels)
            )
        except pil.DECODE_ERRORS as error:
            raise pil.undecodable(source.name(sample), sample, error) from error
        size, views = pil.size(image), []
        records: list[Records] = []
        for ops in self._pictures(sample):
            now, records = image, []
            try:
                for op in ops:
                    now, record = op.applied(now)
                    records.append(record)
            except OpError as error:
                raise SampleError(source.name(sample), sample, str(error)) from error
            views.append(now)
        target: Target = int(source.labels[sample])
        if self.pipeline.target:
            target = self.pipeline.target.of_one(source, sample)
        elif self.pipeline.masks:
            target = torch.from_numpy(
                masks.one(self.pipeline.masks, sample, self.pipeline.ops, records, size)
            )
        return views if self.pipeline.views else views[0], target

    def _pictures(self, sample: int) -> tuple[tuple[Op, ...], ...]:
        """The ops of each picture of a sample."""
        if not self.pipeline.by_part:
            return self.pipeline.pictures
        part = int(part_of(self.pipeline.source, np.array([sample], np.int64))[0])
        return (self.pipeline.by_part[part][1],)

    def __repr__(self) -> str:
        parts = self.pipeline.by_part or (("", self.pipeline.ops),)
        ops = "".join(
            f"\n    {name}{': ' if name else ''}{op}" for name, ops in parts for op in ops
        )
        ops += "".join(
            f"\n    view {view}: {', '.join(map(str, each))}"
            for view, each in enumerate(self.pipeline.views, start=1)
        )
        return (
            f"fastload.open({self.pipeline.source.where!r}): {len(self)} images, "
            f"{len(self.classes)} classes{ops}"
        )


class Samples(Sequence[tuple[str, int]]):
    """A view: nothing is copied, whatever the length."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.source = pipeline.source

    def __len__(self) -> int:
        return len(self.source)

    @overload
    def __getitem__(self, index: SupportsIndex) -> tuple[str, int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, int]]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> tuple[str, int] | list[tuple[str, int]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        sample = position(index, len(self))
        return self.source.name(sample), int(self.source.labels[sample])


def position(index: SupportsIndex, length: int, *, from_end: bool = True) -> int:
    """A user's index as 0..length-1. from_end: negative ones are taken, from the end.

    Raises IndexError, and TypeError for what is no integer.
    """
    sample, least = operator.index(index), -length if from_end else 0
    if not least <= sample < length:
        raise IndexError(
            f"data set: index {sample} is outside (want {least} to {length - 1}); check the sampler"
        )
    return sample % length


def _kinds(indices: Iterable[object]) -> set[object]:
    """Types of the indices; of tensors their dtypes."""
    return {one.dtype if isinstance(one, torch.Tensor) else type(one) for one in indices}


def _kind_name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def place_all(indices: Any, length: int, *, from_end: bool = True) -> Longs:
    """A batch of a user's indices as int64 [N] in 0..length-1.

    from_end: as of `position`. Where it is not, the data set calculates with the numbers, so they
    have to be int64 or Python's.

    Raises IndexError, and TypeError for what are no integers.
    """
    array = (
        np.array(indices)
        if type(indices) is list and all(type(index) is int for index in indices)
        else indices
    )
    if (
        isinstance(array, np.ndarray)
        and array.dtype == np.int64
        and array.ndim == 1
        and len(array) > 0
        and 0 <= array.min() <= array.max() < length
    ):
        # A sampler may fill its array anew while batches of it are still to be made
        return np.array(array, order="C") if array is indices else array
    if not from_end and (odd := _kinds(indices) - {int, np.int64, torch.int64}):
        raise TypeError(
            f"data set: an index of type {', '.join(sorted(map(_kind_name, odd)))} (want int), and "
            "the data set calculates with it; check the sampler"
        )
    each = [position(index, length, from_end=from_end) for index in indices]
    placed = np.array(each, np.int64)
    if not len(placed):
        raise IndexError("batch sampler: an empty batch (want 1 index or more); check the sampler")
    return placed
