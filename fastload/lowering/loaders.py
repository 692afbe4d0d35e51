"""Loaders around loaders: timm's, which normalises on the device (and its collate function), and Accelerate's."""

import copy
import sys
from typing import Any

import torch.utils.data

from fastload.errors import PipelineError
from fastload.lowering.names import is_a
from fastload.pipeline import Pipeline
from fastload.plan import place

TIMM, ACCELERATE = "timm.data.loader", "accelerate.data_loader"


def stacks(collate_fn: Any, pipeline: Pipeline | None) -> bool:
    """Whether the function makes of the pipeline's images and labels what the native engine makes of them."""
    if collate_fn is torch.utils.data.default_collate:
        return True
    if pipeline is None or collate_fn is not getattr(sys.modules.get(TIMM), "fast_collate", None):
        return False
    try:
        return place(pipeline.ops)[1].dtype == "uint8"  # what it casts to
    except PipelineError:
        return False


def inside(loader: Any) -> Any:
    """PyTorch's loader inside timm's PrefetchLoader or inside what Accelerator.prepare made; None for any other loader."""
    if is_a(loader, TIMM, "PrefetchLoader"):
        return loader.loader
    return loader.base_dataloader if is_a(loader, ACCELERATE, "DataLoaderShard") else None


def around(loader: Any, inner: Any) -> Any:
    """The same PrefetchLoader around another loader; of Accelerate's the very object, which its Accelerator knows."""
    if is_a(loader, ACCELERATE, "DataLoaderShard"):
        loader.base_dataloader = inner
        return loader
    out = copy.copy(loader)
    out.loader = inner
    return out
