"""fastload: the data path of vision training, without the bottleneck. `from fastload import DataLoader` is the start."""

from typing import Any

from fastload import transforms
from fastload.dataset import Dataset
from fastload.errors import (
    BackendError,
    ConversionError,
    FastloadError,
    PipelineError,
    SampleError,
    SourceError,
    UsageError,
)
from fastload.loader import DataLoader, accelerate
from fastload.lowering import open
from fastload.samplers import ShuffleSampler

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "ConversionError",
    "DataLoader",
    "Dataset",
    "FastloadError",
    "PipelineError",
    "SampleError",
    "ShuffleSampler",
    "SourceError",
    "UsageError",
    "accelerate",
    "open",
    "profile",
    "transforms",
]


def __getattr__(name: str) -> Any:
    """`fastload.profile` is imported on use: training programs do not need it."""
    if name == "profile":
        from fastload.profiler import profile

        return profile
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
