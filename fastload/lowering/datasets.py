"""From a data set of torchvision, timm or torch to a pipeline; or the reasons why not."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset

from fastload import sources
from fastload.dataset import Dataset
from fastload.detection import WithPartners
from fastload.lowering import arrays, detection, masks, own, reach
from fastload.lowering.chain import Ops, Pictures, lower_parts, lower_pictures
from fastload.lowering.folders import Files, kind_of
from fastload.lowering.names import Reasons, altered, attribute, image_backend, is_a, type_name
from fastload.lowering.rows import plain_paths, whole
from fastload.plan import forms
from fastload.plan.joint import Partners
from fastload.plan.pipeline import Pipeline
from fastload.sources import ArraySource, FileSource, Source, seek
from fastload.sources.base import remote
from fastload.transforms import ToImage

Lowered = tuple[Pipeline | None, Reasons]
WANTED = "want torchvision's ImageFolder or another of docs/pipelines.md, or fastload.open"
FOLDER = "torchvision.datasets.folder"
INDICES = (list, tuple, range, np.ndarray, torch.Tensor)  # of a Subset
JOINT = ("OxfordIIITPet", "Places365")  # transform image and target by `transforms`


def lower(dataset: object) -> Lowered:
    """The pipeline that `dataset` describes, or every reason why it is not known to be one.

    Raises nothing.
    """
    reach.refresh()
    try:
        return _lower(dataset)
    except Exception as error:  # noqa: BLE001  a program may have put anything into its objects
        what = (
            "holds itself"
            if isinstance(error, RecursionError)
            else f"raises {type(error).__name__}: {error}"
        )
        return None, [f"data set {type_name(dataset)} is not as fastload knows it: it {what}"]


def _lower(dataset: object) -> Lowered:
    if type(dataset) is Dataset:
        return dataset.pipeline, []
    for known in (masks.lower, detection.lower):
        if lowered := known(dataset, partial(lower_parts, own=False)):
            return lowered
    if (around := AROUND.get(type(dataset))) is not None:
        return around(dataset)
    if (kind := kind_of(dataset)) is not None:
        return _lowered(dataset, partial(_source, dataset, kind.find), grey=False)
    if arrays.knows(dataset):
        return _lowered(dataset, partial(arrays.source, dataset), grey=arrays.is_grey(dataset))
    if is_a(dataset, "datasets.arrow_dataset", "Dataset"):
        what_to_do = "give its images by fastload.from_huggingface"
        return None, [
            f"data set datasets.arrow_dataset.Dataset makes rows of any kind; {what_to_do}"
        ]
    if lowered := own.lower(dataset):
        return lowered
    return None, [f"data set {type_name(dataset)} is not one that fastload reads ({WANTED})"]


def _lowered(dataset: object, make: Callable[[], Source], *, grey: bool) -> Lowered:
    """make: gives the source, and raises ValueError for what is none.

    grey: its images have one channel.
    """
    kind, reasons = type(dataset).__name__, altered(dataset)
    try:
        transform, target_transform = transforms_of(dataset)
        if target_transform is not None:
            reasons.append(f"{kind} has a target_transform")
        made = _pictures(kind, transform, grey=grey)
        reasons += made.unknown
        source = make()
        if isinstance(source, ArraySource):
            made = arrays.sized(source, made)
    except ValueError as error:
        return None, [*reasons, f"{kind} {error}"]
    except (TypeError, AttributeError, LookupError, RuntimeError) as error:
        # Other versions of the library have other attributes.
        return None, [
            *reasons,
            f"{kind} is not as fastload knows it ({type(error).__name__}: {error})",
        ]
    if reasons:
        return None, reasons
    return Pipeline(source, made.ops, made.views, form=forms.of_pair(made.form)), []


def transforms_of(dataset: object) -> tuple[object, object]:
    """Of images and of targets. Raises ValueError if both are transformed as one."""
    if type(dataset).__name__ not in JOINT:
        return attribute(dataset, "transform"), attribute(dataset, "target_transform")
    joint = attribute(dataset, "transforms")
    if joint is None:
        return None, None
    if not is_a(joint, "torchvision.datasets.vision", "StandardTransform"):
        raise ValueError(f"has transforms of image and target ({type_name(joint)})")
    return joint.transform, joint.target_transform


def _pictures(kind: str, transform: object, *, grey: bool) -> Pictures:
    """What the transform makes of an image; or why that is not native."""
    if transform is None:
        return _none([f"{kind} has no transform, so its images are no tensors"])
    made = lower_pictures(transform)
    if made.unknown:
        return _none([f"transform {reason}" for reason in made.unknown])
    pictures: list[Ops] = []
    for each in made.views or (made.ops,):
        if not any(isinstance(op, ToImage) for op in each):
            return _none(["its transform makes no tensor (no ToImage, PILToTensor or ToTensor)"])
        widened, why = arrays.with_three_channels(kind, transform, each) if grey else (each, [])
        if why:
            return _none(why)
        pictures.append(widened)
    if made.views:
        return made._replace(views=tuple(pictures))
    return made._replace(ops=pictures[0])


def _none(reasons: Reasons) -> Pictures:
    return Pictures((), (), None, reasons)


def _with_partners(dataset: WithPartners) -> Lowered:
    pipeline, reasons = _mixed(dataset.data, dataset)
    if pipeline is None or pipeline.joint is None:
        return None, reasons
    partners = Partners(pipeline.source, pipeline.joint.rows)
    return replace(pipeline, joint=replace(pipeline.joint, partners=partners)), reasons


def _mixed(data: object, by: WithPartners) -> Lowered:
    """The data set inside `by`, with the transforms that this has."""
    if type(data) is Subset:
        return _subset(data, partial(_mixed, by=by))
    if lowered := detection.lower(data, partial(lower_parts, own=False), by):
        return lowered
    wanted = "want one with boxes that docs/guides/detection.md names, or a Subset of it"
    return None, [f"WithPartners has data set {type_name(data)}, {wanted}"]


def _subset(dataset: Subset[object], lower: Callable[[object], Lowered] | None = None) -> Lowered:
    """lower: lowers the data set inside; None: as any."""
    pipeline, reasons = (lower or _lower)(dataset.dataset)
    reasons = [*altered(dataset), *reasons, *_with_masks(pipeline, "Subset")]
    if type(dataset.indices) not in INDICES:
        return None, [
            *reasons,
            f"Subset has indices of class {type_name(dataset.indices)}, want a list or an array",
        ]
    if not whole(dataset.indices) or np.ndim(dataset.indices) != 1:
        return None, [*reasons, "Subset has indices that are no whole numbers"]
    indices, length = np.asarray(dataset.indices), len(pipeline.source) if pipeline else 0
    named = pipeline is not None and isinstance(pipeline.source, sources.NumberedFiles)
    least = 0 if named else -length
    if pipeline and indices.size and not (least <= indices.min() and indices.max() < length):
        reasons.append(
            f"Subset has indices from {indices.min()} to {indices.max()}, but its data set has "
            f"{length} samples{', whose numbers make their names' if named else ''}"
        )
    if reasons or pipeline is None:
        return None, reasons
    indices = indices.astype(np.int64) % max(length, 1)
    joint = pipeline.joint and pipeline.joint.at(indices)
    return replace(pipeline, source=sources.Subset(pipeline.source, indices), joint=joint), []


def _concat(dataset: ConcatDataset[object]) -> Lowered:
    parts = [_lower(part) for part in dataset.datasets]
    reasons = [*altered(dataset), *dict.fromkeys(reason for _, why in parts for reason in why)]
    lengths = [attribute(part, "__len__")() for part in dataset.datasets]
    if list(dataset.cumulative_sizes) != np.cumsum(lengths).tolist():
        reasons.append("ConcatDataset has cumulative_sizes that are not those of its parts")
    pipelines = [pipeline for pipeline, _ in parts if pipeline]
    reasons += dict.fromkeys(
        reason for pipeline in pipelines for reason in _with_masks(pipeline, "ConcatDataset")
    )
    if any(pipeline.joint for pipeline in pipelines):
        reasons.append("ConcatDataset of data sets with boxes is not one that fastload reads")
    if not reasons and any(
        (one.pictures, one.form, one.by_part)
        != (pipelines[0].pictures, pipelines[0].form, pipelines[0].by_part)
        for one in pipelines
    ):
        reasons.append("ConcatDataset has parts with different transforms")
    if not reasons and any(one.target != pipelines[0].target for one in pipelines):
        reasons.append("ConcatDataset has parts with different targets")
    if any(remote(pipeline.source) is not None for pipeline in pipelines):
        reasons.append("ConcatDataset has parts that lie in a store, which are read one at a time")
    if reasons:
        return None, reasons
    return replace(
        pipelines[0], source=sources.Concat(tuple(pipeline.source for pipeline in pipelines))
    ), []


def _with_masks(pipeline: Pipeline | None, kind: str) -> Reasons:
    return (
        [f"{kind} of a data set with masks is not one that fastload reads"]
        if pipeline and pipeline.masks
        else []
    )


def _source(dataset: object, find: Callable[[object], Files]) -> FileSource:
    loader = getattr(dataset, "loader", None)  # none: the class opens its files with PIL itself
    if loader is not None and not reach.is_function(loader, FOLDER, "default_loader"):
        raise ValueError(f"has its own loader ({type_name(loader)})")
    if loader is not None and (patched := reach.changed(loader)):
        raise ValueError(f"has a loader that was patched: {'; '.join(patched)}")
    if loader is not None and image_backend() != "PIL":
        raise ValueError("reads by torchvision's image backend, which is not PIL")
    files = find(dataset)
    paths, classes = plain_paths(files.paths), tuple(map(str, files.classes))
    labels = arrays.class_numbers(files.labels, as_given=True)
    return FileSource(files.root, paths, labels, classes, seek.attach(paths, files.root))


# Data sets of data sets, and what lowers each.
AROUND: dict[type, Callable[[Any], Lowered]] = {
    Subset: _subset, ConcatDataset: _concat, WithPartners: _with_partners,
}  # fmt: skip
