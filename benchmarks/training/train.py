"""Does a network learn as well from fastload's batches as from PyTorch's? And would this check
notice if not?

A small network learns generated images (`train_images`) from the same initial weights and in the
same order of samples, once per seed and pipeline: torchvision's on PyTorch's DataLoader, the same
on fastload's, and fastload's broken on purpose. What is compared is the accuracy on test images;
differences are paired by seed, with Student's 95 % confidence interval.
"""

import hashlib
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import nn
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from benchmarks.report import facts
from benchmarks.report.row import Row, figure, measured
from benchmarks.training import images as train_images
from fastload.errors import BackendError, UsageError
from fastload.measure import Interval, Sample

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE, TEST_SIDE = 32, 40  # px; larger for testing, as in the recipe Hot (FixRes)
WIDTH = 16  # channels of the first layer
RATE, DECAY, WARM_UP = 0.01, 0.02, 0.2  # AdamW; the peak, then by a cosine to 0; share of the steps
SMOOTHING = 0.1
# Student's t, two-sided 95 %, by degrees of freedom. Source: Student 1908 (doi:10.2307/2331554), as
# in every textbook's table.
STUDENT = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
}
Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Settings:
    """Of one run; the defaults are what is published."""

    seeds: int = 5
    epochs: int = 24
    train_images: int = 1000
    test_images: int = 5000
    batch_size: int = 32

    def check(self) -> None:
        """Raise UsageError for what cannot be run, before images are made."""
        most, classes = max(STUDENT) + 1, len(train_images.CLASSES)
        bounds = {
            "seeds": (1, most),
            "epochs": (1, 1000),
            "train_images": (2 * self.batch_size, 10**6),
            "test_images": (classes, 10**6),
        }
        problems = [
            f"{name}: {getattr(self, name)} (want {low} to {high}); choose another"
            for name, (low, high) in bounds.items()
            if not low <= getattr(self, name) <= high
        ]
        if problems:
            raise UsageError("\n".join(problems))


@dataclass(frozen=True)
class Pipeline:
    """A way from files to batches; `damage` comes after it."""

    name: str
    fast: bool = True  # fastload's loader, not PyTorch's
    centred: bool = False  # the same crop of every image, always
    damage: Callable[[torch.Tensor, torch.Tensor], Batch] = lambda images, labels: (images, labels)


PIPELINES = {
    "torchvision": Pipeline("torchvision, PyTorch DataLoader", fast=False),
    "fastload": Pipeline("fastload"),
    "labels": Pipeline(
        "broken: labels shifted by one image",
        damage=lambda images, labels: (images, labels.roll(-1)),
    ),
    "crops": Pipeline("broken: crops always centred, none scaled", centred=True),
    "channels": Pipeline(
        "broken: red and blue swapped", damage=lambda images, labels: (images.flip(1), labels)
    ),
}
REFERENCE, BROKEN = "torchvision", ("labels", "crops", "channels")


def run(settings: Settings, on_done: Callable[[], None] = lambda: None) -> list[Row]:
    """One row per pipeline; on_done is called after each training."""
    settings.check()
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch, one_thread():
        train, test = Path(scratch) / "train", Path(scratch) / "test"
        train_images.make_folder(train, settings.train_images, train_images.TRAIN)
        train_images.make_folder(test, settings.test_images, train_images.TEST)
        common = {"data": facts.data_set(str(train), "generated shapes"), **facts.common()}
        tests = whole(test)
        results: dict[str, list[float]] = {key: [] for key in PIPELINES}
        orders = set()
        for seed, key in product(range(settings.seeds), PIPELINES):
            network, order = learn(train, PIPELINES[key], seed, settings)
            results[key].append(accuracy(network, *tests))
            orders.add((seed, order))
            on_done()
    if len(orders) != settings.seeds:
        raise BackendError(
            f"train: {len(orders)} orders of samples (want {settings.seeds}, one per seed); report "
            "this"
        )
    return rows(settings, results, common)


