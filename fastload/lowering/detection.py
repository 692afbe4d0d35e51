"""Data sets with boxes and joint transforms: torchvision's, as wrap_dataset_for_transforms_v2 gives
them, and those of fastload.detection; or the reasons why not.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from PIL.Image import open as open_image

from fastload.detection import Detection, WithPartners
from fastload.joint import coco
from fastload.joint.steps import Target
from fastload.lowering import joint_steps, masks, reach
from fastload.lowering.names import Reasons, altered, attribute, image_backend
from fastload.lowering.rows import plain_paths, sequence
from fastload.plan.joint import CAPTIONS, Joint
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource, seek
from fastload.system import limits

Size = tuple[int, int]


def lower(
    dataset: object, one: joint_steps.Lower, mixed: WithPartners | None = None
) -> tuple[Pipeline | None, Reasons] | None:
    """The pipeline of a data set with boxes, or every reason why it is none; None for any other
    one.

    Args:
        one: Lowers a transform of images.
        mixed: What has its transforms, and mixes its samples; None: it has its own.
    """
    if type(dataset) is Detection:
        return _own(dataset, one, mixed)
    inner = masks.wrapped(dataset, KINDS)
    if inner is None:
        return None
    name = type(inner).__name__
    kind = KINDS[name]
    reasons = [f"{name} {reason}" for reason in kind.refused(inner)]
    if image_backend() != "PIL":
        reasons.append("torchvision's image backend is not PIL")
    if any(vars(inner).get(key) is not None for key in masks.INNER):
        reasons.append(f"{name} has transforms of its own inside the wrapper")
    if mixed is not None and kind.alone is not None:
        reasons.append(f"{name} has no objects, which WithPartners mixes")
    if not reach.is_whole(vars(dataset).get("_wrapper")):
        reasons.append(f"{name} has a wrapper of its own")
    made, why = _steps(dataset, one, mixed, boxes=kind.alone is None)
    reasons += [*altered(dataset), *altered(inner), *why]
    try:
        paths = plain_paths(kind.files(inner))
    except (ValueError, KeyError, TypeError) as error:
        reasons.append(f"{name} is not as fastload knows it ({type(error).__name__}: {error})")
    if reasons:
        return None, reasons
    root = str(attribute(inner, "root"))
    source = FileSource(root, paths, np.zeros(len(paths), np.int64), (), seek.attach(paths, root))
    target = partial(kind.target, dataset)
    of = Joint(name, target, made.steps, made.kind, made.table, alone=kind.alone)
    return Pipeline(source, joint=of), []


def _steps(
    dataset: object, one: joint_steps.Lower, mixed: WithPartners | None, *, boxes: bool = True
) -> tuple[joint_steps.Steps, Reasons]:
    """Those of a data set, and why they are none. boxes: whether it may have some."""
    given = attribute(dataset, "transforms")
    if mixed is None:
        made = joint_steps.of(given, one, boxes=boxes)
        return made, made.unknown
    made = joint_steps.of(mixed.transforms, one, partners=True)
    inside = ["WithPartners has a data set with transforms"] * (given is not None)
    return made, [*altered(mixed), *inside, *made.unknown]


def _own(
    dataset: Detection, one: joint_steps.Lower, mixed: WithPartners | None
) -> tuple[Pipeline | None, Reasons]:
    """One of fastload.detection."""
    made, why = _steps(dataset, one, mixed)
    if reasons := [*altered(dataset), *why]:
        return None, reasons
    of = Joint("fastload.detection", dataset.target, made.steps, made.kind, made.table)
    return Pipeline(dataset.source, joint=of), []


def reads_own(dataset: Detection) -> list[object]:
    """What `lower` reads of one of fastload.detection, but its transforms."""
    return [dataset.source, dataset.find, dataset.keys]


def reads(inner: object) -> list[object]:
    """What `lower` reads of the data set inside the wrapper."""
    return [vars(inner).get(key) for key in READ]


def _coco_files(inner: Any) -> list[str]:
    root, images = inner.root, inner.coco.imgs
    return [os.path.join(root, images[number]["file_name"]) for number in inner.ids]


def _coco_target(dataset: Any, number: int, size: Size) -> Target:
    inner = dataset._dataset
    raw = inner._load_target(inner.ids[number])
    if _wants_masks(dataset._wrapper):
        coco.check_masks(raw, size)
    return _wrapped(dataset, number, size, raw)


def _wants_masks(wrapper: Any) -> bool:
    """Whether torchvision's wrapper makes masks, as far as it tells."""
    known = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True))
    return "target_keys" not in known or "masks" in known["target_keys"].cell_contents


def _captions(dataset: Any, number: int, size: Size) -> Target:
    inner = dataset._dataset
    return {CAPTIONS: inner._load_target(inner.ids[number])}


def _voc_files(inner: Any) -> list[str]:
    return list(sequence(inner.images, "images"))


def _voc_target(dataset: Any, number: int, size: Size) -> Target:
    inner = dataset._dataset
    parse = sys.modules[type(inner).__module__].ET_parse
    raw = inner.parse_voc_xml(parse(inner.annotations[number]).getroot())
    return _wrapped(dataset, number, size, raw)


def _kitti_files(inner: Any) -> list[str]:
    return list(sequence(inner.images, "images"))


def _kitti_refused(inner: Any) -> Reasons:
    return [] if inner.train else ["has no targets with train=False"]


def _kitti_target(dataset: Any, number: int, size: Size) -> Target:
    inner = dataset._dataset
    path = inner.targets[number]
    if problem := limits.too_many(os.stat(path).st_size, limits.LABELS):
        raise ValueError(f"{path}: is too large ({problem})")
    with open_image(inner.images[number]) as image:
        if image.mode != "RGB":  # torchvision opens it as it is
            raise ValueError(f"its image is {image.mode} (want RGB)")
    return _wrapped(dataset, number, size, inner._parse_target(number))


def _wrapped(dataset: Any, number: int, size: Size, raw: object) -> Target:
    """As torchvision's wrapper makes the target, which asks the image for its size alone."""
    import torch

    image: Any = torch.empty(1, dtype=torch.uint8).expand(3, *size)
    image.height, image.width = size  # as Pillow's have it
    target: Target = dataset._wrapper(number, (image, raw))[1]
    return target


def _nothing(inner: Any) -> Reasons:
    return []


class Kind(NamedTuple):
    """A class of torchvision's.

    Args:
        files: The paths of its images.
        target: Of one, by its number and its image's size.
        refused: Why a data set of it is not native.
        alone: Its target is no dictionary, but what stands at this key of what `target` gives.
    """

    files: Callable[[Any], list[str]]
    target: Callable[[Any, int, Size], Target]
    refused: Callable[[Any], Reasons] = _nothing
    alone: str | None = None


READ = ("root", "ids", "coco", "images", "targets", "train", *masks.INNER)
KINDS = {
    "CocoDetection": Kind(_coco_files, _coco_target),
    "CocoCaptions": Kind(_coco_files, _captions, alone=CAPTIONS),
    "VOCDetection": Kind(_voc_files, _voc_target),
    "Kitti": Kind(_kitti_files, _kitti_target, _kitti_refused),
}
