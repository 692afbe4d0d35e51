"""A folder in which some images are bad, and loaders of it."""

import numpy as np

import fastload
from fastload import transforms as T

OPS = [T.RandomResizedCrop((8, 12), scale=(0.5, 1)), T.RandomHorizontalFlip()]
CLASSES, PER_CLASS = 4, 10
BAD = (3, 11, 12, 13, 30)  # two ways in turn: no image at all, and one that is cut off


def colour(label: int) -> tuple[int, int, int]:
    """Of all images of a class."""
    return (40 + 50 * label, 200 - 40 * label, 90)


def fill(root, encode, bad=BAD, per_class=PER_CLASS):
    """ROOT/CLASS/NAME.jpg, all images of a class in its colour; those in `bad` are broken."""
    good = {}
    for label in range(CLASSES):
        pixels = np.broadcast_to(np.array(colour(label), np.uint8), (48, 40, 3)).copy()
        pixels[::7, ::5] += 9
        good[label] = encode(pixels, quality=95)
    for number in range(CLASSES * per_class):
        label = number // per_class
        path = root / f"class{label}" / f"{number:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = good[label]
        path.write_bytes(
            data if number not in bad else (b"no image", data[: len(data) * 2 // 3])[number % 2]
        )
    return str(root)


def with_bad_ones(tmp_path, encode):
    return fill(tmp_path / "data", encode)


def loader(root, policy="substitute", ops=OPS, **named):
    options = {
        "batch_size": 6,
        "shuffle": True,
        "seed": 3,
        "num_workers": 2,
        "max_bad": 0.5,
        "backend": "native",
        **named,
    }
    return fastload.DataLoader(fastload.open(root, ops), on_error=policy, **options)
