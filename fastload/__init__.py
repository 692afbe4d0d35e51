"""fastload: the data path of vision training, without the bottleneck. `from fastload import DataLoader` is the start."""

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
    "transforms",
]
