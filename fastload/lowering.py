"""From what people have (torchvision data sets and transforms) to a pipeline; or the reasons why not.

A class is recognised by identity, never by name or inheritance, so that an overridden method is never ignored.
"""

import os
import sys
from typing import Any

import numpy as np

from fastload import lowering_masks, lowering_ops, transforms
from fastload.dataset import Dataset
from fastload.errors import PipelineError
from fastload.lowering_ops import Reasons, type_name
from fastload.pipeline import Pipeline
from fastload.sources import FileSource, open_source, seek
from fastload.sources.masks import pairs
from fastload.transforms import Op, Views

Ops = tuple[Op, ...]


def lower(dataset: Any) -> tuple[Pipeline | None, Reasons]:
    """The pipeline that `dataset` describes, or every reason why it is not known to be one."""
    if type(dataset) is Dataset:
        return dataset.pipeline, []
    if found := lowering_masks.lower(dataset, lower_transform):
        return found
    folder = _torchvision("torchvision.datasets.folder")
    if folder is None or type(dataset) is not folder.ImageFolder:
        return None, [f"data set {type_name(dataset)} is not one that fastload reads (want torchvision's ImageFolder or fastload.open)"]
    return _image_folder(dataset, folder)


def open(
    path: str | os.PathLike[str], transform: Any = None, *, masks: Any = None, mask_dtype: str = "uint8", mask_fill: int | None = None
) -> Dataset:
    """The data set at `path`: a folder of classes or converted shards; with masks, a folder of images.

    transform: None, one fastload op, a list of them, torchvision transforms that fastload knows (also in a Compose), or Views of such.
    masks: a folder with a mask of each image, under the same path and stem; or a function from the image's path, below `path`, to the
           mask's. Batches are [images, masks]: class numbers as the files have them, moved as their images are.
    mask_dtype: "uint8" or "int64". mask_fill: what is seen beyond a mask, such as 255 to ignore it; None: the op's own fill.
    Raises SourceError, and PipelineError for a transform that has no op.
    """
    ops, views, reasons = _pictures(transform)
    if reasons:
        raise PipelineError(f"transform: {reason}" for reason in reasons)
    if masks is None:
        return Dataset(Pipeline(open_source(path), ops, views))
    if problems := _mask_problems(views, mask_dtype, mask_fill):
        raise PipelineError(problems)
    source, found = pairs(os.fspath(path), masks, mask_dtype, mask_fill)
    return Dataset(Pipeline(source, ops, masks=found))


def _mask_problems(views: tuple[Ops, ...], dtype: str, fill: Any) -> list[str]:
    found = ["masks: Views makes several pictures of an image, want one; leave out masks or Views"] * bool(views)
    if dtype not in ("uint8", "int64"):
        found.append(f"mask_dtype is {dtype!r}, want 'uint8' or 'int64'")
    if fill is not None and (isinstance(fill, bool) or not isinstance(fill, int) or not 0 <= fill <= 255):
        found.append(f"mask_fill is {fill!r}, want None (the op's fill) or a whole number from 0 to 255")
    return found


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
    if type(transform) is Views:
        return (), ["Views stands beside other ops, want it alone; put them into each of its pipelines"]
    if isinstance(transform, (list, tuple)) or type(transform) in lowering_ops.classes("Compose"):
        parts = [lower_transform(part) for part in getattr(transform, "transforms", transform)]
        return tuple(op for ops, _ in parts for op in ops), [reason for _, reasons in parts for reason in reasons]
    return lowering_ops.one(transform)


def _pictures(transform: Any) -> tuple[Ops, tuple[Ops, ...], Reasons]:
    """The ops of the one picture that a transform makes, those of each of its views, and what has none."""
    holds = type(transform) in (list, tuple, *lowering_ops.classes("Compose"))
    inner: Any = getattr(transform, "transforms", transform) if holds else ()
    if len(inner) == 1:
        return _pictures(inner[0])
    if type(transform) is not Views:
        ops, reasons = lower_transform(transform)
        return ops, (), reasons
    views: list[Ops] = []
    unknown = []
    for pipeline, count in transform.pipelines:
        ops, reasons = lower_transform(pipeline)
        unknown += [f"view {len(views) + 1}: {reason}" for reason in reasons]
        views += [ops] * count
    return (), tuple(views), unknown


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
    ops, views, unknown = _pictures(dataset.transform)
    reasons += [f"transform {reason}" for reason in unknown]
    makes = [any(isinstance(op, transforms.ToImage) for op in each) for each in views or (ops,)]
    if not unknown and dataset.transform is not None and not all(makes):
        reasons.append("its transform makes no tensor (no ToImage, PILToTensor or ToTensor)")
    if reasons:
        return None, reasons
    paths, labels = zip(*dataset.samples, strict=True) if dataset.samples else ((), ())
    root = str(dataset.root)
    source = FileSource(root, paths, np.array(labels, np.int64), tuple(dataset.classes), seek.attach(paths, root))
    return Pipeline(source, ops, views), []


def _torchvision(module: str) -> Any:
    """Never imports: a program that has not imported torchvision has none of its objects."""
    return sys.modules.get(module)
