"""Loaders of every kind over the same few files: every op, backend, source, mix, view, mask, order,
size and type.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Subset, WeightedRandomSampler
from torchvision import transforms as tv
from torchvision.datasets import ImageFolder

import fastload
from fastload import recipes
from fastload import transforms as T
from tests.conftest import SIZES, encoded, textured

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROP = T.RandomResizedCrop((28, 36))
FLOAT = (T.ToTensor(), T.Normalize(MEAN, STD))
OPS: dict[str, Any] = {
    "RandomHorizontalFlip": T.RandomHorizontalFlip(),
    "RandomVerticalFlip": T.RandomVerticalFlip(),
    "RandomCrop": T.RandomCrop((22, 30), padding=3),
    "Pad": T.Pad((2, 5)),
    "PadReflect": T.Pad(3, padding_mode="reflect"),
    "RandomRotation": T.RandomRotation(30, "bilinear"),
    "RandomAffine": T.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 10),
    "RandomAffineBicubic": T.RandomAffine(
        15, shear=(-8, 8, -4, 4), interpolation="bicubic", fill=7
    ),
    "RandomPerspective": T.RandomPerspective(0.4, 1.0),
    "ColorJitter": T.ColorJitter(0.4, 0.4, 0.4, 0.2),
    "Grayscale": T.Grayscale(3),
    "RandomGrayscale": T.RandomGrayscale(0.5),
    "GaussianBlur": T.GaussianBlur((5, 9), (0.1, 2.0)),
    "RandomInvert": T.RandomInvert(),
    "RandomPosterize": T.RandomPosterize(3),
    "RandomSolarize": T.RandomSolarize(120),
    "RandomAdjustSharpness": T.RandomAdjustSharpness(1.7),
    "RandomAutocontrast": T.RandomAutocontrast(),
    "RandomEqualize": T.RandomEqualize(),
    "RandAugment": T.RandAugment(),
    "RandAugmentTimm": T.RandAugment.timm("rand-m7-mstd0.5-inc1"),
    "TrivialAugmentWide": T.TrivialAugmentWide(),
    "AutoAugment": T.AutoAugment(),
    "AugMix": T.AugMix(),
    "RandomApply": T.RandomApply([T.ColorJitter(0.5), T.GaussianBlur(3)], 0.6),
    "RandomOrder": T.RandomOrder([T.RandomInvert(), T.RandomSolarize(90)]),
    "RandomChoice": T.RandomChoice([T.RandomEqualize(1.0), T.RandomPosterize(4, 1.0)]),
    "ColOut": T.ColOut(),
    "ColOut of a sample": T.ColOut(batch=False),
}
STORED = {
    "uint8": [T.ToImage()],
    "float16": [T.ToImage(), T.ToDtype(torch.float16, scale=True)],
    "bfloat16": [T.ToImage(), T.ToDtype(torch.bfloat16, scale=True)],
    "RandomErasing": [*FLOAT, T.RandomErasing(1.0)],
    "RandomErasingNoise": [*FLOAT, T.RandomErasing.timm(1.0, mode="pixel")],
}
MIXES = {
    "MixUp": T.MixUp(alpha=0.4),
    "CutMix": T.CutMix(),
    "LabelSmoothing": T.LabelSmoothing(0.1),
    "MixUp of Composer": T.MixUp.composer(),
    "CutMix of Composer": T.CutMix.composer(),
    "timm, batch": T.MixUp.timm(0.8, 1.0),
    "timm, pair": T.MixUp.timm(0.8, 1.0, mode="pair"),
    "timm, elem": T.MixUp.timm(0.8, 1.0, mode="elem"),
}
FILTERS = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")


def folder(root: str) -> str:
    """A class folder with 3 classes and 21 images:

    JPEGs of every kind, and what only Pillow reads.
    """
    kinds: list[dict[str, Any]] = [
        {},
        {"quality": 35, "subsampling": 2},
        {"progressive": True},
        {"subsampling": 1},
        {"restart_marker_blocks": 3},
        {"kind": "PNG"},
        {"kind": "WEBP"},
    ]
    for number, how in enumerate([*kinds, *kinds, *kinds]):
        height, width = SIZES[number % len(SIZES)]
        options = dict(how)
        kind = str(options.pop("kind", "JPEG"))
        place = os.path.join(root, f"class{number % 3}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"{number:02}.{kind.lower()}"), "wb") as file:
            file.write(encoded(textured(height * 2, width * 2, number), kind, **options))
    return root


def masks(root: str, images: str) -> str:
    for where, _, names in os.walk(images):
        for name in names:
            with Image.open(os.path.join(where, name)) as image:
                size = image.size
            out = os.path.join(root, os.path.relpath(where, images))
            os.makedirs(out, exist_ok=True)
            rng = np.random.default_rng(len(name))
            Image.fromarray(rng.integers(0, 5, size[::-1], dtype=np.uint8)).save(
                os.path.join(out, os.path.splitext(name)[0] + ".png")
            )
    return root


def loader(data: Any, **options: Any) -> Any:
    return fastload.DataLoader(
        data, **{"batch_size": 5, "shuffle": True, "seed": 9, "num_workers": 2} | options
    )


def of_ops(path: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    pipelines = {name: [CROP, op, *FLOAT] for name, op in OPS.items()} | {
        name: [CROP, *ops] for name, ops in STORED.items()
    }
    pipelines |= {f"resize {name}": [T.Resize((31, 27), name), *FLOAT] for name in FILTERS}
    pipelines |= {
        "center": [T.Resize(40), T.CenterCrop((30, 44)), *FLOAT],
        "timm random": [T.RandomResizedCrop(30, interpolation="random"), *FLOAT],
    }
    for name, ops in pipelines.items():
        for backend in ("native", "torch"):
            yield (
                f"{name}, {backend}",
                lambda ops=ops, backend=backend: loader(fastload.open(path, ops), backend=backend),
            )


def of_recipes(path: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in recipes.names():
        ops = [
            replace(op, size=(44, 52)) if isinstance(op, T.RandomResizedCrop) else op
            for op in recipes.load(name).ops()
        ]
        yield f"recipe {name}", lambda ops=ops: loader(fastload.open(path, ops))


def of_sizes(path: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Schedules of sizes, and decoding at a smaller scale."""
    for mode in ("decode", "resize", "crop"):
        how = fastload.ProgressiveResize(total_epochs=3, scale=0.6, delay=0.3, mode=mode)
        yield (
            f"sizes {mode}",
            lambda how=how: loader(
                fastload.open(path, [T.RandomResizedCrop(40), *FLOAT]), size_schedule=how
            ),
        )
    yield (
        "sizes listed",
        lambda: loader(
            fastload.open(path, [T.RandomResizedCrop(40), *FLOAT]), size_schedule=[24, 32]
        ),
    )
    yield (
        "scaled",
        lambda: loader(fastload.open(path, [T.Resize((9, 9)), *FLOAT]), decode_scale="fast"),
    )


