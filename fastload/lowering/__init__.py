"""From what people have (data sets and transforms of torchvision and timm) to a pipeline; or the reasons why not."""

import os
from typing import Any

from fastload.dataset import Dataset
from fastload.lowering.chain import known_ops, lower_transform
from fastload.lowering.datasets import lower
from fastload.lowering.huggingface import from_huggingface
from fastload.lowering.marks import fingerprint
from fastload.pipeline import Pipeline
from fastload.sources import open_source

__all__ = ["fingerprint", "from_huggingface", "lower", "lower_transform", "open"]


def open(path: str | os.PathLike[str], transform: Any = None) -> Dataset:
    """The data set at `path`: a folder of classes or converted shards.

    transform: None, one fastload op, a list of them, or torchvision transforms that fastload knows (also in a Compose).
    Raises SourceError, and PipelineError for a transform that has no op.
    """
    return Dataset(Pipeline(open_source(path), known_ops(transform)))
