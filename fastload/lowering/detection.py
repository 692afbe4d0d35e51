"""torchvision's detection data sets with joint transforms, as wrap_dataset_for_transforms_v2 gives
them; or the reasons why not.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fastload.joint import coco
from fastload.joint.steps import Target
from fastload.lowering import joint_steps, masks, reach
from fastload.lowering.names import Reasons, altered, attribute, image_backend
from fastload.lowering.rows import plain_paths, sequence
from fastload.plan.joint import Joint
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource, seek

Size = tuple[int, int]


def lower(dataset: object, one: joint_steps.Lower) -> tuple[Pipeline | None, Reasons] | None:
    """The pipeline of a data set of KINDS, or every reason why it is none; None for any other data
    set. one: lowers a transform of images.
    """
    inner = masks.wrapped(dataset, KINDS)
    if inner is None:
        return None
    name = type(inner).__name__
    files, target = KINDS[name]
    reasons = []
    if image_backend() != "PIL":
        reasons.append("torchvision's image backend is not PIL")
    if any(vars(inner).get(key) is not None for key in masks.INNER):
        reasons.append(f"{name} has transforms of its own inside the wrapper")
    if not reach.is_whole(vars(dataset).get("_wrapper")):
        reasons.append(f"{name} has a wrapper of its own")
    made = joint_steps.of(attribute(dataset, "transforms"), one)
    reasons += [*altered(dataset), *altered(inner), *made.unknown]
    try:
        paths = plain_paths(files(inner))
    except (ValueError, KeyError, TypeError) as error:
        reasons.append(f"{name} is not as fastload knows it ({type(error).__name__}: {error})")
    if reasons:
        return None, reasons
    root = str(attribute(inner, "root"))
    source = FileSource(root, paths, np.zeros(len(paths), np.int64), (), seek.attach(paths, root))
    of = Joint(name, partial(target, dataset), made.steps, made.kind, made.table)
    return Pipeline(source, joint=of), []


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


def _voc_files(inner: Any) -> list[str]:
    return list(sequence(inner.images, "images"))


def _voc_target(dataset: Any, number: int, size: Size) -> Target:
    inner = dataset._dataset
    parse = sys.modules[type(inner).__module__].ET_parse
    raw = inner.parse_voc_xml(parse(inner.annotations[number]).getroot())
    return _wrapped(dataset, number, size, raw)


def _wrapped(dataset: Any, number: int, size: Size, raw: object) -> Target:
    """As torchvision's wrapper makes the target, which asks the image for its size alone."""
    import torch

    image: Any = torch.empty(1, dtype=torch.uint8).expand(3, *size)
    image.height, image.width = size  # as Pillow's have it
    target: Target = dataset._wrapper(number, (image, raw))[1]
    return target


READ = ("root", "ids", "coco", "images", "targets", *masks.INNER)
# Of each class: the paths of its images, and the target of one, by its number and its image's size.
KINDS: dict[str, tuple[Callable[[Any], list[str]], Callable[[Any, int, Size], Target]]] = {
    "CocoDetection": (_coco_files, _coco_target),
    "VOCDetection": (_voc_files, _voc_target),
}
