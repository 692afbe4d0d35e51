"""What a build is timed at: functions of a spec that prepare a work, and return what does it once
and says its rate.
"""

import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import fastload
from benchmarks.loaders import child, overhead
from benchmarks.loaders.beside_child import Feed
from fastload.errors import FallbackWarning

Work = Callable[[], float]
STEPS, OPERATORS = 300, 400  # of one turn; small operators of each step


def decode(spec: dict[str, Any]) -> Work:
    """Whole JPEGs from memory, images/s."""
    files = [path.read_bytes() for path in sorted(Path(spec["data"]).glob("*/*"))]

    def run() -> float:
        start = time.perf_counter()
        for data in files:
            fastload.image.decode(data)
        return len(files) / (time.perf_counter() - start)

    return run


def loader(spec: dict[str, Any]) -> Work:
    """An epoch of `benchmarks loader`, images/s."""
    made = child.make_loader({**spec, "loader": "fastload"})
    return lambda: child.epoch(made)


def loops(spec: dict[str, Any]) -> Work:
    """An epoch in each of so many threads, of a loader of its own; images/s of all.

    The images are tiny and the recipe is Hot's, so much of the work is Python's.
    """
    folder = Path(spec["data"])
    loaders = [overhead.make_loader(folder, folder, "hot", "folder", 64) for _ in threads(spec)]
    return lambda: together([lambda one=one: epoch(one) for one in loaders])


def transforms(spec: dict[str, Any]) -> Work:
    """An epoch in each of so many threads, of a loader without workers and with a step in Python
    that fastload does not know; images/s of all.
    """
    from torchvision.transforms import Compose, RandomResizedCrop, ToTensor

    warnings.simplefilter("ignore", FallbackWarning)  # that is what is measured
    chain = Compose([RandomResizedCrop(224), rolled, ToTensor()])
    loaders = [fastload.DataLoader(Photographs(spec["data"], chain), 64) for _ in threads(spec)]
    return lambda: together([lambda one=one: epoch(one) for one in loaders])


def steps(spec: dict[str, Any]) -> Work:
    """A training's steps of small operators, each after a batch of a loader; steps/s."""
    torch.set_num_threads(1)
    folder = Path(spec["data"])
    feed = Feed(overhead.make_loader(folder, folder, "hot", "folder", 32))
    some = torch.ones(16, 16)

    def run() -> float:
        start = time.perf_counter()
        for _ in range(STEPS):
            feed.take()
            overhead.step(some, OPERATORS)
        return STEPS / (time.perf_counter() - start)

    return run


WORKS: dict[str, Callable[[dict[str, Any]], Work]] = {
    "decode": decode,
    "loader": loader,
    "loops": loops,
    "transforms": transforms,
    "steps": steps,
}


class Photographs(torch.utils.data.Dataset[Any]):
    """A data set of a user's own: images that Pillow opens."""

    def __init__(self, folder: str, transform: Callable[[Any], Any]) -> None:
        self.paths = sorted(Path(folder).glob("*/*"))
        self.transform = transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        with Image.open(self.paths[index]) as image:
            return self.transform(image.convert("RGB")), hash(index)  # which is not followed


def rolled(image: Image.Image) -> np.ndarray:
    """Each row is moved by its own number of px: Python calls NumPy once a row."""
    return np.stack([np.roll(row, number % 7, 0) for number, row in enumerate(np.asarray(image))])


def threads(spec: dict[str, Any]) -> range:
    return range(spec["threads"])


def epoch(batches: Any) -> int:
    """Its images."""
    return sum(len(images) for images, _ in batches)


def together(loops: list[Callable[[], int]]) -> float:
    """Images per second of all threads, until the last one ends."""
    counts = [0] * len(loops)

    def run(number: int) -> None:
        counts[number] = loops[number]()

    crew = [threading.Thread(target=run, args=(number,)) for number in range(len(loops))]
    start = time.perf_counter()
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    if not all(counts):
        raise SystemExit("a thread ended without its images; see its message above")
    return sum(counts) / (time.perf_counter() - start)
