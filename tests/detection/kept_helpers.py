"""Detection data sets of each reader, and whether what is kept of them has the same targets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from fastload import detection
from fastload.conversion import job
from fastload.conversion.readers import Choice
from tests import keypoints
from tests.loader import detection_files as files

COUNT = 4
TO = ("shards", "webdataset", "parquet")
BOXES = ("image_id", "boxes", "labels")
MASKS = (*BOXES, "masks")
POINTS = (*MASKS, "keypoints")


class Made(NamedTuple):
    """A data set in files: where convert finds it, and what opens it."""

    source: Path
    boxes: str
    opened: Callable[..., detection.Detection]
    keys: tuple[str, ...]


def coco(root: Path, count: int = COUNT) -> Made:
    files.write_coco(root, count)
    places = root / "images", root / "instances.json"
    return Made(places[0], f"coco:{places[1]}", lambda **how: detection.lvis(*places, **how), MASKS)


def poses(root: Path, count: int = COUNT) -> Made:
    files.write_poses(root, count)
    places = root / "images", root / "keypoints.json"
    return Made(
        places[0], f"coco:{places[1]}", lambda **how: detection.lvis(*places, **how), POINTS
    )


def lvis(root: Path, count: int = COUNT) -> Made:
    files.write_lvis(root, count)
    file = root / "lvis.json"
    return Made(root, f"lvis:{file}", lambda **how: detection.lvis(root, file, **how), MASKS)


def open_images(root: Path, count: int = COUNT) -> Made:
    files.write_open_images(root, count)
    where, *tables = root / "images", root / "boxes.csv", root / "classes.csv"
    boxes = f"open-images:{tables[0]},{tables[1]}"
    return Made(where, boxes, lambda **how: detection.open_images(where, *tables, **how), BOXES)


def voc(root: Path, count: int = COUNT) -> Made:
    files.write_voc(root, count)
    where = root / "VOCdevkit" / "VOC2012"
    return Made(where, "voc", lambda **how: detection.voc(where, **how), BOXES)


def yolo(root: Path, count: int = COUNT) -> Made:
    files.write_yolo(root, count)
    return Made(root, "yolo", lambda **how: detection.yolo(root, **how), MASKS)


READERS = (coco, pytest.param(poses, marks=keypoints.needed), lvis, open_images, voc, yolo)


def convert(source: object, target: object, to: str = "shards", **how: Any) -> Any:
    """By one worker; `boxes`, `labels` and `subset` choose, all else are options."""
    chosen = {name: how.pop(name) for name in ("boxes", "labels", "subset") if name in how}
    options = job.Options(to=to, **{"workers": 1, "shard_bytes": 9000, "check": "none", **how})
    return job.run(job.prepare(str(source), str(target), options, Choice(**chosen)))


def same(one: object, other: object) -> bool:
    """Whether two targets are equal to the bit, types included."""
    if isinstance(one, torch.Tensor):
        assert type(one) is type(other)
        assert one.dtype == other.dtype
        return torch.equal(one, other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        return all(same(value, other[name]) for name, value in one.items())
    return one == other


def equal(where: object, data: detection.Detection) -> bool:
    """Whether what was kept has the images and targets of a data set."""
    found = detection.kept(where, keys=data.keys)
    assert len(found) == len(data)
    for (image, target), (want_image, want) in zip(found, data, strict=True):
        assert image.tobytes() == want_image.tobytes()
        assert same(target, want)
    return True
