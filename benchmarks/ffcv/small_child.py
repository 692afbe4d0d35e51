"""One variant of the benchmark of small images in its own process, on its own core:

`python -m benchmarks.ffcv.small_child SPEC`.
"""

from typing import Any

from benchmarks.ffcv import child
from benchmarks.loaders.child import answer, epoch, transform


def make_loader(spec: dict[str, Any]) -> Any:
    """RandomResizedCrop and flip to uint8, as in `benchmarks ffcv`, or of arrays in memory."""
    if spec["loader"] not in ("planes", "torch"):
        return child.make_loader(spec)
    from torch.utils.data import DataLoader, Subset

    import fastload

    data = arrays(spec["data"], transform("uint8", spec["size"]))
    several = Subset(data, list(range(len(data))) * spec["passes"])
    common = {"batch_size": spec["batch_size"], "shuffle": True, "num_workers": spec["workers"]}
    if spec["loader"] == "torch":
        return DataLoader(several, persistent_workers=True, **common)
    return fastload.DataLoader(several, backend="native", **common)


def arrays(path: str, how: Any) -> Any:
    """torchvision's CIFAR10, with the images of that file, which it would download else."""
    import numpy as np
    from torchvision.datasets import CIFAR10, VisionDataset

    data = object.__new__(CIFAR10)
    VisionDataset.__init__(data, "", transform=how)
    data.data = np.load(path).transpose(0, 2, 3, 1)  # as CIFAR10 turns its own
    data.targets = [number % 10 for number in range(len(data.data))]
    data.classes = [f"class {number}" for number in range(10)]
    return data


if __name__ == "__main__":
    answer(make_loader, epoch)