@contextmanager
def one_thread() -> Any:
    """One thread learns, so that a core is left for the loader and the same seed gives the same
    sums.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def recipe(centred: bool) -> transforms.Compose:
    """What torchvision has of the recipe Hot's data path, small; centred: without its random
    crop.
    """
    crop = (
        [transforms.Resize(SIDE), transforms.CenterCrop(SIDE)]
        if centred
        else [transforms.RandomResizedCrop(SIDE)]
    )
    augment = [transforms.RandomHorizontalFlip(), transforms.RandAugment(num_ops=1)]
    return transforms.Compose(
        [*crop, *augment, transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    )


def make_loader(folder: Path, pipeline: Pipeline, seed: int, batch_size: int) -> Any:
    """The same arguments for both loaders."""
    dataset = ImageFolder(str(folder), recipe(pipeline.centred))
    order = torch.Generator().manual_seed(seed)
    how: dict[str, Any] = {
        "batch_size": batch_size,
        "shuffle": True,
        "drop_last": True,
        "num_workers": 1,
        "generator": order,
    }
    if pipeline.fast:
        return fastload.DataLoader(dataset, backend="native", seek_index="use", **how)
    return torch.utils.data.DataLoader(dataset, **how)


def make_network() -> nn.Sequential:
    """Four convolutions; for any image size."""
    widths = [3, WIDTH, 2 * WIDTH, 3 * WIDTH, 4 * WIDTH]
    layers: list[nn.Module] = []
    for before, after, stride in zip(widths, widths[1:], (2, 1, 2, 2), strict=False):
        layers += [
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        ]
    return nn.Sequential(
        *layers,
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(widths[-1], len(train_images.CLASSES)),
    )


def learn(folder: Path, pipeline: Pipeline, seed: int, settings: Settings) -> tuple[nn.Module, str]:
    """The trained network, and a digest of the labels in the order they came."""
    torch.manual_seed(seed)  # of the weights, and of torchvision's draws
    network = make_network().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    loader = make_loader(folder, pipeline, seed, settings.batch_size)
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=settings.epochs * len(loader), pct_start=WARM_UP
    )
    loss_of = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    order = hashlib.sha256()
    for _ in range(settings.epochs):
        for images, labels in loader:
            order.update(labels.numpy().tobytes())
            images, labels = pipeline.damage(images, labels)
            optimizer.zero_grad()
            loss_of(
                network(images.contiguous(memory_format=torch.channels_last)), labels
            ).backward()
            optimizer.step()
            schedule.step()
    return network.eval(), order.hexdigest()


def whole(folder: Path) -> Batch:
    """The test images, by torchvision for every pipeline: float32 [N, 3, TEST_SIDE, TEST_SIDE] and
    int64 [N].
    """
    crop = [transforms.Resize(TEST_SIDE + 2), transforms.CenterCrop(TEST_SIDE)]
    dataset = ImageFolder(
        str(folder),
        transforms.Compose([*crop, transforms.ToTensor(), transforms.Normalize(MEAN, STD)]),
    )
    return torch.stack([image for image, _ in dataset]), torch.tensor(dataset.targets)


def accuracy(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """In percent."""
    with torch.inference_mode():
        results = torch.cat([network(part).argmax(1) for part in images.split(500)])
    return 100 * float((results == labels).double().mean())


def paired(values: list[float], reference: list[float]) -> Interval:
    """Mean difference with its 95 % confidence interval, by Student's t; two pairs or more."""
    differences = [a - b for a, b in zip(values, reference, strict=True)]
    mean, count = fmean(differences), len(differences)
    half = STUDENT[count - 1] * stdev(differences) / count**0.5
    return Interval(mean, mean - half, mean + half)


def rows(settings: Settings, results: dict[str, list[float]], common: dict[str, Any]) -> list[Row]:
    shown = {
        "seeds": f"0 to {settings.seeds - 1}", "epochs": settings.epochs,
        "batch_size": settings.batch_size, "size": SIDE,
        "test_images": settings.test_images, "test_size": TEST_SIDE,
    }  # fmt: skip
    out = []
    for key, values in results.items():
        compare = key != REFERENCE and settings.seeds > 1
        out.append(Row(
            benchmark="train", variant=PIPELINES[key].name, settings=shown, unit="accuracy, %",
            page_cache="not used",
            reference=PIPELINES[REFERENCE].name if compare else None,
            also=figure("difference_in_points", paired(values,
            results[REFERENCE])) if compare else {},
            **measured(Sample(tuple(values)), None), **common,
        ))  # fmt: skip
    return out
