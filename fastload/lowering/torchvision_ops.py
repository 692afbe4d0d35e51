"""From one transform of torchvision to ops."""

from collections.abc import Callable

import torch

from fastload import transforms
from fastload.errors import UsageError
from fastload.lowering.filters import takes
from fastload.lowering.names import Reasons, altered, attribute, classes, type_name
from fastload.lowering.pictures import as_one, maybe
from fastload.spec import Json
from fastload.transforms import CenterCrop, Op, RandomHorizontalFlip, RandomVerticalFlip
from fastload.transforms.corners import CornerCrop
from fastload.transforms.registry import OPS, named

Arguments = Json
Lower = Callable[[object], tuple[tuple[Op, ...], Reasons]]

# Policies whose thresholds of Solarize differ between the two APIs
POLICIES = ("AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide")
GROUPS = ("RandomApply", "RandomChoice", "RandomOrder")


def ops(transform: object, lower: Lower) -> tuple[tuple[Op, ...], Reasons] | None:
    """The ops that a transform is, or the reasons why it is none; None for a class that has no op.
    `lower` is for what groups hold.

    Raises ValueError, TypeError and AttributeError for arguments that no op takes.
    """
    name = type(transform).__name__
    if name not in OPS or type(transform) not in classes(name):
        return None
    try:
        kind = named(name)
    except UsageError as error:  # another distribution's, broken
        return (), [str(error)]
    if kind.torchvision is None:
        return None
    if name in GROUPS:
        return _group(kind, transform, lower)
    if name == "ToTensor" and (why := default_dtype(transform)):
        return (), why
    return (_single(kind, transform),), []


def crops(transform: object) -> list[tuple[Op, ...]]:
    """The ops of each picture of a FiveCrop or TenCrop; nothing for any other transform."""
    name = type(transform).__name__
    if name not in ("FiveCrop", "TenCrop") or type(transform) not in classes(name):
        return []
    if altered(transform):
        return []
    size = tuple(attribute(transform, "size"))
    places = [
        CornerCrop(size, bottom, right) for bottom in (False, True) for right in (False, True)
    ]
    five: list[tuple[Op, ...]] = [(place,) for place in (*places, CenterCrop(size))]
    if name == "FiveCrop":
        return five
    upside_down = attribute(transform, "vertical_flip")
    flip = RandomVerticalFlip(1.0) if upside_down else RandomHorizontalFlip(1.0)
    return [*five, *((flip, *ops) for ops in five)]


def _single(kind: type[Op], transform: object) -> Op:
    name, arguments = kind.__name__, _arguments(kind, transform)
    if isinstance(text := arguments.get("interpolation"), str) and not takes(transform, text):
        raise TypeError(f"interpolation {text!r} is text, which torchvision refuses")
    if name == "RandomAffine" and not _second_api(transform):
        arguments["definition"] = "v1"
    if name in POLICIES and _second_api(transform):
        arguments["definition"] = "v2"
    if name == "ConvertImageDtype" and _second_api(transform):
        kind, arguments = transforms.ToDtype, {**arguments, "scale": True}
    if name == "RandomErasing" and arguments["value"] is None:  # the second API's word for "random"
        arguments["value"] = "random"
    if name == "RandomCrop" and arguments["padding"] is not None:
        _fit_padding(transform, arguments)
    return kind(**arguments)


def _arguments(kind: type[Op], transform: object) -> Arguments:
    """The op's arguments, as the transform has them."""
    return {field: _frozen(getattr(transform, field)) for field in kind.torchvision or ()}


def default_dtype(transform: object) -> Reasons:
    """Why a ToTensor does not make float32."""
    dtype = torch.get_default_dtype()
    text = (
        f"{type_name(transform)} makes {dtype} (torch.get_default_dtype()), and the native "
        "engine torch.float32"
    )
    return [] if dtype == torch.float32 else [text]


def _frozen(value: object) -> object:
    """Lists as tuples: an op must not change with a list of the program's."""
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _fit_padding(transform: object, arguments: Arguments) -> None:
    if _second_api(transform):  # kept as left, right, top, bottom
        left, right, top, bottom = arguments["padding"]
        arguments["padding"] = (left, top, right, bottom)
    elif arguments["pad_if_needed"] and arguments["padding_mode"] in ("reflect", "symmetric"):
        raise ValueError("padding and pad_if_needed mirror the image twice, one after the other")


def _group(kind: type[Op], transform: object, lower: Lower) -> tuple[tuple[Op, ...], Reasons]:
    name, arguments = kind.__name__, _arguments(kind, transform)
    del arguments["transforms"]
    inner, reasons = list[Op](), Reasons()
    for part in attribute(transform, "transforms"):
        lowered, why = lower(part)
        inner += [as_one(lowered)] if name != "RandomApply" else lowered
        reasons += [f"{type_name(transform)}: {reason}" for reason in why]
    if reasons:
        return (), reasons
    if name == "RandomApply":
        return tuple(maybe(tuple(inner), arguments["p"])), []
    group: Callable[..., Op] = kind
    return (group(tuple(inner), **arguments),), []


def _second_api(transform: object) -> bool:
    return type(transform).__module__.startswith("torchvision.transforms.v2")
