"""timm's loader: its collate function, its worker start, and the loader around it that normalises on the device."""

import copy
import functools
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


def only_seeds(worker_init_fn: Any) -> bool:
    """Whether all that the function does is to seed what no native op asks."""
    if not isinstance(worker_init_fn, functools.partial) or worker_init_fn.args:
        return False
    known = getattr(sys.modules.get(TIMM), "_worker_init", None)
    return worker_init_fn.func is known and worker_init_fn.keywords in ({"worker_seeding": "all"}, {"worker_seeding": "part"})


def is_around(loader: Any) -> bool:
    """Whether it is timm's PrefetchLoader, around a loader of images."""
    return is_a(loader, TIMM, "PrefetchLoader")


def around(loader: Any, inner: Any) -> Any:
    """The same PrefetchLoader around another loader."""
    out = copy.copy(loader)
    out.loader = inner
    return out


def iterates_itself(loader: Any) -> bool:
    """Whether a subclass of torch's DataLoader has replaced what this package would replace too."""
    return is_a(loader, TIMM, "MultiEpochsDataLoader")
