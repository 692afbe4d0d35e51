"""Loaders around loaders: timm's, which normalises on the device (and its collate function), and
Accelerate's.
"""

import copy
import sys
from types import FunctionType
from typing import Any

import torch
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from fastload.errors import PipelineError
from fastload.lowering import reach
from fastload.lowering.codes import library
from fastload.lowering.names import Reasons, attribute, is_a
from fastload.plan.pipeline import Pipeline
from fastload.plan.steps import infer_specs

COLLATE = "torch.utils.data._utils.collate"
TIMM, ACCELERATE = "timm.data.loader", "accelerate.data_loader"


def stacks(collate_fn: object, pipeline: Pipeline | None) -> bool:
    """Whether the function makes of the pipeline's images and labels what the native engine makes
    of them.
    """
    if reach.is_function(collate_fn, COLLATE, "default_collate"):
        return True
    # Timm's makes one tensor of a tuple of views.
    if (
        pipeline is None
        or pipeline.views
        or pipeline.form is not None
        or collate_fn is not getattr(sys.modules.get(TIMM), "fast_collate", None)
    ):
        return False
    try:
        return infer_specs(pipeline.ops)[1].dtype == "uint8"  # what it casts to
    except PipelineError:
        return False


def patched(collate_fn: object) -> Reasons:
    """What was patched or set in PyTorch's way to make batches, and native batches would ignore."""
    reasons = list(reach.changed(_MapDatasetFetcher))
    if type(collate_fn) is FunctionType and library(collate_fn.__globals__.get("__name__")):
        reasons += reach.changed(collate_fn)
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    if getattr(helpers, "_TORCHFUNCTION_SUBCLASS", False):
        reasons.append("batches are tv_tensors (torchvision.tv_tensors.set_return_type)")
    device = torch.get_default_device()
    if device.type != "cpu":
        reasons.append(
            f"labels are made on {device} (torch.set_default_device), natively on the CPU"
        )
    return reasons


def inside(loader: object) -> object:
    """PyTorch's loader inside timm's PrefetchLoader or inside what Accelerator.prepare made; None
    for any other loader.
    """
    if is_a(loader, TIMM, "PrefetchLoader"):
        return attribute(loader, "loader")
    return (
        attribute(loader, "base_dataloader")
        if is_a(loader, ACCELERATE, "DataLoaderShard")
        else None
    )


def around(loader: Any, inner: object) -> object:
    """The same PrefetchLoader around another loader; of Accelerate's the very object, which its
    Accelerator knows.
    """
    if is_a(loader, ACCELERATE, "DataLoaderShard"):
        loader.base_dataloader = inner
        return loader
    out = copy.copy(loader)
    out.loader = inner
    return out
