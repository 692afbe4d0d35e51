"""Fuzz targets for files of boxes: any bytes give boxes inside the bounds that readers promise, or
the typed error with the file's path. fuzz/readers.py runs them.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fastload import detection
from fastload.detection import record
from fastload.detection.objects import BEYOND, FARTHEST, Objects
from fastload.errors import SourceError
from fuzz.converted import folder_of_images, put, refused

SIZE = (40, 60)  # height and width that targets are made for, px
HEAD = "ImageID,LabelName,XMin,XMax,YMin,YMax\n"


def _below(folder: Path) -> Path:
    """A folder that has images in images/train."""
    root = folder / "boxes"
    if not root.exists():
        folder_of_images(root / "images" / "train")
        (root / "classes.csv").write_text("/m/0,Cat\n/m/1,Dog\n")
    return root


def _opened(root: Path, make: Callable[[], detection.Detection]) -> bool:
    """Every target of the data set that `make` gives, if it gives one."""
    try:
        data = make()
        for number in range(len(data)):
            _check(data.find(number))
            data.target(number, SIZE)
    except (SourceError, ValueError) as error:
        refused(error, root)
        return False
    return True


def _check(found: Objects) -> None:
    most = 1 + 2 * BEYOND if found.shares else FARTHEST
    if len(found.boxes) != len(found.labels) or not (np.abs(found.boxes) <= most).all():
        raise AssertionError(f"boxes {found.boxes}, labels {found.labels}")


def yolo_seeds(_: Path) -> list[bytes]:
    return [b"0 0.5 0.5 0.25 0.5\n", b"1 0.1 0.1 0.9 0.1 0.9 0.7\n\n0 0 0 0 0\n"]


def run_yolo(folder: Path, data: bytes) -> bool:
    root = _below(folder)
    (root / "data.yaml").unlink(missing_ok=True)
    image = detection.yolo(root).source.name(0)
    place = Path(image.replace("/images/", "/labels/")).with_suffix(".txt")
    place.parent.mkdir(parents=True, exist_ok=True)
    put(place, data)
    taken = _opened(root, lambda: detection.yolo(root))
    place.unlink()
    return taken


def yaml_seeds(_: Path) -> list[bytes]:
    return [b"train: images/train\nnames: {0: a, 1: b}\n", b"train: [images/train]\nnames: [a]\n"]


def run_yaml(folder: Path, data: bytes) -> bool:
    root = _below(folder)
    put(root / "data.yaml", data)
    taken = _opened(root, lambda: detection.yolo(root))
    (root / "data.yaml").unlink()
    return taken


def lvis_seeds(_: Path) -> list[bytes]:
    image = {"id": 7, "coco_url": "http://x/images/train/7.jpg"}
    box = {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 20.5, 30, 40]}
    kind = {"id": 3, "name": "cat"}
    said = {"images": [image], "annotations": [box], "categories": [kind]}
    return [json.dumps(said).encode()]


def run_lvis(folder: Path, data: bytes) -> bool:
    root = _below(folder)
    put(root / "lvis.json", data)
    return _opened(root, lambda: detection.lvis(root, root / "lvis.json"))


def csv_seeds(_: Path) -> list[bytes]:
    return [f"{HEAD}0,/m/1,0.25,0.5,0.5,1\n1,/m/0,0,1,0,1\n".encode()]


def run_csv(folder: Path, data: bytes) -> bool:
    root = _below(folder)
    put(root / "boxes.csv", data)
    places = (root / "images", root / "boxes.csv", root / "classes.csv")
    return _opened(root, lambda: detection.open_images(*places))


def voc_seeds(_: Path) -> list[bytes]:
    sides = "<xmin>1</xmin><ymin>2</ymin><xmax>3.5</xmax><ymax>4</ymax>"
    one = f"<object><name>dog</name><bndbox>{sides}</bndbox></object>"
    return [f"<annotation>{one}{one}</annotation>".encode()]


def run_voc(folder: Path, data: bytes) -> bool:
    root = _below(folder)
    for name in ("Annotations", "ImageSets/Main"):
        (root / name).mkdir(parents=True, exist_ok=True)
    put(root / "Annotations" / "0.xml", data)
    put(root / "ImageSets" / "Main" / "train.txt", b"0")
    return _opened(root, lambda: detection.voc(root))


def objects_seeds(_: Path) -> list[bytes]:
    outline = {"size": [40, 60], "counts": [2400]}
    box = {"bbox": [1, 2, 3.5, 4], "category": 5, "id": 1, "area": 3.5, "iscrowd": 0}
    more = {**box, "keypoints": [1, 2.5, 2, 0, 0, 0], "segmentation": outline}
    said = {"image_id": 7, "height": 40, "width": 60, "bbox_format": "XYXY", "bbox_unit": "px"}
    return [json.dumps({**said, "objects": [box, more]}).encode()]


def run_objects(_: Path, data: bytes) -> bool:
    """Of a file beside an image, and of the row that it is in a table."""
    try:
        said = record.parsed(data)
        _check(record.objects_of(said))
        text = record.dumped(said)
        if record.dumped(record.of_row(record.row_of(record.parsed(text)))) != text:
            raise AssertionError(f"a row gives another file than {text!r}")
    except ValueError:
        return False
    return True


TARGETS = {
    "yolo": (yolo_seeds, run_yolo), "data_yaml": (yaml_seeds, run_yaml),
    "lvis": (lvis_seeds, run_lvis), "open_images": (csv_seeds, run_csv),
    "voc": (voc_seeds, run_voc), "objects": (objects_seeds, run_objects),
}  # fmt: skip
