"""What the drop-in gains: each public pipeline of docs/pipelines.md by PyTorch's loader and by
fastload's, on the same data with as many workers.

fastload's loader has seen the folder once, in its first epoch, and collected the seek index.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.utils.data
from PIL import Image, ImageOps

import fastload
from benchmarks.pages import pipelines
from benchmarks.pages.pipelines_parts import Pipeline
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.errors import UsageError
from fastload.measure import interleaved, rate

TORCH, OURS = "PyTorch DataLoader", "fastload"
CLASSES: dict[str, Any] = {TORCH: torch.utils.data.DataLoader, OURS: fastload.DataLoader}
SECONDS = 1.0  # of one repetition, at least
NO_FILES = "torchvision segmentation, train"  # its data set cannot be made of a folder of classes
OF_PILLOW = "Composer ResNet-50, train"  # its transform gives Pillow's images


@dataclass(frozen=True)
class Settings:
    workers: int = 2
    batch_size: int = 16
    images: int = 256  # of one epoch
    repetitions: int = 5
    names: tuple[str, ...] = ("",)  # parts of the names of the pipelines that are measured

    def check(self) -> None:
        """Raises UsageError where nothing would be measured."""
        if not measurable(self):
            raise UsageError(
                f"gains: --pipelines is {', '.join(self.names)}, want parts of names in "
                "docs/pipelines.md"
            )


class Some(torch.utils.data.Sampler[int]):
    """All samples in the first epoch; then so many of them at random."""

    def __init__(self, samples: int, images: int) -> None:
        self.samples, self.images, self.epochs = samples, images, 0
        self.rng = np.random.default_rng(0)

    def __iter__(self) -> Iterator[int]:
        self.epochs += 1
        if self.epochs == 1:
            return iter(range(self.samples))
        return iter(self.rng.integers(0, self.samples, self.images).tolist())


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> Iterator[Row]:
    """Two rows per pipeline; on_done is called after each repetition of each variant."""
    common = {"data": facts.data_set(data, name), **facts.common()}
    for pipeline in measurable(settings):
        loaders = {kind: loader(kind, pipeline, data, settings) for kind in CLASSES}
        for one in loaders.values():  # starts the workers, and collects the seek index
            epoch(one, settings.images)
        runs = {
            kind: partial(rate, partial(epoch, one, settings.images), SECONDS)
            for kind, one in loaders.items()
        }
        results = interleaved(runs, settings.repetitions, on_done)
        shown = {
            "pipeline": pipeline.name, "size": pipeline.size, "workers": settings.workers,
            "batch_size": settings.batch_size,
        }  # fmt: skip
        for kind, sample in results.items():
            reference = results[TORCH] if kind == OURS else None
            yield Row(
                benchmark="gains", variant=kind, settings=shown,
                reference=None if reference is None else TORCH,
                page_cache="warm", **measured(sample, reference), **common,
            )  # fmt: skip


def measurable(settings: Settings) -> list[Pipeline]:
    """Those with one of the settings' names."""
    return [
        pipeline
        for pipeline in pipelines.PIPELINES
        if pipeline.name != NO_FILES and any(name in pipeline.name for name in settings.names)
    ]


def turns(settings: Settings) -> int:
    """How often on_done is called."""
    return len(measurable(settings)) * len(CLASSES) * settings.repetitions


def loader(kind: str, pipeline: Pipeline, data: str, settings: Settings) -> Any:
    """Of one class; PyTorch's begins with its short epochs."""
    dataset = pipelines.dataset(pipeline, data, pipeline.size)
    sampler = Some(len(dataset), settings.images)
    given: dict[str, Any] = {}
    if pipeline.name == OF_PILLOW:
        given["collate_fn"] = of_pillow
    if kind == TORCH:
        sampler.epochs = 1
        given["worker_init_fn"] = old_posterize
    return CLASSES[kind](
        dataset,
        settings.batch_size,
        sampler=sampler,
        num_workers=settings.workers,
        persistent_workers=settings.workers > 0,
        **given,
    )


def of_pillow(samples: list[tuple[Image.Image, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """uint8 [N, H, W, 3] and labels, as Composer's collate function makes them, but for the
    layout.
    """
    pixels = np.stack([np.asarray(image) for image, _ in samples])
    return torch.from_numpy(pixels), torch.tensor([label for _, label in samples])


def old_posterize(_: int) -> None:
    """In a worker: timm's policies keep 0 bits at times, which Pillow 13 refuses and older ones
    make black, as fastload does.
    """
    posterize = ImageOps.posterize

    def without_bits(image: Image.Image, bits: int) -> Image.Image:
        return posterize(image, bits) if bits else Image.new("RGB", image.size)

    ImageOps.posterize = without_bits


def epoch(one: Any, images: int) -> int:
    for _ in one:
        pass
    return images
