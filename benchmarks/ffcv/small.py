"""Images so small that only the feeding counts: 40 px as pixels, random crops of 32 px and flips,
on one core.

FFCV and fastload read them from one .beton file. As arrays in memory, in the planes of
torchvision's CIFAR10, PyTorch reads them too. Each variant has a process of its own, and they take
turns; the first epoch, which compiles, is dropped.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks import runs
from benchmarks.ffcv.compare import convert
from benchmarks.loaders.loader import in_turns
from benchmarks.report import facts
from benchmarks.report.row import Row, figure, measured
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.cli.output import progress
from fastload.errors import BackendError
from fastload.measure import Sample, ratio

# By loader
VARIANTS = {
    "ffcv": "FFCV",
    "backend": "fastload, backend ffcv",
    "native": "fastload, native",
    "planes": "fastload, native, arrays in memory",
    "torch": "PyTorch's DataLoader, arrays in memory",
}
REFERENCE = "ffcv"
IN_MEMORY = ("planes", "torch")
SIDE = 40  # px of an image
SLOW = 10  # how many times fewer images an epoch of PyTorch's has


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    batch_sizes: tuple[int, ...] = (512, 64)
    images: int = 10_000
    passes: int = 10  # how often an epoch has each image
    size: int = 32  # px, of a crop
    repetitions: int = 7

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(self.batch_sizes) * len(VARIANTS) * (self.repetitions + 1)


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure every variant on images cut from those below the folder `data`."""
    if why := ffcv_installed.problem():
        raise BackendError(f"ffcv: {why}")
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        folder = cut(data, os.path.join(scratch, "images"), settings.images)
        common = {"data": facts.data_set(folder, f"{name}, cut"), **facts.common()}
        files = {
            "beton": convert(folder, os.path.join(scratch, "small.beton"), "raw"),
            "arrays": stacked(folder, os.path.join(scratch, "small.npy")),
        }
        results = in_turns(
            specs(settings, files), key, scratch, settings.repetitions, on_done,
            "benchmarks.ffcv.small_child",
        )  # fmt: skip
    return rows(settings, results, common)


def cut(data: str, folder: str, count: int) -> str:
    """A folder of two classes with `count` PNGs of SIDE px, of random squares of `data`'s."""
    paths = sorted(path for path in Path(data).rglob("*") if path.is_file())
    draw = np.random.default_rng(0)
    for number in range(count):
        if number % 10 == 0:  # from one image
            image = Image.open(paths[number // 10 % len(paths)]).convert("RGB")
        side = int(draw.integers(1, min(image.size) + 1))
        left, top = (int(draw.integers(0, whole - side + 1)) for whole in image.size)
        small = image.resize((SIDE, SIDE), box=(left, top, left + side, top + side))
        path = Path(folder, f"class {number % 2}", f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        small.save(path)
    return folder


def stacked(folder: str, path: str) -> str:
    """Their pixels in planes, uint8 [N, 3, SIDE, SIDE], as a NumPy file."""
    images = [np.asarray(Image.open(one)) for one in sorted(Path(folder).rglob("*.png"))]
    np.save(path, np.stack(images).transpose(0, 3, 1, 2))
    return path


def specs(settings: Settings, files: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What benchmarks.ffcv.small_child is told; a loader's batch sizes stand side by side, since
    a machine's speed changes from minute to minute.
    """
    core = min(os.sched_getaffinity(0))
    for loader in VARIANTS:
        for batch_size in settings.batch_sizes:
            passes = max(1, settings.passes // (SLOW if loader == "torch" else 1))
            kind = "arrays" if loader in IN_MEMORY else "beton"
            yield {
                "loader": loader, "augment": False, "data": files.get(kind, ""), "workers": 1,
                "cores": [core], "batch_size": batch_size, "size": settings.size, "passes": passes,
            }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['batch_size']}"


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant, compared with FFCV's at the same batch size, and with itself at the
    first batch size.
    """
    out, first = [], settings.batch_sizes[0]
    for spec in sorted(
        specs(settings, {}), key=lambda spec: settings.batch_sizes.index(spec["batch_size"])
    ):
        loader = spec["loader"]
        shown = {
            "batch_size": spec["batch_size"], "size": spec["size"], "cores": 1, "workers": 1,
            "output": "uint8", "order": "random",
        }  # fmt: skip
        rate, other = results[key(spec)], results[key(spec | {"batch_size": first})]
        against = None if loader == REFERENCE else results[key(spec | {"loader": REFERENCE})]
        beside = {} if rate is other else figure(f"of_batches_of_{first}", ratio(rate, other))
        out.append(Row(
            benchmark="small", variant=VARIANTS[loader], settings=shown,
            reference=None if against is None else VARIANTS[REFERENCE],
            page_cache="warm", also=beside, **measured(rate, against), **common,
        ))  # fmt: skip
    return out


def add(verb: argparse.ArgumentParser) -> None:
    """The arguments of `python -m benchmarks small`."""
    verb.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> None:
    settings = Settings(repetitions=given.repetitions)
    with (
        runs.images_of(given) as (folder, name),
        progress("small", settings.turns, "epochs") as advance,
    ):
        runs.show(run(folder, name, settings, advance), given)
