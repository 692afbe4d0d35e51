"""One transform by torchvision and by fastload's loader, on the same images."""

import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from tests.conftest import textured

SIZES = ((37, 53), (61, 40))  # height, width; px


class Outcome(NamedTuple):
    """How many of all values differ, by how much at most, and who ran it."""

    differing: int
    values: int
    most: int
    native: bool


@cache
def folder(height: int, width: int) -> str:
    """PNGs of one size: waves with noise, saturated noise, smooth shades, a constant, and noise."""
    root = Path(tempfile.mkdtemp(prefix="fidelity")) / "a"
    root.mkdir()
    rng = np.random.default_rng([height, width])
    y, x = np.mgrid[:height, :width]
    ramps = [40 + 160 * (x * (c + 1) + y * (3 - c)) / (4 * (height + width)) for c in range(3)]
    smooth = np.stack(ramps, axis=-1)
    images = [
        textured(height, width, 3), rng.integers(0, 2, (height, width, 3)) * 255,
        smooth + rng.normal(0, 1.5, smooth.shape),
        np.full((height, width, 3), (12, 130, 251)), rng.integers(0, 256, (height, width, 3)),
    ]  # fmt: skip
    for number, pixels in enumerate(images):
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(root / f"{number}.png")
    return str(root.parent)


@cache
def images(height: int, width: int) -> Sequence[Image.Image]:
    return [image for image, _ in ImageFolder(folder(height, width))]


def theirs(transform: Any, size: tuple[int, int]) -> list[NDArray[np.uint8]]:
    """torchvision's results, uint8 [height, width, channels]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(transform(image)) for image in images(*size)]


def ours(transform: Any, size: tuple[int, int]) -> tuple[list[NDArray[np.uint8]], bool]:
    """The same by fastload's loader, and whether natively."""
    sized = type(transform).__name__ in ("Compose", "RandomResizedCrop", "Resize")
    first = [] if sized else [v2.Resize(size)]  # which says the size, and changes nothing
    chain = v2.Compose([*first, transform, v2.PILToTensor()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fallback's, and torchvision's
        data = ImageFolder(folder(*size), chain)
        loader = fastload.DataLoader(data, len(data), backend="auto")
        ((batch, _),) = loader
    native = loader._route.backend == "native"
    return list(batch.permute(0, 2, 3, 1).numpy()), native


def compared(transform: Any, size: tuple[int, int]) -> Outcome:
    want, (got, native) = theirs(transform, size), ours(transform, size)
    if [a.shape for a in want] != [a.shape for a in got]:
        raise AssertionError(f"{transform}: shapes {got[0].shape}, want {want[0].shape}")
    apart = [np.abs(a.astype(int) - b.astype(int)) for a, b in zip(want, got, strict=True)]
    return Outcome(
        sum(int((d > 0).sum()) for d in apart),
        sum(d.size for d in apart),
        max(int(d.max()) for d in apart),
        native,
    )


def seeded(seed: int) -> np.random.Generator:
    torch.manual_seed(seed)
    return np.random.default_rng(seed)
