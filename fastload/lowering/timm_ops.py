"""From one transform of timm to ops. Checked against timm 1.0.31."""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, Protocol, TypeVar

import torch

from fastload import transforms
from fastload.lowering import reach
from fastload.lowering.names import altered, type_name
from fastload.spec import Json
from fastload.transforms import Op
from fastload.transforms.base import filter_name
from fastload.transforms.definitions import subpolicies, timm
from fastload.transforms.timm_sizes import CenterCropOrPad, ResizeKeepRatio

T = TypeVar("T")
Shared = Json  # arguments of an op that its inner ops share: the filter and the fill


class _Call(Protocol):
    """timm's AugmentOp."""

    name: str
    prob: float
    magnitude: int
    magnitude_std: float
    magnitude_max: float | None
    hparams: dict[str, float]
    kwargs: Json
    aug_fn: object
    level_fn: object


class _Policy(Protocol):
    """timm's AutoAugment."""

    policy: Sequence[Sequence[_Call]]


class _Choice(Protocol):
    """timm's RandAugment."""

    ops: list[_Call]
    num_layers: int
    choice_weights: Iterable[float] | None


class _Chains(Protocol):
    """timm's AugMixAugment."""

    ops: list[_Call]
    blended: bool
    alpha: float
    width: int
    depth: int


class _Erasing(Protocol):
    """timm's RandomErasing."""

    log_aspect_ratio: tuple[float, float]
    probability: float
    min_area: float
    max_area: float
    mode: str | None
    min_count: int
    max_count: int


class _Crop(Protocol):
    """timm's RandomResizedCropAndInterpolation."""

    interpolation: object
    size: tuple[int, int]
    scale: tuple[float, float]
    ratio: tuple[float, float]


class _KeepRatio(Protocol):
    """timm's ResizeKeepRatio."""

    size: tuple[int, int]
    longest: float
    interpolation: object
    random_scale_prob: float
    random_scale_range: tuple[float, float]
    random_scale_area: bool
    random_aspect_prob: float
    random_aspect_range: tuple[float, float]


class _Typed(Protocol):
    """timm's ToTensor."""

    dtype: torch.dtype


class _Window(Protocol):
    """timm's CenterCropOrPad."""

    size: tuple[int, int]
    padding_mode: str
    fill: float | Sequence[float]


def ops(transform: object) -> tuple[Op, ...] | None:
    """The ops that a transform is; None for a class that has none.

    Raises ValueError, TypeError, AttributeError for its arguments.
    """
    for module, makers in MAKERS.items():
        for name, make in makers.items():
            if type(transform) is getattr(sys.modules.get(module), name, ()):
                lowered = make(transform)
                return lowered if isinstance(lowered, tuple) else (lowered,)
    return None


def _same(values: Iterable[T], what: str) -> T:
    """The one value of all ops. Raises ValueError if they differ."""
    distinct = set(values)
    if len(distinct) != 1:
        raise ValueError(f"its ops differ in {what}")
    return distinct.pop()


def _levels(calls: list[_Call]) -> tuple[timm.Levels, Shared]:
    """What timm's AugmentOps share, but for their probabilities: the levels, and the op's filter
    and fill.
    """
    if _same((type(op) for op in calls), "class") is not getattr(
        sys.modules["timm.data.auto_augment"], "AugmentOp", None
    ):
        raise ValueError(f"ops of class {type_name(calls[0])}")
    _check_functions(calls)
    names = tuple(op.name for op in calls)
    if unknown := sorted(set(names) - timm.NAMES):
        raise ValueError(f"no op for {', '.join(unknown)}")
    noise = _same(
        (
            (op.magnitude_std, op.magnitude_max, op.hparams.get("translate_pct", timm.TRANSLATE))
            for op in calls
        ),
        "noise",
    )
    fill = _same((tuple(op.kwargs["fillcolor"]) for op in calls), "fill")
    interpolation = _same((_filter(op.kwargs["resample"]) for op in calls), "filter")
    std, most, translate = noise
    return timm.Levels(names, None, 1.0, std, most or timm.FULL, translate), {
        "interpolation": interpolation,
        "fill": fill,
    }


def _check_functions(calls: list[_Call]) -> None:
    """Raises ValueError for an AugmentOp that was changed, or calls another function than its name
    says.
    """
    theirs = vars(sys.modules["timm.data.auto_augment"])
    for op in {id(op): op for op in calls}.values():
        if op.aug_fn is not theirs["NAME_TO_OP"].get(op.name) or op.level_fn is not theirs[
            "LEVEL_TO_ARG"
        ].get(op.name):
            raise ValueError(f"{op.name} calls a function of its own")
        functions = [f for f in (op.aug_fn, op.level_fn) if isinstance(f, FunctionType)]
        if patched := [
            *altered(op),
            *(why for function in functions for why in reach.changed(function)),
        ]:
            raise ValueError("; ".join(dict.fromkeys(patched)))


