"""LVIS's JSON, which has COCO's structure; COCO's own files too. `json` reads it whole."""

import json
import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from fastload.detection.data import Detection, Transforms, of_files
from fastload.detection.objects import FARTHEST, KEYS, WITH_POINTS, Table, checked_keys, starts
from fastload.errors import SourceError
from fastload.files.names import SHOWN, Inner, NameRefusedError
from fastload.spec import Floats, Longs
from fastload.system import limits

MOST_ID = 1 << 62
MORE = ("id", "area", "iscrowd", "keypoints")  # of an annotation, for conversions
# What is kept of an annotation, and what follows from that
KNOWN = {*MORE, "image_id", "category_id", "bbox", "segmentation", "num_keypoints"}
MOST_LOST = 8  # names in a note
Rows = list[dict[str, Any]]


def lvis(
    root: str | os.PathLike[str],
    annotations: str | os.PathLike[str],
    *,
    transforms: Transforms = None,
    keys: Collection[str] = KEYS,
) -> Detection:
    """Images with the objects of LVIS's JSON, or of any JSON of COCO's structure.

    LVIS names no files: the last two parts of "coco_url" do, as in val2017/000000397133.jpg.

    Args:
        root: The folder with the images, for LVIS with train2017 and val2017.
        annotations: The JSON file.
        transforms: A function of an image and its target, such as torchvision's v2.Compose.
        keys: What a target has: of "image_id", "boxes", "labels" (category_id), "masks" and
            "keypoints" (KeyPoints; with "visible", int64 [N, K]). Masks need pycocotools.

    Returns:
        A data set of (image, target), by rising image id, as torchvision's CocoDetection.

    Raises:
        SourceError: The file is damaged, or names an image outside the folder.
        UsageError: An unknown key.

    Example:
        >>> from fastload import detection
        >>> data = detection.lvis("lvis", "lvis/annotations.json")
        >>> image, target = data[0]
        >>> target["image_id"], target["boxes"].tolist(), target["labels"].tolist()
        (7, [[10.0, 20.0, 40.0, 60.0]], [3])
    """
    root, path = os.fspath(root), os.fspath(annotations)
    wanted = checked_keys(path, keys, WITH_POINTS)
    return opened(root, path, transforms, wanted, whole=False)


def opened(
    root: str, path: str, transforms: Transforms, wanted: tuple[str, ...], *, whole: bool
) -> Detection:
    """The same, of checked keys. whole: whether all that a conversion keeps is held."""
    said = _parsed(path)
    images = sorted(_rows(path, said, "images"), key=lambda one: one["id"])
    ids = tuple(one["id"] for one in images)
    if not ids:
        raise SourceError(f"{path}: has no images; give another file")
    paths = tuple(os.path.join(root, _name(path, one)) for one in images)
    rows = _rows(path, said, "annotations", "image_id")
    kinds = _rows(path, said, "categories") if said.get("categories") else []
    find = _table(path, ids, rows, outlines=whole or "masks" in wanted)
    if whole or "keypoints" in wanted:
        find = replace(find, more=_more(rows, kinds), lost=_lost(rows))
    named = sorted(((kind["id"], str(kind.get("name"))) for kind in kinds), key=lambda one: one[0])
    return Detection(
        of_files(root, paths), find, transforms=transforms, keys=wanted,
        classes=tuple(name for _, name in named), labels=[number for number, _ in named],
    )  # fmt: skip


def _parsed(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if problem := limits.unread(file.fileno(), 0, size, limits.ANNOTATIONS):
                raise SourceError(f"{path}: is too large ({problem}); split it")
            said = json.loads(file.read())
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); restore it") from error
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{path}, line {error.lineno}: is no JSON ({error.msg}); mend it"
        ) from error
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: is no JSON ({error}); mend it") from error
    if not isinstance(said, dict):
        raise SourceError(f"{path}: is no object (got {type(said).__name__}); mend it")
    return said


def _rows(path: str, said: dict[str, Any], name: str, key: str = "id") -> Rows:
    """A list of objects, each with a whole number under this key. Raises SourceError."""
    rows = said.get(name)
    if not isinstance(rows, list):
        raise SourceError(f"{path}: {name} is no list (got {type(rows).__name__}); mend it")
    for number, row in enumerate(rows):
        value = row.get(key) if isinstance(row, dict) else None
        if type(value) is not int or not 0 <= value < MOST_ID:
            raise _bad(path, name, number, f"its {key} is {_shown(value)}", "a number from 0 up")
    return rows


