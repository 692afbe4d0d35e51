"""From what people have (data sets and transforms of torchvision and timm) to a pipeline; or the reasons why not."""

import os
from typing import Any

from fastload.dataset import Dataset
from fastload.errors import PipelineError
from fastload.lowering.chain import lower_transform
from fastload.lowering.datasets import lower
from fastload.lowering.marks import fingerprint
from fastload.pipeline import Pipeline
from fastload.sources import open_source
from fastload.transforms import Op

__all__ = ["fingerprint", "lower", "lower_transform", "open"]


def open(path: str | os.PathLike[str], transform: Any = None, *, fields: tuple[str, str] | None = None) -> Dataset:
    """The data set at `path`: a folder of classes, converted shards, or an FFCV file (.beton).

    fields: of an FFCV file, the names of the fields with images and with integer labels; None takes the first of each.
    transform: None, one fastload op, a list of them, or torchvision transforms that fastload knows (also in a Compose).
    Raises SourceError, and PipelineError for a transform that has no op.
    """
    return Dataset(Pipeline(open_source(path, fields), known_ops(transform)))


def known_ops(transform: Any) -> tuple[Op, ...]:
    """Raises PipelineError."""
    ops, reasons = lower_transform(transform)
    if reasons:
        raise PipelineError(f"transform: {reason}" for reason in reasons)
    return ops
