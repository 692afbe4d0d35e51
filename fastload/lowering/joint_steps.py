"""From torchvision's v2 transforms of images and targets to joint steps."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from fastload.joint.iou_crop import IoUCrop
from fastload.joint.mixing import MIXES
from fastload.joint.of_targets import OfKind, OfTargets, Sanitize, Types
from fastload.joint.padding import OwnPadding
from fastload.joint.photometric import Augment, PhotometricDistort
from fastload.joint.picture import BLACK, Fill
from fastload.joint.resizes import Jitter, RandomResizing, Resizing, ShortestSize
from fastload.joint.steps import Crop, FixedCrop, Flip, JointStep, ZoomOut
from fastload.joint.warps import Affine, Perspective, Rotation, Warping
from fastload.lowering import forwarding, joint_colours, own_padding
from fastload.lowering.filters import takes
from fastload.lowering.names import Reasons, altered, attribute, type_name
from fastload.spec import Array, Spec
from fastload.transforms import Op, RandomAffine, RandomPerspective, RandomRotation
from fastload.transforms.programs import Program

Lower = Callable[[object], tuple[tuple[Op, ...], Reasons]]  # of one transform
RESIZES = {
    "Resize": Resizing, "RandomResize": RandomResizing, "ScaleJitter": Jitter,
    "RandomShortestSize": ShortestSize,
}  # fmt: skip
FILLED: dict[str, Callable[[Any, Fill], JointStep]] = {
    "RandomZoomOut": ZoomOut, "RandomCrop": Crop, "FixedSizeCrop": FixedCrop,
}  # fmt: skip
WARPS: dict[str, tuple[Callable[..., Warping], Any]] = {
    "RandomRotation": (Rotation, RandomRotation), "RandomAffine": (Affine, RandomAffine),
    "RandomPerspective": (Perspective, RandomPerspective),
}  # fmt: skip
PLAIN: dict[str, Callable[[Any], JointStep]] = {
    "RandomHorizontalFlip": Flip, "RandomIoUCrop": IoUCrop,
    "RandomPhotometricDistort": PhotometricDistort,
}  # fmt: skip
OF_KIND = {  # what each changes
    "ConvertBoundingBoxFormat": "BoundingBoxes", "ClampBoundingBoxes": "BoundingBoxes",
    "SetClampingMode": "BoundingBoxes", "ClampKeyPoints": "KeyPoints",
}  # fmt: skip
OWN = ("crops", "mosaic", "mixup", "copy_paste")  # fastload.detection's modules of transforms
OF_TARGETS = (*OF_KIND, "SanitizeBoundingBoxes", "SanitizeKeyPoints")
VALUES = ("ToDtype", "Normalize")
MOVES = (Flip, IoUCrop, OfTargets)  # what may follow VALUES: it neither makes nor fills pixels
FILTERS = ("bilinear", "bicubic")
LEVELS = 256


@dataclass
class Steps:
    """What joint transforms are."""

    steps: tuple[JointStep, ...] = ()
    kind: Any = None  # the class of the image's tensor; None: it is none yet
    values: list[Any] = field(default_factory=list)  # of VALUES
    of_values: Any = None  # the class of the image that comes to them
    table: Array | None = None  # what these make of each level
    unknown: Reasons = field(default_factory=list)
    partners: bool = False  # whether samples have any
    boxes: bool = True  # whether targets may have boxes, masks or keypoints

    def add(self, step: JointStep) -> None:
        if self.values and not isinstance(step, MOVES):
            self.unknown.append(
                f"transform {type(step.of).__name__} comes after {type(self.values[0]).__name__}, "
                "natively it comes before"
            )
        self.steps = (*self.steps, step)


def of(transforms: object, one: Lower, *, partners: bool = False, boxes: bool = True) -> Steps:
    """The joint steps; `unknown` says every reason why they are none. partners, boxes: as Steps
    has them.
    """
    out = Steps(partners=partners, boxes=boxes)
    for part in parts_of(transforms, out.unknown):
        out.unknown += altered(part)
        _take(part, one, out)
    if not out.unknown and out.kind is None:
        out.unknown.append("its transforms make no tensor of the image (no ToImage)")
    if not out.unknown and out.values:
        out.table = _table(out)
    return out


def _v2(name: str) -> object:
    return getattr(sys.modules.get("torchvision.transforms.v2"), name, None)


def _own(name: str) -> object:
    """fastload.detection's transform of that name."""
    homes = (sys.modules.get(f"fastload.detection.{home}") for home in OWN)
    return next((getattr(home, name) for home in homes if hasattr(home, name)), None)


