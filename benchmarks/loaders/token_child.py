"""One variant of `python -m benchmarks tokens` in a process of its own.

Its argument is JSON. For every line on stdin it runs one epoch and answers with images per second.
"""

import contextlib
import sys
import time
from typing import Any

import timm.data
from timm.data.naflex_loader import create_naflex_loader
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from benchmarks.loaders.child import MEAN, STD, answer

SCALE, RATIO, PATCH = (0.3, 1.0), (0.8, 1.25), 16


def make_loader(spec: dict[str, Any]) -> Any:
    length, tokens = spec["length"], spec["tokens"]
    if spec["loader"] == "timm":
        with contextlib.redirect_stdout(sys.stderr):  # it says what it does
            return create_naflex_loader(
                timm.data.create_dataset("", spec["data"]), patch_size=PATCH,
                train_seq_lens=(length,), batch_size=tokens // length, is_training=True,
                scale=SCALE, ratio=RATIO, color_jitter=0.0, interpolation="bicubic", mean=MEAN,
                std=STD, num_workers=spec["workers"], use_prefetcher=False, pin_memory=False,
            )  # fmt: skip
    box = transforms.RandomResizedCrop(
        224, SCALE, RATIO, interpolation=transforms.InterpolationMode.BICUBIC
    )
    how = [
        box, transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]  # fmt: skip
    data = ImageFolder(spec["data"], transforms.Compose(how))
    sampler = fastload.TokenSampler(data, tokens, lengths=length, patch=PATCH)
    return fastload.DataLoader(data, batch_sampler=sampler, num_workers=spec["workers"])


def epoch(loader: Any) -> float:
    """Images per second over one whole epoch, from iter() to the last batch."""
    start, images = time.perf_counter(), 0
    with contextlib.redirect_stdout(sys.stderr):
        for _, labels in loader:
            images += len(labels)
    return images / (time.perf_counter() - start)


if __name__ == "__main__":
    answer(make_loader, epoch)
