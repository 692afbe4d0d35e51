"""Detection presets of torchvision's references: fastload's loader and PyTorch's, on the same data
set, transforms and cores.

Images have the sizes and about the bytes of COCO's train2017, and seven boxes each. Each variant
has a process of its own, on as many cores as workers; they take turns. The first epoch of each is
dropped.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastload
from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.errors import UsageError
from fastload.system.distributions import version_of

REFERENCE, OURS = "torch", "fastload"
VARIANTS = {REFERENCE: "PyTorch DataLoader", OURS: "fastload"}
PRESETS = ("hflip", "multiscale", "lsj", "ssd", "ssdlite")
# Width and height, px, of COCO's images: the most frequent ones, each as often as it stands here
SIZES = ((640, 480), (640, 480), (640, 480), (640, 427), (640, 427), (480, 640), (427, 640),
         (640, 640), (640, 360), (500, 375))  # fmt: skip
QUALITY = 92  # about 150 kB for 640x480 px of a photograph, as train2017 has
BOXES, CATEGORIES = 7, 80  # of an image; in all


@dataclass(frozen=True)
class Settings:
    workers: tuple[int, ...] = (1,)
    presets: tuple[str, ...] = PRESETS
    images: int = 200
    repetitions: int = 5

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(VARIANTS) * len(self.workers) * len(self.presets) * (self.repetitions + 1)

    def check(self) -> None:
        """Raises UsageError, before images are made."""
        if version_of("pycocotools") is None:
            raise UsageError(
                "benchmarks: detection: torchvision's CocoDetection needs pycocotools (got none); "
                "pip install pycocotools"
            )


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure both on images made of those in the folder of classes `data`; on_done is called after
    each epoch.
    """
    cores = sorted(os.sched_getaffinity(0))
    loader.check(loader.Settings(settings.workers, repetitions=settings.repetitions), cores)
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        root = Path(scratch) / "coco"
        write(root, data, settings.images)
        about = facts.data_set(str(root / "images"), f"{name}, in COCO's sizes")
        common = {"data": about, **facts.common()}
        results = loader.in_turns(
            specs(settings, str(root), cores), key, scratch, settings.repetitions, on_done,
            "benchmarks.loaders.detection_child",
        )  # fmt: skip
    out = []
    for spec in specs(settings, "", []):
        ours = spec["loader"] == OURS
        other = results[key(spec | {"loader": REFERENCE})] if ours else None
        out.append(Row(
            benchmark="detection", variant=VARIANTS[spec["loader"]], page_cache="warm",
            settings={
                "preset": spec["preset"], "cores": spec["workers"], "workers": "one per core",
            },
            reference=VARIANTS[REFERENCE] if ours else None,
            **measured(results[key(spec)], other), **common,
        ))  # fmt: skip
    return out


def specs(settings: Settings, root: str, cores: list[int]) -> Iterator[dict[str, Any]]:
    """What benchmarks.loaders.detection_child is told."""
    for preset in settings.presets:
        for workers in settings.workers:
            for one in VARIANTS:
                yield {
                    "loader": one, "data": root, "preset": preset, "workers": workers,
                    "cores": cores[:workers], "batch_size": 4, "output": "float32",
                }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['preset']} {spec['workers']}"


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
            "area": float(wide * high), "segmentation": [],
        })  # fmt: skip
    return out
