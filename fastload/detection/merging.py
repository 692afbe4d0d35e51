"""Targets of several images as one: boxes, masks, keypoints and labels of all their objects."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional

from fastload.system import limits

Size = tuple[int, int]  # height and width, px
Target = dict[Any, Any]
# KeyPoints came with torchvision 0.23
OF_OBJECTS = tuple(
    getattr(tv_tensors, name)
    for name in ("BoundingBoxes", "Mask", "KeyPoints")
    if hasattr(tv_tensors, name)
)
XYXY = tv_tensors.BoundingBoxFormat.XYXY
STRAIGHT = ("XYXY", "XYWH", "CXCYWH")  # formats of boxes that are not turned


def boxes_of(target: Target) -> Any:
    """The boxes, BoundingBoxes [N, 4]; None where the target has none, as of an image without
    objects.

    Raises ValueError for more than one tensor of boxes, for turned ones and for plain tensors.
    """
    found = [value for value in target.values() if isinstance(value, tv_tensors.BoundingBoxes)]
    if len(found) > 1:
        raise ValueError(f"its target has {len(found)} tensors of boxes (want 1); leave out others")
    if found and found[0].format.name not in STRAIGHT:
        raise ValueError(
            f"its boxes are {found[0].format.name} (want {', '.join(STRAIGHT)}); turned boxes are "
            "not mixed"
        )
    if not found and isinstance(target.get("boxes"), torch.Tensor):
        raise ValueError("its boxes are a plain tensor (want tv_tensors.BoundingBoxes); wrap them")
    return found[0] if found else None


def count(target: Target) -> int:
    """How many objects it has. Raises what `boxes_of` raises."""
    boxes = boxes_of(target)
    return 0 if boxes is None else len(boxes)


def corners(boxes: Any) -> torch.Tensor:
    """float [N, 4]: left, top, right, bottom, px."""
    straight = functional.convert_bounding_box_format(boxes, new_format=XYXY)
    plain: torch.Tensor = straight.as_subclass(torch.Tensor)
    return plain


def objects(target: Target, keys: Sequence[str]) -> Iterator[Any]:
    """The keys of what is there once for each object. keys: those that are no tensors of
    torchvision's, such as "labels".

    Raises ValueError where one has another length than the boxes.
    """
    want = count(target)
    for key, value in target.items():
        if not isinstance(value, OF_OBJECTS) and key not in keys:
            continue
        if not isinstance(value, (torch.Tensor, list, tuple)) or len(value) != want:
            got = len(value) if hasattr(value, "__len__") else type(value).__name__
            raise ValueError(
                f"{key} of its target has {got} values (want {want}, one for each box)"
            )
        yield key


def placed(target: Target, top: int, left: int, size: Size) -> Target:
    """Its tensors on a canvas of this size, whose px (top, left) is their first one. Boxes and
    keypoints are clamped to it.

    Raises ValueError for masks that take too much memory.
    """
    for value in target.values():
        if isinstance(value, tv_tensors.Mask):
            check_memory(len(value), size)
    return moved(target, lambda value: functional.crop(value, -top, -left, *size))


def resized(target: Target, now: Size, size: Size) -> Target:
    """Its tensors, of an image of the size `now`, as of one of another size. Raises ValueError."""
    for value in target.values():
        if isinstance(value, tv_tensors.Mask):
            check_memory(len(value), size)
    return (
        target
        if now == size
        else moved(target, lambda value: functional.resize(value, list(size), antialias=True))
    )


def moved(target: Target, move: Callable[[Any], Any]) -> Target:
    """A target whose boxes, masks and keypoints `move` has moved."""
    return {
        key: move(value) if isinstance(value, OF_OBJECTS) else value
        for key, value in target.items()
    }


def check_memory(masks: int, size: Size) -> None:
    """Raises ValueError for so many masks of this size that they take too much memory."""
    if problem := limits.too_many(masks * size[0] * size[1], limits.MASKS):
        raise ValueError(f"its masks are too large ({problem})")


def check_all(targets: Iterable[Target], size: Size) -> None:
    """The same of the masks of several targets on one canvas of this size."""
    values = (value for target in targets for value in target.values())
    check_memory(sum(len(value) for value in values if isinstance(value, tv_tensors.Mask)), size)


def joined(targets: Sequence[Target], size: Size, keys: Sequence[str]) -> Target:
    """One target with the objects of all, in their order. What belongs to no object, such as
    "image_id", is the first one's.

    Args:
        targets: On one canvas.
        size: Of the canvas.
        keys: As of `objects`.

    Raises:
        ValueError: They do not fit together.
    """
    counts = [count(one) for one in targets]
    named = [list(objects(one, keys)) for one in targets]
    out = dict(targets[0])
    for key in dict.fromkeys(key for some in named for key in some):
        parts = [one[key] for one, some in zip(targets, named, strict=True) if key in some]
        lacking = [
            key not in some and number > 0 for number, some in zip(counts, named, strict=True)
        ]
        if any(lacking):
            raise ValueError(f"the target of sample {lacking.index(True)} of a mix has no {key}")
        out[key] = _chained(key, parts, size)
    return out


def chosen(target: Target, keep: torch.Tensor, keys: Sequence[str]) -> Target:
    """The target with these objects only. keep: int64 [K], their numbers."""
    named = list(objects(target, keys))
    if torch.equal(keep, torch.arange(count(target))):
        return target
    return target | {key: picked(target[key], keep) for key in named}


def visible(target: Target, keys: Sequence[str]) -> Target:
    """The target without the objects of whose boxes nothing is inside the canvas."""
    boxes = boxes_of(target)
    if boxes is None:
        return target
    left, top, right, bottom = corners(boxes).T
    height, width = boxes.canvas_size
    seen = (right.clamp(max=width) > left.clamp(min=0)) & (
        bottom.clamp(max=height) > top.clamp(min=0)
    )
    return target if bool(seen.all()) else chosen(target, seen.nonzero()[:, 0], keys)


def picked(value: Any, keep: torch.Tensor) -> Any:
    """These values of one for each object; keep: int64 [K]."""
    if not isinstance(value, torch.Tensor):
        return type(value)(value[number] for number in keep.tolist())
    plain = value.as_subclass(torch.Tensor).index_select(0, keep)  # [keep] takes twice as long
    return tv_tensors.wrap(plain, like=value) if isinstance(value, OF_OBJECTS) else plain


def _chained(key: str, parts: Sequence[Any], size: Size) -> Any:
    """Values of several targets, one after the other. Raises ValueError."""
    first = parts[0]
    if any(type(part) is not type(first) for part in parts):
        kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in parts))
        raise ValueError(f"{key} is {kinds} in the targets of a mix (want one type)")
    if not isinstance(first, torch.Tensor):
        return type(first)(value for part in parts for value in part)
    if isinstance(first, tv_tensors.BoundingBoxes):
        parts = [
            functional.convert_bounding_box_format(part, new_format=first.format) for part in parts
        ]
    try:
        out = torch.cat([part.as_subclass(torch.Tensor) for part in parts])
    except RuntimeError as error:
        shapes = ", ".join(str(list(part.shape)) for part in parts)
        raise ValueError(f"{key} has shapes {shapes} in the targets of a mix") from error
    if not isinstance(first, OF_OBJECTS):
        return out
    facts = {} if isinstance(first, tv_tensors.Mask) else {"canvas_size": size}
    return tv_tensors.wrap(out, like=first, **facts)
