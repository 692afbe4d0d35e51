"""Steps that run natively at the end of a chain: what a step before them does to their numbers is
seen at once, and images that a collate_fn of the user's gets lie as PyTorch's.
"""

import numpy as np
import pytest
import torch
import torch.utils.data
from torchvision import datasets, transforms
from torchvision.transforms import v2

import fastload

from .resume_helpers import digest

LOADERS = (fastload.DataLoader, torch.utils.data.DataLoader)


class OfEachImage:
    """Normalize by the image's own numbers."""

    def __init__(self, last):
        self.last = last

    def __call__(self, image):
        values = np.asarray(image.resize((15, 12)), np.float64) / 255
        self.last.mean, self.last.std[1] = values.mean((0, 1)).tolist(), float(values.std())
        return image.resize((15, 12))


class Mine(torch.utils.data.Dataset):
    def __init__(self, folder, chain):
        self.inside, self.chain = datasets.ImageFolder(folder), chain

    def __len__(self):
        return len(self.inside)

    def __getitem__(self, index):
        image, label = self.inside[index]
        return self.chain(image), label


def chained():
    last = transforms.Normalize([0.5] * 3, [0.5] * 3)
    return transforms.Compose([OfEachImage(last), transforms.ToTensor(), last])


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("kind", [Mine, datasets.ImageFolder])
def test_numbers_that_change_with_each_image(folder, kind, workers):
    ours, torchs = (
        [digest(batch) for batch in one(kind(folder, chained()), 8, num_workers=workers)]
        for one in LOADERS
    )
    assert ours == torchs


class Later:
    """After some images, others are made of those that follow."""

    def __init__(self, data):
        self.data, self.count = data, 0

    def __call__(self, label):
        self.count += 1
        if self.count == 5:
            self.data.transform = transforms.Compose(
                [lambda image: image.rotate(9).resize((15, 12)), transforms.ToTensor()]
            )
        return label


@pytest.mark.parametrize("workers", [0, 1])
def test_a_transform_that_is_replaced_within_a_batch(folder, workers):
    found = []
    for one in LOADERS:
        data = datasets.ImageFolder(folder, chained())
        data.target_transform = Later(data)
        found.append([digest(batch) for batch in one(data, 8, num_workers=workers)])
    assert found[0] == found[1]


@pytest.mark.parametrize("workers", [0, 1])
def test_images_that_the_users_function_gets(folder, workers):
    chain = v2.Compose(
        [
            lambda image: image.rotate(9).resize((15, 12)),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    ours, torchs = (
        [
            [(type(image), image.stride(), digest(image)) for image, _ in batch]
            for batch in one(
                datasets.ImageFolder(folder, chain), 8, collate_fn=list, num_workers=workers
            )
        ]
        for one in LOADERS
    )
    assert ours == torchs
