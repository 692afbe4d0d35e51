"""torchvision's segmentation data sets with joint transforms, as wrap_dataset_for_transforms_v2
gives them; or the reasons why not.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from fastload.lowering import class_masks, reach
from fastload.lowering.names import Reasons, altered, attribute, classes, image_backend, type_name
from fastload.lowering.rows import plain_paths, sequence
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource, seek
from fastload.sources.masks import Masks
from fastload.transforms import Op, RandomErasing, ToImage
from fastload.transforms.kinds import Warp

Lower = Callable[[object], tuple[tuple[Op, ...], Reasons]]  # of one transform
# Of each class: the attributes with its images and its masks, and what makes its targets masks.
KINDS: dict[str, tuple[str, str, dict[str, object]]] = {
    "VOCSegmentation": ("images", "masks", {}),
    "OxfordIIITPet": ("_images", "_segs", {"_target_types": ["segmentation"]}),
}
INNER = ("transform", "target_transform", "transforms")  # which the wrapper has taken
DTYPES = ("uint8", "int64")  # of a batch of masks


def lower(dataset: object, one: Lower) -> tuple[Pipeline | None, Reasons] | None:
    """The pipeline of a data set of KINDS, or every reason why it is none; None for any other data
    set. one: lowers a transform.
    """
    inner = wrapped(dataset)
    if inner is None:
        return None
    name = type(inner).__name__
    images, masks, wanted = KINDS[name]
    reasons = [
        f"{name} has {key.strip('_')} {getattr(inner, key)}, want {value}"
        for key, value in wanted.items()
        if getattr(inner, key) != value
    ]
    if image_backend() != "PIL":
        reasons.append("torchvision's image backend is not PIL")
    if any(vars(inner).get(key) is not None for key in INNER):
        reasons.append(f"{name} has transforms of its own inside the wrapper")
    if not reach.is_whole(vars(dataset).get("_wrapper")):
        reasons.append(f"{name} has a wrapper of its own")
    ops, dtype, why = joint(attribute(dataset, "transforms"), one)
    reasons += [*altered(dataset), *altered(inner)]
    try:
        paths, targets = (
            plain_paths(sequence(getattr(inner, key), key)) for key in (images, masks)
        )
    except ValueError as error:
        return None, [*reasons, *why, f"{name} {error}"]
    moved = None
    if why or not class_masks.planned(ops):
        moved, others = class_masks.joint(dataset, attribute(dataset, "transforms"), targets, one)
        why = [] if moved else min(why or others, others, key=len)
    if reasons or why:
        return None, [*reasons, *why]
    root = str(attribute(inner, "root"))
    labels = np.zeros(len(paths), np.int64)
    source = FileSource(root, paths, labels, (), seek.attach(paths, root))
    if moved is not None:
        return Pipeline(source, joint=moved), []
    return Pipeline(source, ops, masks=Masks(f"those of {name}", targets, dtype, channel=True)), []


def joint(transforms: object, one: Lower) -> tuple[tuple[Op, ...], str, Reasons]:
    """The ops of the image and its mask, the type that masks get, and what has none."""
    parts, dtype, unknown = _parts(transforms)
    lowered = [one(part) for part in parts]
    ops = tuple(op for some, _ in lowered for op in some)
    reasons = [
        f"transform {reason}"
        for reason in [*unknown, *(reason for _, some in lowered for reason in some)]
    ]
    reasons += [
        f"transform {op.name} moves masks by torch's arithmetic, fastload by Pillow's"
        for op in ops if isinstance(op, Warp)
    ]  # fmt: skip
    reasons += ["transform RandomErasing warns at every mask"] * any(
        isinstance(op, RandomErasing) for op in ops
    )
    if not reasons and not any(isinstance(op, ToImage) for op in ops):
        reasons.append("its transforms make no tensor of the image (no ToImage)")
    return ops, dtype, reasons


def reads(inner: object) -> list[object]:
    """What `lower` reads of the data set inside the wrapper."""
    images, masks, wanted = KINDS[type(inner).__name__]
    return [getattr(inner, key, None) for key in (images, masks, "root", *wanted, *INNER)]


def wrapped(dataset: object, kinds: Iterable[str] = tuple(KINDS)) -> object:
    """The data set of these kinds inside torchvision's wrapper; None if this is none.

    Classes are known by identity.
    """
    wrapper = getattr(
        sys.modules.get("torchvision.tv_tensors._dataset_wrapper"),
        "VisionDatasetTVTensorWrapper",
        None,
    )
    known = [getattr(sys.modules.get("torchvision.datasets"), name, None) for name in kinds]
    bases = type(dataset).__bases__
    if (
        wrapper is None
        or len(bases) != 2
        or bases[0] is not wrapper
        or bases[1] not in known
        or "__getitem__" in vars(type(dataset))
    ):
        return None
    inner = vars(dataset).get("_dataset")
    return inner if type(inner) is bases[1] else None


def _parts(transforms: object) -> tuple[list[object], str, Reasons]:
    """The joint transforms one by one, without what only concerns types, and the type that masks
    get.
    """
    if type(transforms) not in classes("Compose"):
        return [], "uint8", [f"{type_name(transforms)} is no v2.Compose of joint transforms"]
    parts: list[object] = []
    dtype, unknown = "uint8", altered(transforms)
    kinds = [_tv("Image"), _tv("Mask")]  # of the image, once it is a tensor, and of its mask
    for part in attribute(transforms, "transforms"):
        unknown += altered(part)
        if type(part) in classes("ToPureTensor"):
            kinds = [torch.Tensor if any(map(_makes_tensor, parts)) else kinds[0], None]
            continue
        if type(part) in classes("PILToTensor") and not any(map(_makes_tensor, parts)):
            kinds[0] = torch.Tensor
        if type(part) not in classes("ToDtype") or not isinstance(part.dtype, dict):
            parts.append(part)
            continue
        try:
            image, mask = (_of_kind(part.dtype, kind) for kind in kinds)
        except KeyError as error:
            unknown.append(f"ToDtype has no dtype for {error.args[0]}")
            continue
        if mask is not None:
            dtype = str(mask).removeprefix("torch.")
        if image is not None:
            parts.append(_for_images(part, image))
    if dtype not in DTYPES:
        unknown.append(f"ToDtype makes masks {dtype}, want one of {', '.join(DTYPES)}")
    return parts, dtype, unknown


def _makes_tensor(part: object) -> bool:
    return type(part) in [*classes("ToImage"), *classes("PILToTensor")]


def _tv(name: str) -> object:
    return getattr(sys.modules.get("torchvision.tv_tensors"), name, None)


def _of_kind(dtypes: dict[object, object], kind: object) -> object:
    """What a dict of types has for a class, or for others; None: unchanged. kind: None is a tensor
    beside the image, which torchvision leaves alone. Raises KeyError where it has nothing.
    """
    if kind is None:
        return None
    if kind not in dtypes and "others" not in dtypes:
        raise KeyError(type_name(kind))
    return dtypes.get(kind, dtypes.get("others"))


def _for_images(part: Any, dtype: object) -> object:
    """The same ToDtype for images alone."""
    return type(part)(dtype, scale=part.scale)
