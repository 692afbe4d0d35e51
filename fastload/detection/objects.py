"""The objects of one image, and the target that is made of them: in the form of the data sets that
torchvision wraps.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.errors import UsageError
from fastload.joint import coco
from fastload.spec import Floats, Longs

Size = tuple[int, int]  # height and width, px
Target = dict[str, Any]
KEYS = ("image_id", "boxes", "labels")
AVAILABLE = (*KEYS, "masks")
WITH_POINTS = (*AVAILABLE, "keypoints")
FARTHEST = 1e6  # px; no image is as large, and float32 still has 1/16 px there
KEYPOINTS_WANTED = f"x, y and visibility of each, up to {FARTHEST:g}"
BEYOND = 0.01  # a share may lie so far outside 0..1: tools round


@dataclass(frozen=True)
class Objects:
    """As their file has them, checked.

    Args:
        image_id: The image's number or name.
        boxes: float [N, 4].
        labels: int64 [N].
        format: Of the boxes, as torchvision has it: "XYXY", "XYWH" or "CXCYWH".
        shares: Boxes and polygons are shares of width and height; else px.
        outlines: Of each object COCO's polygons, lists of x and y, or an RLE; None: there are none.
        more: Of each object what else its file says: "name" of the class, "id", "area", "iscrowd",
            "keypoints" (COCO's: x, y and visibility of each); empty: nothing.
        size: Of the image that they were written for, height and width, px; None: nobody says.
    """

    image_id: int | str
    boxes: Floats
    labels: Longs
    format: str
    shares: bool = False
    outlines: tuple[Any, ...] | None = None
    more: tuple[Mapping[str, Any], ...] = ()
    size: Size | None = None


@dataclass(frozen=True)
class Table:
    """The objects of all images, image after image. Called with an image's number.

    Args:
        ids: Of each image.
        first: int64 [images + 1], where the objects of each begin.
        boxes, labels, format, shares, outlines, more: Of all objects, as of `Objects`.
        lost: What else their file says of some object, by name.
    """

    ids: tuple[int | str, ...]
    first: Longs
    boxes: Floats
    labels: Longs
    format: str
    shares: bool = False
    outlines: tuple[Any, ...] | None = None
    more: tuple[Mapping[str, Any], ...] = ()
    lost: tuple[str, ...] = ()

    def __call__(self, number: int) -> Objects:
        part = slice(int(self.first[number]), int(self.first[number + 1]))
        outlines = None if self.outlines is None else self.outlines[part]
        return Objects(
            self.ids[number], self.boxes[part], self.labels[part], self.format, self.shares,
            outlines, self.more[part],
        )  # fmt: skip


Find = Callable[[int], Objects]  # of an image's number; raises ValueError, OSError


def starts(owners: Longs, count: int) -> Longs:
    """int64 [count + 1]: where the objects of each image begin; owners: int64 [N], rising."""
    out: Longs = np.searchsorted(owners, np.arange(count + 1))
    return out


def checked_keys(where: str, keys: Collection[str], available: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a target. Raises UsageError."""
    if isinstance(keys, str) or (unknown := set(keys) - set(available)):
        got = repr(keys) if isinstance(keys, str) else ", ".join(sorted(map(str, unknown)))
        raise UsageError(
            f"{where}: keys has {got} (want of {', '.join(available)}); leave out the others"
        )
    if "keypoints" in keys:
        _check_keypoints(where)
    return tuple(key for key in available if key in keys)


def _check_keypoints(where: str) -> None:
    import torchvision
    from torchvision import tv_tensors

    if not hasattr(tv_tensors, "KeyPoints"):
        what = f"keys has keypoints, which torchvision {torchvision.__version__} does not know"
        raise UsageError(f"{where}: {what} (want 0.23 or newer); update torchvision")


def target(objects: Objects, size: Size, keys: Collection[str]) -> Target:
    """Of an image of this size, px: "image_id", "boxes" float32 [N, 4] (BoundingBoxes, XYXY),
    "labels" int64 [N], "masks" uint8 [N, H, W] (Mask), "keypoints" float32 [N, K, 2] (KeyPoints)
    and with them "visible" int64 [N, K]; of these what `keys` has.

    Raises ValueError for objects of an image of another size and for masks that no image has, and
    ImportError without pycocotools.
    """
    import torch

    if objects.size is not None and objects.size != size:
        height, width = objects.size
        raise ValueError(f"it is of an image of {height}x{width} px (got {size[0]}x{size[1]})")
    out: Target = {}
    if "image_id" in keys:
        out["image_id"] = objects.image_id
    if "boxes" in keys:
        out["boxes"] = _boxes(objects, size)
    if "masks" in keys:
        out["masks"] = _masks(objects, size)
    if "labels" in keys:
        out["labels"] = torch.from_numpy(np.array(objects.labels, np.int64))
    if "keypoints" in keys:
        out["keypoints"], out["visible"] = _keypoints(objects, size)
    return out


def _boxes(objects: Objects, size: Size) -> Any:
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional

    boxes = np.asarray(objects.boxes, np.float64).reshape(-1, 4)
    if objects.shares:
        boxes = boxes * (size[1], size[0], size[1], size[0])
    as_they_are = tv_tensors.BoundingBoxes(
        torch.from_numpy(boxes.astype(np.float32)),
        format=tv_tensors.BoundingBoxFormat[objects.format],
        canvas_size=size,
    )
    xyxy = tv_tensors.BoundingBoxFormat.XYXY
    return functional.convert_bounding_box_format(as_they_are, new_format=xyxy)


def are_keypoints(value: object) -> bool:
    """Whether it is a list of three numbers for each keypoint, as COCO has them."""
    return (
        isinstance(value, list)
        and len(value) % 3 == 0
        and all(type(one) in (int, float) and -FARTHEST <= one <= FARTHEST for one in value)
    )


def _keypoints(objects: Objects, size: Size) -> tuple[Any, Any]:
    """Their places, and whether each is seen (2), hidden (1) or not labelled (0)."""
    import torch
    from torchvision import tv_tensors

    count = len(objects.labels)
    said: list[Any] = [one.get("keypoints") for one in objects.more] or [None] * count
    for number, one in enumerate(said):
        if not are_keypoints(one):
            what = "no keypoints" if one is None else "keypoints that are none"
            raise ValueError(f"object {number} has {what} (want {KEYPOINTS_WANTED})")
    if len(each := {len(one) for one in said}) > 1:
        raise ValueError(
            f"its objects have {min(each) // 3} to {max(each) // 3} keypoints (want as many each)"
        )
    values = np.array(said, np.float64).reshape(count, each.pop() // 3 if each else 0, 3)
    places = torch.from_numpy(values[..., :2].astype(np.float32))
    visible = torch.from_numpy(values[..., 2].astype(np.int64))
    return tv_tensors.KeyPoints(places, canvas_size=size), visible


def _masks(objects: Objects, size: Size) -> Any:
    import torch
    from torchvision import tv_tensors

    lacking = [number for number, one in enumerate(objects.outlines or ()) if one is None]
    if lacking:
        raise ValueError(f"object {lacking[0]} has no outline (want polygons or an RLE)")
    outlines = [_in_px(one, size) if objects.shares else one for one in objects.outlines or ()]
    if len(outlines) != len(objects.labels):
        raise ValueError(f"got outlines of {len(outlines)} objects, want {len(objects.labels)}")
    coco.check_masks([{"segmentation": one} for one in outlines], size)
    if not outlines:
        return tv_tensors.Mask(torch.zeros((0, *size), dtype=torch.uint8))
    return tv_tensors.Mask(torch.stack([_mask(one, size) for one in outlines]))


def _mask(outline: Any, size: Size) -> Any:
    """uint8 [H, W] of polygons or an RLE, by pycocotools."""
    import torch
    from pycocotools import mask

    if not isinstance(outline, dict):
        outline = mask.merge(mask.frPyObjects(outline, *size))
    elif not isinstance(outline.get("counts"), (str, bytes)):
        outline = mask.frPyObjects(outline, *size)
    return torch.from_numpy(mask.decode(outline))


def _in_px(polygons: Any, size: Size) -> list[list[float]]:
    """Polygons of shares."""
    return [
        (np.asarray(one, np.float64).reshape(-1, 2) * (size[1], size[0])).ravel().tolist()
        for one in polygons
    ]
