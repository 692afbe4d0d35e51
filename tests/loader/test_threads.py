"""Loaders and lazily opened images in many Python threads, with the GIL and in Pythons without one:
a loader for each thread, and one loader for all.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload.loader import lazy_images
from fastload.transforms import (
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToTensor,
    TrivialAugmentWide,
)

THREADS = 8
OPS = (
    RandomResizedCrop((16, 24)),
    RandomHorizontalFlip(),
    TrivialAugmentWide(),
    ToTensor(),
    Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
)


def in_threads(*work: Callable[[], object]) -> list[object]:
    """What each returns in a thread of its own, all begun at once; raises what one has raised."""
    start, errors = threading.Barrier(len(work)), list[BaseException]()
    results: list[object] = [None] * len(work)

    def begin(number: int) -> None:
        start.wait()
        try:
            results[number] = work[number]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def loader_of(folder: str, seed: int, workers: int, *, shuffle: bool = True) -> fastload.DataLoader:
    data = fastload.open(folder, OPS)
    return fastload.DataLoader(data, 7, shuffle=shuffle, num_workers=workers, seed=seed)


def epoch_of(loader: fastload.DataLoader) -> list[bytes]:
    return [images.numpy().tobytes() + labels.numpy().tobytes() for images, labels in loader]


def two_epochs(folder: str, seed: int, workers: int) -> list[list[bytes]]:
    loader = loader_of(folder, seed, workers)
    return [epoch_of(loader), epoch_of(loader)]


@pytest.mark.parametrize("workers", [0, 2])
def test_each_threads_loader_gives_what_it_gives_alone(folder, workers):
    alone = [two_epochs(folder, seed, workers) for seed in range(THREADS)]
    work = [lambda seed=seed: two_epochs(folder, seed, workers) for seed in range(THREADS)]
    assert in_threads(*work) == alone


@pytest.mark.parametrize("workers", [0, 2])
def test_one_loader_in_many_threads_gives_each_an_epoch_of_its_own(folder, workers):
    # Without workers a shuffled order is drawn at the first batch, from a generator that the epochs
    # share.
    one, shared = (loader_of(folder, 5, workers, shuffle=workers > 0) for _ in range(2))
    alone = [epoch_of(one) for _ in range(2 * THREADS)]
    epochs = in_threads(*[lambda: [epoch_of(shared), epoch_of(shared)]] * THREADS)
    assert sorted(epoch for pair in epochs for epoch in pair) == sorted(alone)
    assert shared.stats()["images"] == 2 * THREADS * 40


def test_loaders_are_dropped_in_mid_epoch_in_many_threads(folder):
    wanted = two_epochs(folder, 3, 2)

    def use() -> list[list[bytes]]:
        for seed in range(5):
            next(iter(loader_of(folder, seed, 2)))
        return two_epochs(folder, 3, 2)

    assert in_threads(*[use] * THREADS) == [wanted] * THREADS


def test_images_are_opened_and_closed_in_many_threads(folder):
    paths = sorted(Path(folder).glob("*/*.jpg"))[:12]
    wanted = [np.asarray(Image.open(path).convert("RGB")) for path in paths]

    def use() -> None:
        for _ in range(5):
            with lazy_images.opened_lazily():
                images = [Image.open(path) for path in paths]
            for image, pixels in zip(images, wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(image.convert("RGB")), pixels)
                image.close()

    in_threads(*[use] * THREADS)