def of_backends(
    path: str, beton: str, targets: str, hot: list[Any]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Mixes, views and masks, by each backend that runs them; FFCV's files."""
    for name, mix in MIXES.items():
        for backend in ("native", "torch"):
            how = {"mix": mix, "backend": backend}
            yield f"{name}, {backend}", lambda how=how: loader(fastload.open(path, hot), **how)
    large = [CROP, T.RandomHorizontalFlip(), T.ToTensor()]
    views = T.Views([(large, 2), ([T.RandomResizedCrop((16, 24)), T.ToTensor()], 3)])
    still = [T.RandomResizedCrop((28, 36)), T.RandomHorizontalFlip(), T.ToImage()]
    for backend in ("native", "torch"):
        yield (
            f"views, {backend}",
            lambda backend=backend: loader(fastload.open(path, views), backend=backend),
        )
        yield (
            f"masks, {backend}",
            lambda backend=backend: loader(
                fastload.open(path, still, masks=targets, mask_fill=255), backend=backend
            ),
        )
    for backend in ("ffcv", "dali"):
        yield (
            f"beton, {backend}",
            lambda backend=backend: loader(
                fastload.open(beton, [CROP, T.RandomHorizontalFlip(), *FLOAT]), backend=backend
            ),
        )


def of_options(
    path: str, beton: str, shards: str, targets: str
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Sources, mixes, views, masks, orders, sizes, policies."""
    hot = [CROP, T.RandomHorizontalFlip(), T.RandAugment(), *FLOAT]
    yield from of_backends(path, beton, targets, hot)
    for name, source in (("shards", shards), ("beton", beton)):
        yield name, lambda source=source: loader(fastload.open(source, hot))
    yield (
        "channels last",
        lambda: loader(fastload.open(path, hot), collate_fn=torch.utils.data.default_collate),
    )
    yield from of_sizes(path)
    yield "no seed", lambda: loader(fastload.open(path, hot), seed=None)
    weights = WeightedRandomSampler([1.0 + i % 4 for i in range(21)], 17)
    yield "weighted", lambda: loader(fastload.open(path, hot), shuffle=None, sampler=weights)
    yield "repeated", lambda: ranked(path, hot)
    yield "subset", lambda: loader(Subset(torchvision_folder(path), [3, 1, 4, 1, 5, 9, 2, 6]))
    yield "concat", lambda: loader(ConcatDataset([torchvision_folder(path)] * 2))
    for policy in ("substitute", "skip"):
        yield (
            f"bad {policy}",
            lambda policy=policy: loader(
                fastload.open(path + "-bad", hot), on_error=policy, max_bad=1.0
            ),
        )


def ranked(path: str, ops: Any) -> Any:
    data = fastload.open(path, ops)
    return loader(
        data,
        shuffle=None,
        sampler=fastload.DistributedSampler(data, num_replicas=2, rank=1, seed=4),
    )


def torchvision_folder(path: str) -> Any:
    return ImageFolder(
        path,
        tv.Compose(
            [
                tv.RandomResizedCrop((28, 36)),
                tv.RandomHorizontalFlip(),
                tv.RandAugment(),
                tv.ToTensor(),
            ]
        ),
    )


def every(
    path: str, beton: str, shards: str, targets: str
) -> Iterator[tuple[str, Callable[[], Any]]]:
    return itertools.chain(of_ops(path), of_recipes(path), of_options(path, beton, shards, targets))
