"""The objects of one image as a file beside it, NAME, or as a row of COLUMNS: what a converted data
set keeps. docs/formats.md has its meaning.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastload.detection.objects import (
    BEYOND,
    FARTHEST,
    KEYPOINTS_WANTED,
    Objects,
    Size,
    are_keypoints,
)
from fastload.system import limits

NAME = "detection.json"
COLUMNS = ("image_id", "height", "width", "bbox_format", "bbox_unit", "objects")
FORMATS = ("XYXY", "XYWH", "CXCYWH")
PX, SHARE = "px", "share"
MOST_ID, MOST_SIDE = 1 << 62, 1 << 20
LONGEST_NAME = 1 << 12  # characters
OUTLINE = "segmentation"
Said = dict[str, Any]


def text(objects: Objects, size: Size) -> bytes:
    """The file of an image of this height and width, px.

    Raises ValueError for objects that `objects_of` would refuse.
    """
    said = {
        "image_id": objects.image_id,
        "height": size[0],
        "width": size[1],
        "bbox_format": objects.format,
        "bbox_unit": SHARE if objects.shares else PX,
        "objects": [_one(objects, number) for number in range(len(objects.labels))],
    }
    return dumped(said)


def dumped(said: Said) -> bytes:
    """The same for what a file or a row has said. Raises ValueError."""
    objects_of(said)
    plain = {name: said[name] for name in COLUMNS}
    plain["objects"] = [_plain(one) for one in said["objects"]]
    data = json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()
    if problem := limits.too_many(len(data), limits.LABELS):
        raise ValueError(f"it is too large ({problem})")
    return data


def _plain(one: Said) -> Said:
    """What is kept of an object, always in one order and of one type."""
    known = {name: one[name] for name in ORDER if one.get(name) is not None}
    for name in LISTS:
        if name in known:
            known[name] = list(map(float, known[name]))
    if "area" in known:
        known["area"] = float(known["area"])
    return known


def _one(objects: Objects, number: int) -> Said:
    more = objects.more[number] if objects.more else {}
    known = {name: more[name] for name in MORE if more.get(name) is not None}
    if objects.outlines is not None and objects.outlines[number] is not None:
        known[OUTLINE] = objects.outlines[number]
    box = np.asarray(objects.boxes[number], np.float64).tolist()
    return {"bbox": box, "category": int(objects.labels[number]), **known}


def parsed(data: bytes) -> Said:
    """What a file says; `objects_of` checks it. Raises ValueError."""
    if problem := limits.too_many(len(data), limits.LABELS):
        raise ValueError(f"{NAME} is too large ({problem})")
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{NAME} is no JSON ({str(error)[:80]})") from error
    return is_object(said)


def is_object(said: object) -> Said:
    """The same. Raises ValueError for what is none."""
    if type(said) is not dict:
        raise ValueError(f"{NAME} is no object (got {_shown(said)})")
    return said


def objects_of(said: Mapping[str, Any], first_label: int = 0) -> Objects:
    """The objects, checked. first_label: is added to each category.

    Raises ValueError that says what is wrong, and what it should be.
    """
    identity, size = _image_id(said.get("image_id")), (_side(said, "height"), _side(said, "width"))
    format, unit = said.get("bbox_format"), said.get("bbox_unit")
    if format not in FORMATS:
        raise ValueError(f"bbox_format is {_shown(format)} (want {', '.join(FORMATS)})")
    if unit not in (PX, SHARE):
        raise ValueError(f"bbox_unit is {_shown(unit)} (want {PX} or {SHARE})")
    rows = said.get("objects")
    if type(rows) is not list:
        raise ValueError(f"objects is {_shown(rows)} (want a list)")
    for number, row in enumerate(rows):
        _check(number, row, format, unit)
    boxes = np.array([row["bbox"] for row in rows], np.float64).reshape(-1, 4)
    labels = np.array([row["category"] for row in rows], np.int64) + first_label
    outlines = tuple(row.get(OUTLINE) for row in rows)
    more = tuple({name: row[name] for name in MORE if row.get(name) is not None} for row in rows)
    return Objects(identity, boxes, labels, format, unit == SHARE, outlines, more, size)


def _image_id(value: object) -> int | str:
    if type(value) is int and 0 <= value < MOST_ID:
        return value
    if isinstance(value, str) and _is_name(value):
        return value
    raise ValueError(f"image_id is {_shown(value)} (want a number from 0 up, or a name)")


def _side(said: Mapping[str, Any], name: str) -> int:
    value = said.get(name)
    if type(value) is not int or not 1 <= value <= MOST_SIDE:
        raise ValueError(f"{name} is {_shown(value)} (want px, 1 to {MOST_SIDE})")
    return value


def _check(number: int, row: object, format: str, unit: str) -> None:
    """Raises ValueError."""
    if type(row) is not dict:
        raise ValueError(f"object {number} is {_shown(row)} (want an object)")
    if wanted := _box_wanted(row.get("bbox"), format, unit):
        raise ValueError(f"object {number}: bbox is {_shown(row.get('bbox'))} (want {wanted})")
    for name, (good, wanted) in CHECKS.items():
        value = row.get(name)
        if not good(value) and not (value is None and name in MORE):
            raise ValueError(f"object {number}: {name} is {_shown(value)} (want {wanted})")
    if not _is_outline(row.get(OUTLINE)):
        raise ValueError(
            f"object {number}: {OUTLINE} is {_shown(row.get(OUTLINE))} (want polygons, or an RLE "
            "with size and counts)"
        )


def _box_wanted(box: object, format: str, unit: str) -> str:
    """What a box should be that is none; "" for one that is."""
    low, high = (-BEYOND, 1 + 2 * BEYOND) if unit == SHARE else (-FARTHEST, FARTHEST)
    wanted = f"4 numbers from {low:g} to {high:g}"
    if not isinstance(box, list) or len(box) != 4:
        return wanted
    if not all(type(one) in (int, float) and low <= one <= high for one in box):
        return wanted
    if format == "XYXY":
        return "" if box[0] <= box[2] and box[1] <= box[3] else f"{wanted}, left and top first"
    return "" if min(box[2:]) >= 0 else f"{wanted}, width and height 0 or more"


def _is_outline(value: object) -> bool:
    """Of COCO's forms, as far as JSON's types tell; pycocotools' values are checked with masks."""
    if isinstance(value, list):
        return all(isinstance(part, list) and _are_numbers(part) for part in value)
    if isinstance(value, dict):
        size, counts = value.get("size"), value.get("counts")
        flat = isinstance(counts, str) or (isinstance(counts, list) and _are_numbers(counts))
        return isinstance(size, list) and _are_numbers(size) and flat
    return value is None


