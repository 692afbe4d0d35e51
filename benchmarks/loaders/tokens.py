"""Batches of tokens: fastload's, and timm's NaFlex loader in PyTorch's workers.

timm's training pipeline without its colours: a random box of 30 % of the image or more, resized
bicubically so that its patches fit the length, flip, to normalised float32, patches of 16 px,
batches of `tokens`. Each variant has a process of its own, on as many cores as workers; they take
turns. The first epoch of each is dropped.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured

REFERENCE, OURS = "timm", "fastload"
VARIANTS = {REFERENCE: "timm's NaFlex loader", OURS: "fastload, TokenSampler"}
TOKENS = 16384  # of a batch


@dataclass(frozen=True)
class Settings:
    workers: tuple[int, ...] = (1,)
    lengths: tuple[int, ...] = (128, 256, 576, 1024)  # tokens of an image
    repetitions: int = 5

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(VARIANTS) * len(self.workers) * len(self.lengths) * (self.repetitions + 1)


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
            "benchmarks.loaders.token_child",
        )  # fmt: skip
    out = []
    for spec in specs(settings, "", []):
        sample = results[key(spec)]
        ours = spec["loader"] == OURS
        how = {"length": spec["length"], "cores": spec["workers"], "workers": "one per core"}
        out.append(Row(
            benchmark="tokens", variant=VARIANTS[spec["loader"]], page_cache="warm", settings=how,
            reference=VARIANTS[REFERENCE] if ours else None,
            **measured(sample, results[key(spec | {"loader": REFERENCE})] if ours else None),
            **common,
        ))  # fmt: skip
    return out


def specs(settings: Settings, data: str, cores: list[int]) -> Iterator[dict[str, Any]]:
    """What benchmarks.loaders.token_child is told."""
    for length in settings.lengths:
        for workers in settings.workers:
            for one in VARIANTS:
                yield {
                    "loader": one, "data": data, "length": length, "workers": workers,
                    "cores": cores[:workers], "tokens": TOKENS,
                }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['length']} {spec['workers']}"
