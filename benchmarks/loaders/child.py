"""One variant of the loader benchmark in its own process, on its own cores: `python -m
benchmarks.loaders.child SPEC`.

For every line on stdin it runs one epoch and answers with images per second.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

ALPHA = 0.25  # of MixUp
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def transform(output: str, size: int) -> Any:
    """RandomResizedCrop and flip to uint8, or to normalised float32; "hot" and "mixed" are that
    with RandAugment and ColOut.
    """
    from torchvision import transforms

    ops = [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip()]
    if output == "uint8":
        return transforms.Compose([*ops, transforms.PILToTensor()])
    last = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    if output in ("hot", "mixed"):
        from fastload.transforms import (
            ColOut,
        )  # torchvision has none; this one is callable in its pipelines too

        return transforms.Compose(
            [*ops, transforms.RandAugment(num_ops=1), *last, ColOut(0.05, 0.05)]
        )
    return transforms.Compose([*ops, *last])


def make_loader(spec: dict[str, Any]) -> Any:
    """PyTorch's workers, fastload's threads and DALI's live on from epoch to epoch."""
    if spec["loader"] == "dali":
        from benchmarks.loaders import dali

        return dali.Loader(spec)
    import torch
    from torchvision.datasets import ImageFolder

    import fastload

    torch.manual_seed(0)
    how = transform(spec["output"], spec["size"])
    common = {"batch_size": spec["batch_size"], "shuffle": True, "num_workers": spec["workers"]}
    if spec["loader"] == "torch":
        folder = ImageFolder(spec["data"], how)
        if spec["output"] == "mixed":
            common["collate_fn"] = mixing(len(folder.classes))
        return torch.utils.data.DataLoader(folder, persistent_workers=True, **common)
    # The drop-in where there is a folder; it must not fall back to PyTorch unnoticed.
    dataset = (
        fastload.open(spec["data"], how)
        if spec["loader"] == "shards"
        else ImageFolder(spec["data"], how)
    )
    # "later": epochs after the first one, which is dropped, use the index that it has collected.
    seek_index = "auto" if spec["loader"] == "later" else "use"
    mix = fastload.transforms.MixUp(ALPHA) if spec["output"] == "mixed" else None
    return fastload.DataLoader(dataset, backend="native", seek_index=seek_index, mix=mix, **common)


def mixing(classes: int) -> Any:
    """torchvision's way: batches are mixed in the workers that made them."""
    from torch.utils.data import default_collate
    from torchvision.transforms import v2

    mix = v2.MixUp(alpha=ALPHA, num_classes=classes)
    return lambda samples: mix(*default_collate(samples))


def epoch(loader: Any) -> float:
    """Images per second over one whole epoch, from iter() to the last batch; DALI's until it is
    quiet, see there.
    """
    start, images = time.perf_counter(), 0
    for batch, _ in loader:
        images += len(batch)
    quiet = getattr(loader, "quiet", time.perf_counter)
    return images / (quiet() - start)


def answer(make: Callable[[dict[str, Any]], Any], run: Callable[[Any], float]) -> None:
    """The whole of a child process: a loader is made as argv says, and `run` once per line."""
    spec = json.loads(sys.argv[1])
    # Before torch and Numba are imported: every thread and worker inherits it, and they count them.
    os.sched_setaffinity(0, spec["cores"])
    loader = make(spec)
    for _ in sys.stdin:
        print(run(loader), flush=True)


if __name__ == "__main__":
    answer(make_loader, epoch)
