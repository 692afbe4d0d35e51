"""Segmentation: fastload's loader and PyTorch's, on the same data set, transforms and cores.

Images have the sizes and about the bytes of Pascal VOC's, and masks of classes as palette PNGs.
Each variant has a process of its own, on as many cores as workers; they take turns. The first epoch
of each is dropped.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import fastload
from benchmarks.loaders import loader
from benchmarks.loaders.detection import OURS, REFERENCE, VARIANTS, key
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.errors import UsageError

PRESETS = ("train", "eval", "colour")
BATCH = 8  # as torchvision's references
# Width and height, px, of VOC's images: the most frequent ones, each as often as it stands here
SIZES = ((500, 375), (500, 375), (500, 375), (500, 375), (500, 333), (500, 333), (375, 500),
         (375, 500), (333, 500), (500, 334))  # fmt: skip
QUALITY = 96  # about 110 kB for 500x375 px of a photograph, as VOC2012 has
OBJECTS, CATEGORIES, EDGE = 4, 20, 255  # of an image; in all; the class of outlines, 5 px wide
BASE = Path("VOCdevkit", "VOC2012")


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
        if self.images < BATCH:
            raise UsageError(
                f"benchmarks: segmentation: --images is {self.images} (want {BATCH} or more); an "
                "epoch has whole batches"
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
        root = Path(scratch) / "voc"
        write(root, data, settings.images)
        about = facts.data_set(str(root / BASE / "JPEGImages"), f"{name}, in Pascal VOC's sizes")
        common = {"data": about, **facts.common()}
        results = loader.in_turns(
            specs(settings, str(root), cores), key, scratch, settings.repetitions, on_done,
            "benchmarks.loaders.segmentation_child",
        )  # fmt: skip
    out = []
    for spec in specs(settings, "", []):
        ours = spec["loader"] == OURS
        other = results[key(spec | {"loader": REFERENCE})] if ours else None
        out.append(Row(
            benchmark="segmentation", variant=VARIANTS[spec["loader"]], page_cache="warm",
            settings={
                "preset": spec["preset"], "cores": spec["workers"], "workers": "one per core",
                "batch_size": BATCH,
            },
            reference=VARIANTS[REFERENCE] if ours else None,
            **measured(results[key(spec)], other), **common,
        ))  # fmt: skip
    return out


def specs(settings: Settings, root: str, cores: list[int]) -> Iterator[dict[str, Any]]:
    """What benchmarks.loaders.segmentation_child is told."""
    for preset in settings.presets:
        for workers in settings.workers:
            for one in VARIANTS:
                yield {
                    "loader": one, "data": root, "preset": preset, "workers": workers,
                    "cores": cores[:workers], "batch_size": BATCH,
                }  # fmt: skip


def write(root: Path, data: str, count: int) -> None:
    """A tree of VOC2012 that VOCSegmentation reads, with its list of the images to train on."""
    paths = [path for path, _ in fastload.open(data).samples]
    images, masks = root / BASE / "JPEGImages", root / BASE / "SegmentationClass"
    lists = root / BASE / "ImageSets" / "Segmentation"
    for folder in (images / "all", masks / "all", lists):
        folder.mkdir(parents=True)
    for number in range(count):
        size = SIZES[number % len(SIZES)]
        with Image.open(paths[number % len(paths)]) as image:
            whole = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        whole.save(images / "all" / f"{number:06}.jpg", quality=QUALITY)
        mask(number, *size).save(masks / "all" / f"{number:06}.png")
    names = "".join(f"all/{number:06}\n" for number in range(count))
    (lists / "train.txt").write_text(names)


def mask(number: int, width: int, height: int) -> Image.Image:
    """Outlined shapes of classes on 0, as VOC has them: a palette image."""
    rng = np.random.default_rng(number)
    made = Image.new("P", (width, height))
    made.putpalette(rng.integers(0, 256, 768, dtype=np.uint8).tobytes())
    draw = ImageDraw.Draw(made)
    for _ in range(OBJECTS):
        middle = rng.uniform(0, 1, 2) * (width, height)
        angles = np.sort(rng.uniform(0, 2 * np.pi, 24))
        away = rng.uniform(0.15, 0.4) * height * rng.uniform(0.7, 1.0, len(angles))
        corners = middle + away[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        one = int(rng.integers(1, CATEGORIES + 1))
        draw.polygon([tuple(corner) for corner in corners.tolist()], one, EDGE, width=5)
    return made
