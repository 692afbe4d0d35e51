"""Batches by aspect-ratio buckets: fastload's, and PyTorch's loader with a Python batch sampler and
a data set that resizes and crops each image to its bucket by Pillow.

SDXL's pipeline: resized bilinearly so that the image covers its bucket, random crop, flip, to
float32 from -1 to 1. Its buckets are of `side` squared px, in steps of a sixteenth of that, up to 2
to 1. Each variant has a process of its own, on as many cores as workers; they take turns. The first
epoch of each is dropped.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured

REFERENCE, OURS = "torch", "fastload"
VARIANTS = {REFERENCE: "PyTorch DataLoader, buckets by hand", OURS: "fastload, BucketSampler"}
PIXELS = 8 << 20  # of a batch: fewer images where they are large
STEPS = 16  # of a side


@dataclass(frozen=True)
class Settings:
    workers: tuple[int, ...] = (1,)
    sides: tuple[int, ...] = (256, 512, 1024)  # px
    repetitions: int = 5

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(VARIANTS) * len(self.workers) * len(self.sides) * (self.repetitions + 1)


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure both on the folder of classes `data`; on_done is called after each epoch."""
    cores = sorted(os.sched_getaffinity(0))
    loader.check(loader.Settings(settings.workers, repetitions=settings.repetitions), cores)
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        results = loader.in_turns(
            specs(settings, data, cores), key, scratch, settings.repetitions, on_done,
            "benchmarks.loaders.bucket_child",
        )  # fmt: skip
    out = []
    for spec in specs(settings, "", []):
        sample = results[key(spec)]
        ours = spec["loader"] == OURS
        out.append(Row(
            benchmark="buckets", variant=VARIANTS[spec["loader"]], page_cache="warm",
            settings={"side": spec["side"], "cores": spec["workers"], "workers": "one per core"},
            reference=VARIANTS[REFERENCE] if ours else None,
            **measured(sample, results[key(spec | {"loader": REFERENCE})] if ours else None),
            **common,
        ))  # fmt: skip
    return out


def specs(settings: Settings, data: str, cores: list[int]) -> Iterator[dict[str, Any]]:
    """What benchmarks.loaders.bucket_child is told."""
    for side in settings.sides:
        for workers in settings.workers:
            for one in VARIANTS:
                yield {
                    "loader": one, "data": data, "side": side, "step": max(1, side // STEPS),
                    "workers": workers, "cores": cores[:workers],
                    "batch_size": max(1, PIXELS // side**2), "output": "float32",
                }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['side']} {spec['workers']}"
