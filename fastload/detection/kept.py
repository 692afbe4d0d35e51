"""The targets that `fastload convert --boxes` has kept in shards, WebDataset tars and Parquet
files: read where they lie.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch

from fastload.detection import record
from fastload.detection.data import Detection, Transforms
from fastload.detection.objects import KEYS, WITH_POINTS, Objects, checked_keys
from fastload.errors import SampleError
from fastload.files import formats
from fastload.remote.urls import is_url
from fastload.sources import Source, fields, open_source
from fastload.system import limits


def kept(
    path: str | os.PathLike[str],
    *,
    transforms: Transforms = None,
    keys: Collection[str] = KEYS,
    first_label: int = 0,
) -> Detection:
    """Images with the objects that `fastload convert --boxes` has kept beside them.

    Args:
        path: Converted shards, WebDataset tars (a folder, one, a pattern), or Parquet files.
        transforms: A function of an image and its target, such as torchvision's v2.Compose.
        keys: What a target has: of "image_id", "boxes", "labels", "masks" and "keypoints" (with
            "visible"). Masks need pycocotools, and outlines.
        first_label: Is added to each label. torchvision's models take 0 for the background, and
            want 1 here where classes are counted from 0, as YOLO's are.

    Returns:
        A data set of (image, target), with the targets of the data set that was converted.

    Raises:
        SourceError: The data set has no such objects, or is damaged.
        UsageError: An unknown key.

    Example:
        >>> from fastload import detection
        >>> from fastload.conversion import job, readers
        >>> boxes = readers.Choice(boxes="yolo")
        >>> summary = job.run(job.prepare("yolo", "kept", job.Options(), boxes))
        >>> data = detection.kept("kept", first_label=1)
        >>> data[0][1]["boxes"].tolist(), data[0][1]["labels"].tolist()
        ([[30.0, 30.0, 90.0, 60.0]], [2])
    """
    where = os.fspath(path)
    wanted = checked_keys(where, keys, WITH_POINTS)
    table = _is_table(where)
    source = open_source(where, target=record.COLUMNS if table else (record.NAME,))
    find = Kept(source, first_label)
    return Detection(source, find, transforms=transforms, classes=(), keys=wanted)


def _is_table(where: str) -> bool:
    """Whether Parquet files lie there."""
    if is_url(where):
        return where.lower().endswith(formats.SOURCES[formats.PARQUET].suffixes)
    one = formats.source_at(where)
    return one is not None and one.name == formats.PARQUET


@dataclass(frozen=True, eq=False)
class Kept:
    """The objects of an image by its number.

    Args:
        source: Has their file, or their columns, as fields.
        first: Is added to each label.
    """

    source: Source
    first: int

    def __call__(self, number: int) -> Objects:
        """Raises ValueError that says what is wrong."""
        said = {one.name: self._value(one, number) for one in fields.known(self.source)}
        whole = said.get(record.NAME) if record.NAME in said else record.of_row(said)
        return record.objects_of(record.is_object(whole), self.first)

    def _value(self, field: fields.Field, number: int) -> object:
        sample = np.array([number], np.int64)
        if problem := limits.too_many(int(field.size[sample][0]), limits.LABELS):
            raise ValueError(f"{field.name} is too large ({problem})")
        try:
            value = fields.values(self.source, field, sample)[0]
        except SampleError as error:
            raise ValueError(f"{field.name} {error.reason.removesuffix('; restore it')}") from error
        return value.item() if isinstance(value, torch.Tensor) else value
