"""From what people have (torchvision data sets and transforms) to a pipeline; or the reasons why not.

A class is recognised by identity, never by name or inheritance, so that an overridden method is never ignored.
"""

import os
import sys
from typing import Any

import numpy as np

from fastload import lowering_ops, transforms
from fastload.dataset import Dataset
from fastload.errors import PipelineError
from fastload.lowering_ops import Reasons, type_name
from fastload.pipeline import Pipeline
from fastload.sources import FileSource, open_source, seek
from fastload.transforms import Op


def lower(dataset: Any) -> tuple[Pipeline | None, Reasons]:
    """The pipeline that `dataset` describes, or every reason why it is not known to be one."""
    if type(dataset) is Dataset:
        return dataset.pipeline, []
    folder = _torchvision("torchvision.datasets.folder")
    if folder is None or type(dataset) is not folder.ImageFolder:
        return None, [f"data set {type_name(dataset)} is not one that fastload reads (want torchvision's ImageFolder or fastload.open)"]
    return _image_folder(dataset, folder)


def open(path: str | os.PathLike[str], transform: Any = None) -> Dataset:
    """The data set at `path`: a folder of classes or converted shards.

    transform: None, one fastload op, a list of them, or torchvision transforms that fastload knows (also in a Compose).
    Raises SourceError, and PipelineError for a transform that has no op.
    """
    ops, reasons = lower_transform(transform)
    if reasons:
        raise PipelineError(f"transform: {reason}" for reason in reasons)
    return Dataset(Pipeline(open_source(path), ops))


def fingerprint(dataset: Any) -> tuple[Any, ...]:
    """Changes when someone swaps a data set's transform, loader or samples after the loader was made."""
    watched = ("transform", "target_transform", "transforms", "loader", "samples", "pipeline")
    held = getattr(dataset, "__dict__", {})
    inner = getattr(held.get("transform"), "transforms", ())
    return (*(id(held.get(name)) for name in watched), *map(id, inner))


def lower_transform(transform: Any) -> tuple[tuple[Op, ...], Reasons]:
    """Ops of an op, a torchvision transform, or a list or Compose of them; and what has none."""
    if transform is None:
        return (), []
    if isinstance(transform, Op):
        return (transform,), []
    if isinstance(transform, (list, tuple)) or type(transform) in lowering_ops.classes("Compose"):
        parts = [lower_transform(part) for part in getattr(transform, "transforms", transform)]
        return tuple(op for ops, _ in parts for op in ops), [reason for _, reasons in parts for reason in reasons]
    return lowering_ops.one(transform)


def _image_folder(dataset: Any, folder: Any) -> tuple[Pipeline | None, Reasons]:
    reasons = []
    if dataset.loader is not folder.default_loader:
        reasons.append(f"ImageFolder has its own loader ({type_name(dataset.loader)})")
    if dataset.target_transform is not None:
        reasons.append("ImageFolder has a target_transform")
    if getattr(sys.modules.get("torchvision"), "get_image_backend", lambda: "PIL")() != "PIL":
        reasons.append("torchvision's image backend is not PIL")
    if dataset.transform is None:
        reasons.append("ImageFolder has no transform, so its images are no tensors")
    ops, unknown = lower_transform(dataset.transform)
    reasons += [f"transform {reason}" for reason in unknown]
    if not unknown and dataset.transform is not None and not any(isinstance(op, transforms.ToImage) for op in ops):
        reasons.append("its transform makes no tensor (no ToImage, PILToTensor or ToTensor)")
    if reasons:
        return None, reasons
    # zip(*samples) makes an iterator per sample: 0.7 s for ImageNet, not 0.07.
    paths, labels = tuple(path for path, _ in dataset.samples), [label for _, label in dataset.samples]
    root = str(dataset.root)
    source = FileSource(root, paths, np.array(labels, np.int64), tuple(dataset.classes), seek.attach(paths, root))
    return Pipeline(source, ops), []


def _torchvision(module: str) -> Any:
    """Never imports: a program that has not imported torchvision has none of its objects."""
    return sys.modules.get(module)