def parts_of(transforms: object, unknown: Reasons) -> list[Any]:
    """The transforms one by one."""
    held = forwarding.inner(transforms, joint=True)
    if held is not None:
        return parts_of(held, unknown)
    if type(transforms) is not _v2("Compose"):
        unknown.append(f"{type_name(transforms)} is no v2.Compose of joint transforms")
        return []
    unknown += altered(transforms)
    out: list[Any] = []
    for part in attribute(transforms, "transforms"):
        out += parts_of(part, unknown) if type(part) is _v2("Compose") else [part]
    return out


def _take(part: Any, one: Lower, out: Steps) -> None:
    """Add a transform of torchvision's, or why it is none that is known."""
    name = type(part).__name__
    if (fill := own_padding.fill_of(part)) is not None:
        out.add(OwnPadding(part, fill, own_padding.mask_fill_of(part)))
    elif type(part) is not _v2(name) and type(part) is not _own(name):
        out.unknown.append(f"transform {type_name(part)} is not one of torchvision's v2")
    elif not hasattr(part, "make_params"):
        out.unknown.append("torchvision is older than 0.21, which has no make_params; update it")
    elif (take := TAKEN.get(name)) is not None:
        take(part, out)
    else:
        _augment(part, one, out)


def _to_tensor(part: Any, out: Steps) -> None:
    import torch
    from torchvision import tv_tensors

    name = type(part).__name__
    if name == "ToImage":
        out.kind = tv_tensors.Image
    elif name == "PILToTensor":
        out.kind = out.kind or torch.Tensor  # a tensor stays what it is
    else:
        out.kind = None if out.kind is None else torch.Tensor
        out.add(OfKind(part, _pixel(), (tv_tensors.TVTensor,)))


def _to_values(part: Any, out: Steps) -> None:
    if out.kind is None:
        out.unknown.append(f"transform {type(part).__name__} comes before ToImage")
    if isinstance(getattr(part, "dtype", None), dict):
        out.add(Types(part, _pixel()))
    out.of_values = out.of_values or out.kind
    out.values.append(part)


def _mixed(part: Any, out: Steps) -> None:
    name = type(part).__name__
    if not out.partners:
        out.unknown.append(
            f"transform {name} mixes several samples, want the data set and its transforms in "
            "fastload.detection.WithPartners"
        )
    else:
        out.add(MIXES[name](part))


def _of_targets(part: Any, out: Steps) -> None:
    from torchvision import tv_tensors

    name, getter = type(part).__name__, getattr(part, "labels_getter", None)
    if getter is not None and not isinstance(getter, str):
        out.unknown.append(f"transform {name} has a labels_getter of its own")
    if kind := OF_KIND.get(name):
        out.add(OfKind(part, _pixel(), (getattr(tv_tensors, kind),)))
    else:
        step: type[OfTargets] = Sanitize if name == "SanitizeBoundingBoxes" else OfTargets
        out.add(step(part, _pixel()))


def _resize(part: Any, out: Steps) -> None:
    name, filter = type(part).__name__, _filter(part)
    if filter not in FILTERS or not part.antialias:
        what = f"does not resize {' or '.join(FILTERS)}, antialiased"
        out.unknown.append(f"transform {name} {what}")
    else:
        out.add(RESIZES[name](part, filter))


def _plain(part: Any, out: Steps) -> None:
    out.add(PLAIN[type(part).__name__](part))


