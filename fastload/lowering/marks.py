"""Whether a data set is still what it was when its loader looked at it."""

from typing import Any

from torch.utils.data import ConcatDataset, Subset

from fastload.lowering import arrays
from fastload.lowering.chain import lower_transform

WATCHED = (
    "transform", "target_transform", "transforms", "loader", "pipeline", "reader", "samples", "_samples", "imgs", "data", "indices",
    "_image_files", "_labels", "_images", "labels", "targets", "_target_types", "dataset", "datasets",
)  # fmt: skip


def fingerprint(dataset: Any) -> tuple[Any, ...]:
    """Changes when someone swaps a data set's transform, loader or samples, or a transform's argument, after the loader was made."""
    held = getattr(dataset, "__dict__", {})
    values = [held.get(name) for name in WATCHED]
    lengths = tuple(len(value) for value in values if isinstance(value, (list, tuple)))
    transform = held.get("transform")
    inner = [held["dataset"]] if type(dataset) is Subset else held["datasets"] if type(dataset) is ConcatDataset else []
    parts = tuple(fingerprint(part) for part in inner)
    return (*map(id, values), lengths, _labels(dataset), *map(id, _chained(transform)), lower_transform(transform), *parts)


def _chained(transform: Any) -> list[Any]:
    """What a Compose holds. A class of the user's may call anything `transforms`, so its code is not run and no iterator used up."""
    held = getattr(transform, "__dict__", {}).get("transforms", ())
    return list(held) if isinstance(held, (list, tuple)) else [held]


def _labels(dataset: Any) -> int:
    """Labels in memory are often made noisy in place."""
    try:
        return hash(arrays.labels(dataset).tobytes()) if arrays.knows(dataset) else 0
    except (TypeError, ValueError, AttributeError, LookupError, RuntimeError):
        return 0  # what has no labels is not lowered
