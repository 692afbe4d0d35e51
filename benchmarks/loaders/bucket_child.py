"""One variant of `python -m benchmarks buckets` in a process of its own.

Its argument is JSON. For every line on stdin it runs one epoch and answers with images per second.
"""

import random
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.data
from PIL import Image
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional

import fastload
from benchmarks.loaders.child import answer, epoch
from fastload.order.shapes import Shape, shapes

HALF = (0.5, 0.5, 0.5)
ASPECT, SLACK = 2.0, 0.1


class Bucketed(torch.utils.data.Dataset[tuple[torch.Tensor, int]]):
    """What trainers write by hand: each image resized and cropped to its bucket."""

    def __init__(self, folder: str, buckets: tuple[Shape, ...]) -> None:
        self.samples = ImageFolder(folder).samples
        self.of: list[Shape] = []
        for path, _ in self.samples:
            with Image.open(path) as image:
                aspect = image.width / image.height
            distances = [abs(width / height - aspect) for height, width in buckets]
            self.of.append(buckets[distances.index(min(distances))])
        self.flip = transforms.RandomHorizontalFlip()

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path, label = self.samples[index]
        height, width = self.of[index]
        image = Image.open(path).convert("RGB")
        factor = max(height / image.height, width / image.width)
        size = [max(height, round(image.height * factor)), max(width, round(image.width * factor))]
        image = functional.resize(image, size, transforms.InterpolationMode.BILINEAR)
        box = transforms.RandomCrop.get_params(image, (height, width))
        image = self.flip(functional.crop(image, *box))
        return functional.normalize(functional.to_tensor(image), HALF, HALF), label


class Batches(torch.utils.data.Sampler[list[int]]):
    """The images of a bucket in random order, cut into batches, which are mixed."""

    def __init__(self, data: Bucketed, batch_size: int) -> None:
        self.data, self.batch_size = data, batch_size

    def __iter__(self) -> Iterator[list[int]]:
        members: dict[Shape, list[int]] = {}
        for index, bucket in enumerate(self.data.of):
            members.setdefault(bucket, []).append(index)
        batches = []
        for indices in members.values():
            random.shuffle(indices)
            starts = range(0, len(indices), self.batch_size)
            batches += [indices[start : start + self.batch_size] for start in starts]
        random.shuffle(batches)
        return iter(batches)


def make_loader(spec: dict[str, Any]) -> Any:
    side, step, batch_size = spec["side"], spec["step"], spec["batch_size"]
    if spec["loader"] == "torch":
        by_hand = Bucketed(spec["data"], shapes(side * side, step, ASPECT, SLACK))
        return torch.utils.data.DataLoader(
            by_hand, batch_sampler=Batches(by_hand, batch_size), num_workers=spec["workers"],
            persistent_workers=True,
        )  # fmt: skip
    how = [
        transforms.Resize(side), transforms.RandomCrop(side), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Normalize(HALF, HALF),
    ]  # fmt: skip
    data = ImageFolder(spec["data"], transforms.Compose(how))
    sampler = fastload.BucketSampler(
        data, batch_size, pixels=side * side, step=step, max_aspect=ASPECT, slack=SLACK
    )
    return fastload.DataLoader(
        data, batch_sampler=sampler, num_workers=spec["workers"], backend="native"
    )


if __name__ == "__main__":
    answer(make_loader, epoch)
