"""From one transform of torchvision or timm to ops; or the reasons why not.

A class is recognised by identity, never by name or inheritance, so that an overridden method is never ignored.
"""

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from fastload import transforms
from fastload.transforms import Op
from fastload.transforms.base import filter_name
from fastload.transforms.definitions import subpolicies, timm

Reasons = list[str]
Arguments = dict[str, Any]

# torchvision class name → the attributes that become the op's arguments; the same in its two APIs.
FIELDS: dict[str, tuple[str, ...]] = {
    "AugMix": ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill"),
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


def one(transform: Any) -> tuple[tuple[Op, ...], Reasons]:
    """The ops that a transform is, or the reasons why it is none."""
    try:
        if make := _timm(transform):
            return (make(transform),), []
        name = type(transform).__name__
        if name not in FIELDS or type(transform) not in classes(name):
            return (), [f"{type_name(transform)} is not one that fastload knows"]
        arguments, reasons = _arguments(name, transform)
        kind: Callable[..., Op] = getattr(transforms, name)
        if name == "ConvertImageDtype" and _second_api(transform):
            kind, arguments = transforms.ToDtype, {**arguments, "scale": True}
        return ((), reasons) if reasons else ((kind(**arguments),), [])
    except (TypeError, ValueError, AttributeError) as error:
        return (), [f"{type_name(transform)} has an argument that fastload does not take ({error})"]


def _arguments(name: str, transform: Any) -> tuple[Arguments, Reasons]:
    found: Arguments = {field: getattr(transform, field) for field in FIELDS[name]}
    if "transforms" in found:
        parts = [one(inner) for inner in found["transforms"]]
        found["transforms"] = tuple(op for ops, _ in parts for op in ops)
        return found, [f"{type_name(transform)}: {reason}" for _, reasons in parts for reason in reasons]
    if name == "RandomErasing" and found["value"] is None:  # the second API's word for "random"
        found["value"] = "random"
    if name == "RandomCrop" and found["padding"] is not None:
        if _second_api(transform):  # kept as left, right, top, bottom
            left, right, top, bottom = found["padding"]
            found["padding"] = (left, top, right, bottom)
        elif found["pad_if_needed"] and found["padding_mode"] in ("reflect", "symmetric"):
            raise ValueError("padding and pad_if_needed mirror the image twice, one after the other")
    return found, []


def _timm(transform: Any) -> Callable[[Any], Op] | None:
    """What makes an op of timm's transform; None if it is not timm's."""
    known = {
        "timm.data.auto_augment": {"RandAugment": _rand_augment, "AutoAugment": _auto_augment, "AugMixAugment": _aug_mix},
        "timm.data.random_erasing": {"RandomErasing": _random_erasing},
        "timm.data.transforms": {"RandomResizedCropAndInterpolation": _random_resized_crop, "MaybeToTensor": _to_tensor},
    }
    for module, makers in known.items():
        for name, make in makers.items():
            if type(transform) is getattr(sys.modules.get(module), name, ()):
                return make
    return None


def _same(values: Iterable[Any], what: str) -> Any:
    """The one value of all ops. Raises ValueError if they differ."""
    found = set(values)
    if len(found) != 1:
        raise ValueError(f"its ops differ in {what}")
    return found.pop()


def _levels(calls: list[Any]) -> tuple[timm.Levels, Arguments]:
    """What timm's AugmentOps share, but for their probabilities: the levels, and the op's filter and fill."""
    names = tuple(op.name for op in calls)
    if unknown := sorted(set(names) - timm.NAMES):
        raise ValueError(f"no op for {', '.join(unknown)}")
    noise = _same(((op.magnitude_std, op.magnitude_max, op.hparams.get("translate_pct", timm.TRANSLATE)) for op in calls), "noise")
    fill = _same((tuple(op.kwargs["fillcolor"]) for op in calls), "fill")
    interpolation = _same((_filter(op.kwargs["resample"]) for op in calls), "filter")
    std, most, translate = noise
    return timm.Levels(names, None, 1.0, std, most or timm.FULL, translate), {"interpolation": interpolation, "fill": fill}


def _filter(resample: Any) -> str:
    """One filter's name; "random" for the pair that timm draws from."""
    names = tuple(filter_name(int(number)) for number in (resample if isinstance(resample, (list, tuple)) else (resample,)))
    if names != timm.RANDOM and len(names) != 1:
        raise ValueError(f"filters {', '.join(names)}")
    return "random" if names == timm.RANDOM else names[0]


def _rand_augment(transform: Any) -> Op:
    levels, look = _levels(transform.ops)
    p, magnitude = _same(((op.prob, op.magnitude) for op in transform.ops), "probability or magnitude")
    weights = None if transform.choice_weights is None else tuple(float(w) for w in transform.choice_weights)
    return transforms.RandAugment(transform.num_layers, magnitude, definition=replace(levels, p=p, weights=weights), **look)


def _auto_augment(transform: Any) -> Op:
    levels, look = _levels([op for pair in transform.policy for op in pair])
    calls = [[subpolicies.Call(op.name, op.prob, op.magnitude) for op in pair] for pair in transform.policy]
    for name in subpolicies.TIMM:
        if subpolicies.same(calls, subpolicies.timm(name)) and levels.translate == timm.TRANSLATE:
            return transforms.AutoAugment(name, definition=timm.Levels(std=levels.std, most=levels.most), **look)
    raise ValueError("a policy of its own")


def _aug_mix(transform: Any) -> Op:
    if transform.blended:
        raise ValueError("blended")
    levels, look = _levels(transform.ops)
    p, magnitude = _same(((op.prob, op.magnitude) for op in transform.ops), "probability or magnitude")
    levels, shape = replace(levels, p=p), (magnitude, transform.width, transform.depth, transform.alpha)
    return transforms.AugMix(*shape, definition=levels, mixing="timm", **look)


def _random_erasing(transform: Any) -> Op:
    low, high = (math.exp(v) for v in transform.log_aspect_ratio)
    return transforms.RandomErasing.timm(
        transform.probability, transform.min_area, transform.max_area, low, high, transform.mode or "const",
        transform.min_count, transform.max_count,
    )  # fmt: skip


def _random_resized_crop(transform: Any) -> Op:
    modes = transform.interpolation
    if isinstance(modes, (list, tuple)):
        raise ValueError("a filter drawn per image")  # noqa: TRY004  # a value that has no op, not a wrong type
    return transforms.RandomResizedCrop(transform.size, transform.scale, transform.ratio, modes)


def _to_tensor(transform: Any) -> Op:
    return transforms.ToTensor()


def _second_api(transform: Any) -> bool:
    return type(transform).__module__.startswith("torchvision.transforms.v2")


def classes(name: str) -> list[type]:
    """torchvision's classes of that name, of those of its APIs that the program has imported (nothing is imported here)."""
    modules = (sys.modules.get("torchvision.transforms"), sys.modules.get("torchvision.transforms.v2"))
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def type_name(value: Any) -> str:
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
