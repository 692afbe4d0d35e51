"""From one transform of torchvision to ops."""

from collections.abc import Callable
from dataclasses import replace

import torch

from fastload import transforms
from fastload.lowering.names import Reasons, attribute, classes, type_name
from fastload.spec import Json
from fastload.transforms import Op

Arguments = Json
Lower = Callable[[object], tuple[tuple[Op, ...], Reasons]]

# torchvision class name → the attributes that become the op's arguments; the same in both APIs.
FIELDS: dict[str, tuple[str, ...]] = {
    "AugMix": (
        "severity",
        "mixture_width",
        "chain_depth",
        "alpha",
        "all_ops",
        "interpolation",
        "fill",
    ),
    "AutoAugment": ("policy", "interpolation", "fill"),
    "CenterCrop": ("size",),
    "ColorJitter": ("brightness", "contrast", "saturation", "hue"),
    "ConvertImageDtype": ("dtype",),
    "GaussianBlur": ("kernel_size", "sigma"),
    "Grayscale": ("num_output_channels",),
    "Normalize": ("mean", "std", "inplace"),
    "PILToTensor": (),
    "Pad": ("padding", "fill", "padding_mode"),
    "RandAugment": ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill"),
    "RandomAdjustSharpness": ("sharpness_factor", "p"),
    "RandomAffine": ("degrees", "translate", "scale", "shear", "interpolation", "fill", "center"),
    "RandomApply": ("transforms", "p"),
    "RandomAutocontrast": ("p",),
    "RandomChoice": ("transforms", "p"),
    "RandomCrop": ("size", "padding", "pad_if_needed", "fill", "padding_mode"),
    "RandomEqualize": ("p",),
    "RandomErasing": ("p", "scale", "ratio", "value", "inplace"),
    "RandomGrayscale": ("p",),
    "RandomHorizontalFlip": ("p",),
    "RandomInvert": ("p",),
    "RandomOrder": ("transforms",),
    "RandomPerspective": ("distortion_scale", "p", "interpolation", "fill"),
    "RandomPosterize": ("bits", "p"),
    "RandomResizedCrop": ("size", "scale", "ratio", "interpolation", "antialias"),
    "RandomRotation": ("degrees", "interpolation", "expand", "center", "fill"),
    "RandomSolarize": ("threshold", "p"),
    "RandomVerticalFlip": ("p",),
    "Resize": ("size", "interpolation", "max_size", "antialias"),
    "ToDtype": ("dtype", "scale"),
    "ToImage": (),
    "ToTensor": (),
    "TrivialAugmentWide": ("num_magnitude_bins", "interpolation", "fill"),
}
AT_TIMES = (  # ops of CROP with a probability of their own
    transforms.RandomAffine, transforms.RandomHorizontalFlip, transforms.RandomPerspective,
    transforms.RandomRotation,
    transforms.RandomVerticalFlip,
)  # fmt: skip
POLICIES = (
    "AugMix",
    "AutoAugment",
    "RandAugment",
    "TrivialAugmentWide",
)  # whose thresholds of Solarize differ
GROUPS = ("RandomApply", "RandomChoice", "RandomOrder")


def ops(transform: object, lower: Lower) -> tuple[tuple[Op, ...], Reasons] | None:
    """The ops that a transform is, or the reasons why it is none; None for a class that has no op.
    `lower` is for what groups hold.

    Raises ValueError, TypeError and AttributeError for arguments that no op takes.
    """
    name = type(transform).__name__
    if name not in FIELDS or type(transform) not in classes(name):
        return None
    if name in GROUPS:
        return _group(name, transform, lower)
    if name == "ToTensor" and (why := default_dtype(transform)):
        return (), why
    kind: Callable[..., Op] = getattr(transforms, name)
    arguments: Arguments = {field: _frozen(getattr(transform, field)) for field in FIELDS[name]}
    if isinstance(arguments.get("interpolation"), str):
        raise TypeError(
            f"interpolation {arguments['interpolation']!r} is text, which torchvision refuses"
        )
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
    return (kind(**arguments),), []


def default_dtype(transform: object) -> Reasons:
    """Why a ToTensor does not make float32."""
    made = torch.get_default_dtype()
    text = (
        f"{type_name(transform)} makes {made} (torch.get_default_dtype()), and the native "
        "engine torch.float32"
    )
    return [] if made == torch.float32 else [text]


def _frozen(value: object) -> object:
    """Lists as tuples: an op must not change with a list of the program's."""
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _fit_padding(transform: object, arguments: Arguments) -> None:
    if _second_api(transform):  # kept as left, right, top, bottom
        left, right, top, bottom = arguments["padding"]
        arguments["padding"] = (left, top, right, bottom)
    elif arguments["pad_if_needed"] and arguments["padding_mode"] in ("reflect", "symmetric"):
        raise ValueError("padding and pad_if_needed mirror the image twice, one after the other")


def _group(name: str, transform: object, lower: Lower) -> tuple[tuple[Op, ...], Reasons]:
    arguments: Arguments = {
        field: getattr(transform, field) for field in FIELDS[name] if field != "transforms"
    }
    inner, reasons = list[Op](), Reasons()
    for part in attribute(transform, "transforms"):
        found, why = lower(part)
        inner += [_as_one(found)] if name != "RandomApply" else found
        reasons += [f"{type_name(transform)}: {reason}" for reason in why]
    if reasons:
        return (), reasons
    if (
        name == "RandomApply" and len(inner) == 1 and isinstance(inner[0], AT_TIMES)
    ):  # whether to, twice
        return (replace(inner[0], p=inner[0].p * arguments["p"]),), []
    return (getattr(transforms, name)(tuple(inner), **arguments),), []


def _as_one(found: tuple[Op, ...]) -> Op:
    """Ops as one of a group's: nothing is what is never done."""
    return (
        found[0]
        if len(found) == 1
        else transforms.RandomApply(found or (transforms.RandomInvert(),), float(bool(found)))
    )


def _second_api(transform: object) -> bool:
    return type(transform).__module__.startswith("torchvision.transforms.v2")
