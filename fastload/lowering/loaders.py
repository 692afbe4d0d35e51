"""timm's loader: its collate function, and the loader around it that normalises on the device."""

import copy
import sys
from typing import Any

import torch.utils.data

from fastload.errors import PipelineError
from fastload.lowering.names import is_a
from fastload.pipeline import Pipeline
from fastload.plan import place

TIMM = "timm.data.loader"


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


def is_around(loader: Any) -> bool:
    """Whether it is timm's PrefetchLoader, around a loader of images."""
    return is_a(loader, TIMM, "PrefetchLoader")


def around(loader: Any, inner: Any) -> Any:
    """The same PrefetchLoader around another loader."""
    out = copy.copy(loader)
    out.loader = inner
    return out