def _are_numbers(values: list[object]) -> bool:
    """Whether a list holds nothing else: JSON of lists in lists may be too deep to be written."""
    return all(type(one) in (int, float) for one in values)


def row_of(said: Said) -> Said:
    """What a file says as a row of a table: each object has all of ORDER, its outline as JSON."""
    return {**said, "objects": [_row(one) for one in said["objects"]]}


def _row(one: Said) -> Said:
    outline = one.get(OUTLINE)
    told = None if outline is None else json.dumps(outline, separators=(",", ":"), allow_nan=False)
    return {name: one.get(name) for name in ORDER} | {OUTLINE: told}


def of_row(row: Mapping[str, Any]) -> Said:
    """The reverse, for a row that anybody may have written. Raises ValueError."""
    rows = row.get("objects")
    found = [_of_row(one) for one in rows] if isinstance(rows, list) else rows
    return {**{name: row.get(name) for name in COLUMNS}, "objects": found}


def _of_row(one: object) -> object:
    if not isinstance(one, dict) or not isinstance(one.get(OUTLINE), str):
        return one
    try:
        return {**one, OUTLINE: json.loads(one[OUTLINE])}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{OUTLINE} is no JSON ({str(error)[:80]})") from error


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST_ID


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NAME


def _is_number(value: object) -> bool:
    return (type(value) is float and math.isfinite(value)) or (
        type(value) is int and abs(value) < MOST_ID
    )


def _is_flag(value: object) -> bool:
    return type(value) is int and value in (0, 1)


# What an object has beside its box and its outline: whether it is right, and what it should be
CHECKS = {
    "category": (_is_id, "a number from 0 up"),
    "name": (_is_name, "a name"),
    "id": (_is_id, "a number from 0 up"),
    "area": (_is_number, "a number"),
    "iscrowd": (_is_flag, "0 or 1"),
    "keypoints": (are_keypoints, KEYPOINTS_WANTED),
}
MORE = ("name", "id", "area", "iscrowd", "keypoints")  # that an object need not have
LISTS = ("bbox", "keypoints")  # of numbers
ORDER = ("bbox", "category", *MORE, OUTLINE)


def _shown(value: object) -> str:
    """A value in a message, however large it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]" if _is_short(value) else f"{len(value)} values"
    if type(value) is int and abs(value) >= MOST_ID:
        return "a number too large"
    told = repr(value)
    return told if len(told) <= 40 else f"{told[:40]}…"


def _is_short(value: Sequence[object]) -> bool:
    return len(value) <= 4 and not any(isinstance(one, list) for one in value)
