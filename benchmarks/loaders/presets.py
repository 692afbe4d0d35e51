"""Presets of torchvision's references: fastload's loader and PyTorch's, on the same data set,
transforms and cores.

Images have the sizes and about the bytes of a known data set's. Each variant has a process of its
own, on as many cores as workers; they take turns. The first epoch of each is dropped.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured

REFERENCE, OURS = "torch", "fastload"
VARIANTS = {REFERENCE: "PyTorch DataLoader", OURS: "fastload"}


@dataclass(frozen=True)
class Kind:
    """What is trained.

    Args:
        name: Of the benchmark; its child is benchmarks.loaders.NAME_child.
        like: Whose sizes the images have.
        presets: All of them.
        images: The folder that `write` makes below its root.
        write: Makes so many images below a root, of those in a folder of classes, with their
            annotations.
        check: Raises UsageError for settings that cannot be run.
        told: What the child is told besides.
        shown: What of that a row's settings have.
    """

    name: str
    like: str
    presets: tuple[str, ...]
    images: Path
    write: Callable[[Path, str, int], None]
    check: Callable[["Settings"], None]
    told: dict[str, Any]
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    presets: tuple[str, ...]
    workers: tuple[int, ...] = (1,)
    images: int = 200
    repetitions: int = 5

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(VARIANTS) * len(self.workers) * len(self.presets) * (self.repetitions + 1)


def run(
    kind: Kind, data: str, name: str, settings: Settings,
    on_done: Callable[[], None] = lambda: None,
) -> list[Row]:  # fmt: skip
    """Measure both on images made of those in the folder of classes `data`; on_done is called after
    each epoch.
    """
    cores = sorted(os.sched_getaffinity(0))
    loader.check(loader.Settings(settings.workers, repetitions=settings.repetitions), cores)
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        root = Path(scratch) / "data"
        kind.write(root, data, settings.images)
        about = facts.data_set(str(root / kind.images), f"{name}, in {kind.like} sizes")
        common = {"data": about, **facts.common()}
        results = loader.in_turns(
            _specs(kind, settings, str(root), cores), _key, scratch, settings.repetitions, on_done,
            f"benchmarks.loaders.{kind.name}_child",
        )  # fmt: skip
    out = []
    for spec in _specs(kind, settings, "", []):
        ours = spec["loader"] == OURS
        other = results[_key(spec | {"loader": REFERENCE})] if ours else None
        how = {"preset": spec["preset"], "cores": spec["workers"], "workers": "one per core"}
        out.append(Row(
            benchmark=kind.name, variant=VARIANTS[spec["loader"]], page_cache="warm",
            settings=how | {key: spec[key] for key in kind.shown},
            reference=VARIANTS[REFERENCE] if ours else None,
            **measured(results[_key(spec)], other), **common,
        ))  # fmt: skip
    return out


def _specs(kind: Kind, settings: Settings, root: str, cores: list[int]) -> Iterator[dict[str, Any]]:
    """What the child is told."""
    for preset in settings.presets:
        for workers in settings.workers:
            for one in VARIANTS:
                yield {
                    "loader": one, "data": root, "preset": preset, "workers": workers,
                    "cores": cores[:workers], **kind.told,
                }  # fmt: skip


def _key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['preset']} {spec['workers']}"
