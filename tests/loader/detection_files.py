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
