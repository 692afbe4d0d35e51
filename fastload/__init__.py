"""fastload: the data path of vision training, without the bottleneck. `from fastload import
DataLoader` is the start.

Names are imported on use, so that `fastload doctor` can report even where the native extension is
missing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastload import detection, image, metrics, progressive, transforms
    from fastload.cli.diagnosis import doctor
    from fastload.dataset import Dataset
    from fastload.errors import (
        BackendError,
        BadSamplesError,
        BadSamplesWarning,
        CacheError,
        ConversionError,
        DeviceError,
        DeviceMemoryError,
        FallbackWarning,
        FastloadError,
        HostMemoryError,
        MetricsError,
        ObjectChangedError,
        OpError,
        PipelineError,
        SampleError,
        SourceError,
        StoreAccessError,
        StoreError,
        StoreTimeoutError,
        UsageError,
    )
    from fastload.loader import DataLoader, accelerate
    from fastload.loader.padded import Padded
    from fastload.lowering import from_huggingface, open
    from fastload.mixes import mix
    from fastload.order.batches import PixelBatchSampler
    from fastload.order.buckets import BucketSampler
    from fastload.order.distributed import DistributedSampler
    from fastload.order.samplers import ShuffleSampler
    from fastload.order.tokens import TokenSampler
    from fastload.profiler import profile, watch
    from fastload.progressive import ProgressiveResize
    from fastload.sheets.inline import show

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "BadSamplesError",
    "BadSamplesWarning",
    "BucketSampler",
    "CacheError",
    "ConversionError",
    "DataLoader",
    "Dataset",
    "DeviceError",
    "DeviceMemoryError",
    "DistributedSampler",
    "FallbackWarning",
    "FastloadError",
    "HostMemoryError",
    "MetricsError",
    "ObjectChangedError",
    "OpError",
    "Padded",
    "PipelineError",
    "PixelBatchSampler",
    "ProgressiveResize",
    "SampleError",
    "ShuffleSampler",
    "SourceError",
    "StoreAccessError",
    "StoreError",
    "StoreTimeoutError",
    "TokenSampler",
    "UsageError",
    "accelerate",
    "detection",
    "doctor",
    "from_huggingface",
    "image",
    "metrics",
    "mix",
    "open",
    "profile",
    "progressive",
    "show",
    "transforms",
    "watch",
]

_HOMES = {
    "BucketSampler": "order.buckets",
    "DataLoader": "loader",
    "Dataset": "dataset",
    "DistributedSampler": "order.distributed",
    "Padded": "loader.padded",
    "PixelBatchSampler": "order.batches",
    "ProgressiveResize": "progressive",
    "ShuffleSampler": "order.samplers",
    "TokenSampler": "order.tokens",
    "accelerate": "loader",
    "doctor": "cli.diagnosis",
    "from_huggingface": "lowering",
    "mix": "mixes",
    "open": "lowering",
    "profile": "profiler",
    "show": "sheets.inline",
    "watch": "profiler",
}


def __getattr__(name: str) -> Any:
    if name in ("detection", "image", "metrics", "progressive", "transforms"):
        return importlib.import_module(f"fastload.{name}")
    if name not in __all__:
        from fastload.errors import unknown_name

        raise unknown_name(__name__, name, __all__)
    value = getattr(importlib.import_module(f"fastload.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value  # found at once from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
