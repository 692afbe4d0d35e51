"""Files of small detection data sets."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from tests.conftest import encoded, textured

SIZES = ((37, 53), (64, 48), (40, 90), (70, 33))  # height, width; px


def boxes_of(seed, height, width):
    """int [N, 4]: left, top, right, bottom of one to four boxes, px."""
    rng = np.random.default_rng(seed)
    count = 1 + seed % 4
    left, top = rng.integers(0, width - 12, count), rng.integers(0, height - 12, count)
    right = left + rng.integers(6, 12, count)
    bottom = top + rng.integers(6, 12, count)
    return np.stack([left, top, right, bottom], axis=1)


def write_images(folder, count, suffix="jpg"):
    folder.mkdir(parents=True)
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        (folder / f"{number:03}.{suffix}").write_bytes(
            encoded(textured(height, width, number), quality=90)
        )


def write_voc(root: Path, count=8):
    """A tree of VOC2012, for VOCDetection(root) and VOCSegmentation(root)."""
    base = root / "VOCdevkit" / "VOC2012"
    write_images(base / "JPEGImages", count)
    (base / "Annotations").mkdir()
    (base / "SegmentationClass").mkdir()
    for kind in ("Main", "Segmentation"):
        (base / "ImageSets" / kind).mkdir(parents=True)
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        objects = "".join(
            f"<object><name>dog</name><bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax>"
            f"<ymax>{d}</ymax></bndbox></object>"
            for a, b, c, d in boxes_of(number, height, width)
        )
        (base / "Annotations" / f"{number:03}.xml").write_text(
            f"<annotation><filename>{number:03}.jpg</filename>{objects}</annotation>"
        )
        class_mask(height, width, number).save(base / "SegmentationClass" / f"{number:03}.png")
    names = "\n".join(f"{number:03}" for number in range(count))
    for kind in ("Main", "Segmentation"):
        (base / "ImageSets" / kind / "train.txt").write_text(names)


def class_mask(height, width, seed):
    """Boxes of class 1 to 20 with an edge of 255, as VOC has them, on 0: a palette image."""
    mask = np.zeros((height, width), np.uint8)
    for number, (a, b, c, d) in enumerate(boxes_of(seed, height, width)):
        mask[b:d, a:c] = 255
        mask[b + 1 : d - 1, a + 1 : c - 1] = 1 + (seed + number) % 20
    image = Image.fromarray(mask, "P")
    image.putpalette(list(range(256)) * 3)
    return image


def write_coco(root: Path, count=8):
    """Images and instances.json, with polygons and RLEs; the last image has no annotation."""
    write_images(root / "images", count)
    images, annotations = [], []
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        images.append({
            "id": 100 + number, "file_name": f"{number:03}.jpg", "height": height, "width": width,
        })  # fmt: skip
        for a, b, c, d in boxes_of(number, height, width).tolist() if number < count - 1 else ():
            polygon = [[a, b, c, b, c, d, a, d]]
            counts = [a * height + b, d - b, height * (width - a) - d]
            rle = {"size": [height, width], "counts": counts}
            annotations.append({
                "id": len(annotations) + 1, "image_id": 100 + number, "category_id": 1 + number % 3,
                "bbox": [a, b, c - a, d - b], "area": (c - a) * (d - b), "iscrowd": number % 2,
                "segmentation": rle if number % 2 else polygon,
            })  # fmt: skip
    known = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "a"}]}
    (root / "instances.json").write_text(json.dumps(known))


def write_poses(root: Path, count=8, points=3):
    """As write_coco, with keypoints.json, whose objects have so many keypoints."""
    write_coco(root, count)
    known, rng = json.loads((root / "instances.json").read_text()), np.random.default_rng(count)
    for one in known["annotations"]:
        left, top, width, height = one["bbox"]
        places = rng.uniform(0, 1, (points, 2)).round(2) * (width, height) + (left, top)
        seen = rng.integers(0, 3, points)
        one["keypoints"] = np.column_stack([places, seen]).ravel().tolist()
        one["num_keypoints"] = int((seen > 0).sum())
    (root / "keypoints.json").write_text(json.dumps(known))


def write_yolo(root: Path, count=8):
    """images/train and labels/train with boxes, and data.yaml; the last image has no file."""
    write_images(root / "images" / "train", count)
    (root / "labels" / "train").mkdir(parents=True)
    for number in range(count - 1):
        height, width = SIZES[number % len(SIZES)]
        lines = [
            f"{place % 3} {(a + c) / 2 / width} {(b + d) / 2 / height} {(c - a) / width} "
            f"{(d - b) / height}\n"
            for place, (a, b, c, d) in enumerate(boxes_of(number, height, width).tolist())
        ]
        (root / "labels" / "train" / f"{number:03}.txt").write_text("".join(lines))
    (root / "data.yaml").write_text("train: images/train\nnames: {0: cat, 1: dog, 2: bird}\n")


def write_lvis(root: Path, count=8):
    """As write_coco, but LVIS's JSON: no names of files, and boxes are fractions."""
    write_coco(root, count)
    (root / "images").rename(root / "val2017")
    known = json.loads((root / "instances.json").read_text())
    for image in known["images"]:
        image["coco_url"] = f"http://images.cocodataset.org/val2017/{image.pop('file_name')}"
    for one in known["annotations"]:
        one["bbox"] = [value + 0.125 for value in one["bbox"]]
    known["images"].reverse()
    (root / "lvis.json").write_text(json.dumps(known))


def write_open_images(root: Path, count=8):
    """Images, boxes.csv with rows of images that are not there, and classes.csv."""
    write_images(root / "images", count)
    rows = ["ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded"]
    for number in (3, 0, 99, *range(1, 3), *range(4, count - 1)):
        height, width = SIZES[number % len(SIZES)]
        rows += [
            f"{number:03},xclick,/m/{place % 2},1,{a / width},{c / width},{b / height},"
            f"{d / height},0"
            for place, (a, b, c, d) in enumerate(boxes_of(number, height, width).tolist())
        ]
    (root / "boxes.csv").write_text("\n".join(rows) + "\n")
    (root / "classes.csv").write_text("/m/0,Cat\n/m/1,Dog\n")


def write_kitti(root: Path, count=6):
    """A tree for Kitti(root)."""
    base = root / "Kitti" / "raw" / "training"
    write_images(base / "image_2", count, "png")
    (base / "label_2").mkdir()
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        lines = [
            f"Car 0.00 0 -1.5 {a}.5 {b}.25 {c} {d} 1.5 1.6 3.9 0.1 1.7 20.5 -1.4\n"
            for a, b, c, d in boxes_of(number, height, width).tolist()
        ]
        (base / "label_2" / f"{number:03}.txt").write_text("".join(lines))