def _filled(part: Any, out: Steps) -> None:
    name = type(part).__name__
    fill = _fill(part, out.kind)
    if fill is None:
        out.unknown.append(f"transform {name} fills with {part.fill}, want whole numbers, 0 to 255")
    elif getattr(part, "padding_mode", "constant") != "constant":
        out.unknown.append(
            f"transform {name} has padding_mode {part.padding_mode!r}, want 'constant'"
        )
    else:
        out.add(FILLED[name](part, fill))


def _warp(part: Any, out: Steps) -> None:
    name, fill = type(part).__name__, _fill(part, out.kind)
    step, op = WARPS[name]
    if fill is None:
        out.unknown.append(f"transform {name} fills with {part.fill}, want whole numbers, 0 to 255")
    elif isinstance(part.interpolation, str) and not takes(part, part.interpolation):
        out.unknown.append(f"transform {name} has interpolation {part.interpolation!r}, no mode")
    else:
        held = {key: getattr(part, key) for key in op.torchvision if key != "fill"}
        made = op(**held, fill=fill)
        out.unknown += [f"transform {name}: {problem}" for problem in made.problems(Spec())]
        out.add(step(part, made))


def _augment(part: Any, one: Lower, out: Steps) -> None:
    ops, unknown = one(part)
    refused = joint_colours.refused(ops, boxes=out.boxes)
    out.unknown += [*(f"transform {reason}" for reason in unknown), *refused]
    for op in ops if not refused else ():
        out.add(Augment(part, cast("Program", op)))


def _filter(part: Any) -> str:
    return str(getattr(part.interpolation, "value", part.interpolation))


def _fill(part: Any, kind: Any) -> Fill | None:
    """What images of this class are filled with, as torchvision looks it up; None: nothing that a
    uint8 image holds.
    """
    from PIL.Image import Image

    by_kind = part._fill
    key = (kind or Image) if (kind or Image) in by_kind else "others"
    value = by_kind.get(key)
    values = [0] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    values = values * 3 if len(values) == 1 else values
    if len(values) != 3 or any(not 0 <= one <= 255 or one != int(one) for one in values):
        return None
    red, green, blue = (int(one) for one in values)
    return (red, green, blue) if any(values) else BLACK


def _pixel() -> object:
    """An image of torchvision's: beside one, it takes no other tensor for an image."""
    import torch
    from torchvision import tv_tensors

    return tv_tensors.Image(torch.zeros((3, 1, 1), dtype=torch.uint8))


def _table(out: Steps) -> Array | None:
    """float32 [3, 256]: what torchvision's own transforms make of all levels; None: they stay."""
    import torch
    from torchvision import tv_tensors

    ramp = torch.arange(LEVELS, dtype=torch.uint8).reshape(1, 16, 16).repeat(3, 1, 1)
    image: Any = tv_tensors.Image(ramp) if out.of_values is tv_tensors.Image else ramp
    for value in out.values:
        image = value(image)
    made = image.as_subclass(torch.Tensor)
    if made.dtype == torch.uint8 and torch.equal(made, ramp):
        return None
    if made.dtype != torch.float32:
        out.unknown.append(f"its transforms make images {made.dtype}, want torch.float32")
        return None
    table: Array = np.ascontiguousarray(made.reshape(3, LEVELS).numpy())
    return table


def _nothing(part: Any, out: Steps) -> None:
    """Identity."""


# By the transform's name, what takes it; others may be ops of AUGMENT.
TAKEN: dict[str, Callable[[Any, Steps], None]] = {
    **dict.fromkeys(("ToImage", "PILToTensor", "ToPureTensor"), _to_tensor),
    **dict.fromkeys(VALUES, _to_values),
    **dict.fromkeys(OF_TARGETS, _of_targets),
    **dict.fromkeys(RESIZES, _resize),
    **dict.fromkeys(FILLED, _filled),
    **dict.fromkeys(WARPS, _warp),
    **dict.fromkeys(PLAIN, _plain),
    **dict.fromkeys(MIXES, _mixed),
    "Identity": _nothing,
}
