"""Detection presets of torchvision's references, and mixes of several images: images of COCO's
sizes, with seven boxes each.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastload
from benchmarks.loaders.presets import Kind, Settings
from fastload.errors import UsageError
from fastload.system.distributions import version_of

# Width and height, px, of COCO's images: the most frequent ones, each as often as it stands here
SIZES = ((640, 480), (640, 480), (640, 480), (640, 427), (640, 427), (480, 640), (427, 640),
         (640, 640), (640, 360), (500, 375))  # fmt: skip
QUALITY = 92  # about 150 kB for 640x480 px of a photograph, as train2017 has
BOXES, CATEGORIES = 7, 80  # of an image; in all
CORNERS = 24  # of an outline, about as many as COCO's have


def check(_: Settings) -> None:
    """Raises UsageError where torchvision cannot read COCO."""
    if version_of("pycocotools") is None:
        raise UsageError(
            "benchmarks: detection: torchvision's CocoDetection needs pycocotools (got none); "
            "pip install pycocotools"
        )


def write(root: Path, data: str, count: int) -> None:
    """Images below root/images/all, and their instances.json."""
    paths = [path for path, _ in fastload.open(data).samples]
    (root / "images" / "all").mkdir(parents=True)
    images, annotations = [], []
    for number in range(count):
        width, height = SIZES[number % len(SIZES)]
        name = f"{number:06}.jpg"
        with Image.open(paths[number % len(paths)]) as image:
            whole = image.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
        whole.save(root / "images" / "all" / name, quality=QUALITY)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        annotations += boxes(number, width, height)
    categories = [{"id": one, "name": str(one)} for one in range(1, CATEGORIES + 1)]
    known = {"images": images, "annotations": annotations, "categories": categories}
    (root / "instances.json").write_text(json.dumps(known))


def boxes(image: int, width: int, height: int) -> list[dict[str, Any]]:
    """Annotations of an image as COCO has them."""
    rng = np.random.default_rng(image)
    out = []
    for number in range(BOXES):
        wide, high = (rng.uniform(0.05, 0.5, 2) * (width, height)).round(2)
        left, top = (rng.uniform(0, 1, 2) * (width - wide, height - high)).round(2)
        out.append({
            "id": image * BOXES + number, "image_id": image, "iscrowd": 0,
            "category_id": int(rng.integers(1, CATEGORIES + 1)),
            "bbox": [float(left), float(top), float(wide), float(high)],
            "area": float(wide * high),
            "segmentation": [ellipse(left + wide / 2, top + high / 2, wide / 2, high / 2)],
        })  # fmt: skip
    return out


def ellipse(x: float, y: float, across: float, down: float) -> list[float]:
    """A polygon around a center, with the radii `across` and `down`, px: x and y of each corner."""
    angles = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    corners = np.stack([x + across * np.cos(angles), y + down * np.sin(angles)], axis=1)
    out: list[float] = corners.round(2).ravel().tolist()
    return out


PRESETS = ("hflip", "multiscale", "lsj", "ssd", "ssdlite")
MIXES = ("mosaic", "mixup", "copypaste")
KIND = Kind(
    "detection", "COCO's", (*PRESETS, *MIXES), Path("images"), write, check,
    {"batch_size": 4, "output": "float32"},
)  # fmt: skip