def _name(path: str, image: dict[str, Any]) -> str:
    """Of an image's file, below the folder of the images."""
    name, url = image.get("file_name"), image.get("coco_url")
    try:
        if name is None and isinstance(url, str):
            name = "/".join(urlsplit(url).path.split("/")[-2:])
        return Inner(name if isinstance(name, str) else "")
    except NameRefusedError as error:
        raise SourceError(f"{path}: image {image['id']}: {error}") from error
    except ValueError as error:
        what = f"image {image['id']}: its coco_url is none ({str(error)[:SHOWN]})"
        raise SourceError(f"{path}: {what}; mend it") from error


def _table(path: str, ids: tuple[int, ...], rows: Rows, *, outlines: bool) -> Table:
    """The annotations by their images, those of one in the file's order. Raises SourceError."""
    known: Longs = np.array(ids, np.int64)
    if twice := np.flatnonzero(known[1:] == known[:-1]).tolist():
        raise SourceError(f"{path}: image id {ids[twice[0]]} is there twice; mend it")
    of: Longs = np.array([row["image_id"] for row in rows], np.int64)
    owner: Longs = np.searchsorted(known, of).clip(max=len(ids) - 1)
    if (lost := np.flatnonzero(known[owner] != of)).size:
        at = int(lost[0])
        raise _bad(path, "annotations", at, f"its image_id is {of[at]}", "one of an image")
    boxes = _boxes(path, rows)
    labels = _labels(path, rows)
    order = np.argsort(owner, kind="stable")
    kept = tuple(rows[at].get("segmentation") for at in order.tolist()) if outlines else None
    first = starts(owner[order], len(ids))
    return Table(ids, first, boxes[order], labels[order], "XYWH", outlines=kept)


def _more(rows: Rows, kinds: Rows) -> tuple[dict[str, Any], ...]:
    """What else a conversion keeps of each annotation, in the table's order: sorted by their images
    as these are.
    """
    names = {kind["id"]: {"name": str(kind["name"])} for kind in kinds if "name" in kind}
    in_order = sorted(rows, key=lambda row: row["image_id"])  # stable, and image ids rise
    return tuple(
        {**names.get(row["category_id"], {}), **{name: row[name] for name in MORE if name in row}}
        for row in in_order
    )


def _lost(rows: Rows) -> tuple[str, ...]:
    """The names of what a conversion does not keep of annotations; at most as many as are shown."""
    names = {str(name)[:SHOWN] for row in rows for name in row.keys() - KNOWN}
    return tuple(sorted(names)[:MOST_LOST])


def _boxes(path: str, rows: Rows) -> Floats:
    """float64 [N, 4]. Raises SourceError."""
    for number, row in enumerate(rows):
        if (why := _box_problem(row.get("bbox"))) is not None:
            wanted = f"4 numbers: left, top, width and height, px, up to {FARTHEST:g}"
            raise _bad(path, "annotations", number, f"its bbox is {why}", wanted)
    return np.array([row["bbox"] for row in rows], np.float64).reshape(-1, 4)


def _box_problem(box: object) -> str | None:
    """What a box is that is none; None for one that is."""
    if isinstance(box, list) and len(box) == 4:
        left, top, width, height = box
        if all(type(one) in (int, float) for one in box) and (
            -FARTHEST <= left <= FARTHEST and -FARTHEST <= top <= FARTHEST
            and 0 <= width <= FARTHEST and 0 <= height <= FARTHEST
        ):  # fmt: skip
            return None
    return _shown(box)


def _labels(path: str, rows: Rows) -> Longs:
    for number, row in enumerate(rows):
        value = row.get("category_id")
        if type(value) is not int or not 0 <= value < MOST_ID:
            got = f"its category_id is {_shown(value)}"
            raise _bad(path, "annotations", number, got, "a number from 0 up")
    return np.array([row["category_id"] for row in rows], np.int64)


def _bad(path: str, name: str, number: int, got: str, wanted: str) -> SourceError:
    return SourceError(f"{path}: {name}[{number}]: {got} (want {wanted}); mend it")


def _shown(value: object) -> str:
    """A value in a message, however large it is."""
    if isinstance(value, list):
        inner = ", ".join(_shown(one) for one in value[:4]) if len(value) <= 4 else "…"
        return f"[{inner}]" if len(value) <= 4 else f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST_ID:
        return "a number too large"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