def _filter(resample: object) -> str:
    """One filter's name; "random" for the pair that timm draws from."""
    names = tuple(
        filter_name(int(number))
        for number in (resample if isinstance(resample, (list, tuple)) else (resample,))
    )
    if names != timm.RANDOM and len(names) != 1:
        raise ValueError(f"filters {', '.join(names)}")
    return "random" if names == timm.RANDOM else names[0]


def _rand_augment(transform: _Choice) -> Op:
    levels, look = _levels(transform.ops)
    p, magnitude = _same(
        ((op.prob, op.magnitude) for op in transform.ops), "probability or magnitude"
    )
    weights = (
        None
        if transform.choice_weights is None
        else tuple(float(w) for w in transform.choice_weights)
    )
    return transforms.RandAugment(
        transform.num_layers, magnitude, definition=replace(levels, p=p, weights=weights), **look
    )


def _auto_augment(transform: _Policy) -> Op:
    levels, look = _levels([op for pair in transform.policy for op in pair])
    calls = [
        [subpolicies.Call(op.name, op.prob, op.magnitude) for op in pair]
        for pair in transform.policy
    ]
    for name in subpolicies.TIMM:
        if subpolicies.same(calls, subpolicies.timm(name)) and levels.translate == timm.TRANSLATE:
            return transforms.AutoAugment(
                name, definition=timm.Levels(std=levels.std, most=levels.most), **look
            )
    raise ValueError("a policy of its own")


def _aug_mix(transform: _Chains) -> Op:
    if transform.blended:
        raise ValueError("blended")
    levels, look = _levels(transform.ops)
    p, magnitude = _same(
        ((op.prob, op.magnitude) for op in transform.ops), "probability or magnitude"
    )
    levels = replace(levels, p=p)
    shape = (magnitude, transform.width, transform.depth, transform.alpha)
    return transforms.AugMix(*shape, definition=levels, mixing="timm", **look)


def _random_erasing(transform: _Erasing) -> Op:
    low, high = (math.exp(v) for v in transform.log_aspect_ratio)
    return transforms.RandomErasing.timm(
        transform.probability, transform.min_area, transform.max_area, low, high,
        transform.mode or "const",
        transform.min_count, transform.max_count,
    )  # fmt: skip


def _random_resized_crop(transform: _Crop) -> Op:
    chosen = _filter_name(transform.interpolation)
    return transforms.RandomResizedCrop(
        transform.size, transform.scale, transform.ratio, chosen, definition="timm"
    )


def _unscaled(transform: _Typed) -> tuple[Op, ...]:
    return transforms.PILToTensor(), transforms.ToDtype(transform.dtype)


def _center_crop_or_pad(transform: _Window) -> Op:
    fill = transform.fill
    colours = tuple(fill) if isinstance(fill, (list, tuple)) else (fill,)
    if transform.padding_mode == "constant" and not any(colours):
        return transforms.CenterCrop(transform.size)
    return CenterCropOrPad(transform.size, colours, transform.padding_mode)


def _resize_keep_ratio(transform: _KeepRatio) -> Op:
    return ResizeKeepRatio(
        transform.size,
        transform.longest,
        _filter_name(transform.interpolation),
        transform.random_scale_prob,
        transform.random_scale_range,
        transform.random_scale_area,
        transform.random_aspect_prob,
        transform.random_aspect_range,
    )


def _filter_name(modes: object) -> str:
    """Of one filter, or of the two that timm draws from."""
    names = tuple(map(filter_name, modes if isinstance(modes, (list, tuple)) else (modes,)))
    if len(names) > 1 and names != timm.RANDOM:
        raise ValueError(f"filters {', '.join(names)}")
    return "random" if len(names) > 1 else names[0]


MAKERS: dict[str, dict[str, Callable[[Any], Op | tuple[Op, ...]]]] = {
    "timm.data.auto_augment": {
        "RandAugment": _rand_augment,
        "AutoAugment": _auto_augment,
        "AugMixAugment": _aug_mix,
    },
    "timm.data.random_erasing": {"RandomErasing": _random_erasing},
    "timm.data.transforms": {
        "CenterCropOrPad": _center_crop_or_pad,
        "MaybePILToTensor": lambda _: transforms.PILToTensor(),
        "MaybeToTensor": lambda _: transforms.ToTensor(),
        "RandomResizedCropAndInterpolation": _random_resized_crop,
        "ResizeKeepRatio": _resize_keep_ratio,
        "ToNumpy": lambda _: transforms.PILToTensor(),  # a batch of it is the same tensor
        "ToTensor": _unscaled,
    },
}
