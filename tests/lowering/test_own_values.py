"""What a data set class of the user's returns beside its images: numbers, texts and tensors of
numbers, in any form. Batches are the stock loader's.
"""

import random

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional

import fastload
from fastload.lowering import lower
from tests.lowering.test_own_data_sets import CHAIN, Base

COUNT = 40


class Valued(Base):
    def __init__(self, folder):
        super().__init__(folder)
        self.scores = [0.25 * number for number in range(COUNT)]
        self.narrow = np.arange(COUNT, dtype=np.int32)
        self.flags = [number % 3 == 0 for number in range(COUNT)]
        self.table = pd.DataFrame({"name": self.names, "age": 0.5, "sex": range(COUNT)})
        self.ages = torch.arange(COUNT) * 0.1

    def image(self, index):
        return self.transform(Image.open(self.paths[index]).convert("RGB"))


class Score(Valued):
    def __getitem__(self, index):
        return self.image(index), self.scores[index]


class ScoreTensor(Valued):
    def __getitem__(self, index):
        return self.image(index), torch.tensor(self.scores[index])


class ScoreTensorOfType(Valued):
    def __getitem__(self, index):
        return self.image(index), torch.tensor(self.scores[index], dtype=torch.float16)


class NumpyTensor(Valued):
    def __getitem__(self, index):
        return self.image(index), torch.as_tensor(self.narrow[index], dtype=float)


class Narrow(Valued):
    def __getitem__(self, index):
        return self.image(index), self.narrow[index]


class Flags(Valued):
    def __getitem__(self, index):
        return self.image(index), self.flags[index]


class Numbered(Valued):
    def __getitem__(self, index):
        return self.image(index), self.labels[index], index


class Halves(Valued):
    def __getitem__(self, index):
        return self.image(index), index // 2


class Named(Valued):
    def __getitem__(self, index):
        return self.image(index), self.labels[index], str(self.paths[index])


class Several(Valued):
    def __getitem__(self, index):
        row = self.table.iloc[index]
        return self.image(index), (row["name"], row["age"]), [row["sex"], index]


class Keyed(Valued):
    def __getitem__(self, index):
        label, name = self.labels[index], self.names[index]
        meta = {"name": name, "names": (name, name), "split": "train"}
        return {"image": self.image(index), "label": label, "meta": meta}


class Unlabelled(Valued):
    def __getitem__(self, index):
        return self.image(index), -1, 0.5


class Chosen(Valued):
    """A label by the file's name, as in folders without classes."""

    def __getitem__(self, index):
        name = self.names[index]
        label = 1 if "class1" in name else 0
        if name.startswith("class0/03"):
            kind = 3
        elif "2/" in name and label == 0:
            kind = label + 2
        else:
            kind = -label
        kind -= 1
        known = label in (1, 3) and kind
        return self.image(index), label, kind, not label, name != self.names[0], known


class Often(Valued):
    """Only where the number says so."""

    def __getitem__(self, index):
        part = "train"
        if index >= 30:
            part = "test"
        return self.image(index), part


class Vectors(Valued):
    def __getitem__(self, index):
        row = self.table.iloc[index]
        both = torch.tensor([row["age"], row["sex"]], dtype=torch.float32)
        return self.image(index), both, torch.tensor((self.scores[index], 1, self.scores[index]))


class Cast(Valued):
    def __getitem__(self, index):
        label, score = torch.tensor(self.labels[index]), torch.tensor(self.scores[index])
        row = self.table.iloc[index]
        values = float(row["age"]), np.float32(self.scores[index]), np.int32(row["sex"])
        return self.image(index), label.long(), label.float(), score.float(), values


class Flipped(Valued):
    """By chance, and the label stays."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        if random.random() < 0:
            image = functional.hflip(image)
        return {
            "image": self.transform(image),
            "label": self.labels[index],
            "name": self.names[index],
        }


class Twice(Valued):
    """Two images are one value each; the label comes twice."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        label = self.labels[index]
        return self.transform(image), label, self.transform(image), label, 3


class WithPaths(ImageFolder):
    """As many scripts have it."""

    def __getitem__(self, index):
        return (*super().__getitem__(index), self.imgs[index][0])


class WithPathsAdded(ImageFolder):
    def __getitem__(self, index):
        original = super().__getitem__(index)
        path = self.imgs[index][0]
        return original + (path,)  # noqa: RUF005  likewise


class WithPathsInFull(ImageFolder):
    def __getitem__(self, index):
        path, target = self.samples[index]
        return self.transform(self.loader(path)), target, path


KINDS = (
    Score, ScoreTensor, ScoreTensorOfType, NumpyTensor, Narrow, Flags, Numbered, Halves, Named,
    Several, Keyed, Unlabelled, Twice, Often, Vectors, Cast, Flipped,
)  # fmt: skip


def equal(one, other):
    """The same types, tensors and values, all the way down."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        equal(list(one.values()), list(other.values()))
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for part, same in zip(one, other, strict=True):
            equal(part, same)
    else:
        assert one == other


def batches_are_the_stock_loaders(data, size=6, **given):
    loader = fastload.DataLoader(data, size, num_workers=2, **given)
    assert loader.explain().startswith("backend native"), loader.explain()
    equal(list(loader), list(DataLoader(data, size, **given)))


@pytest.mark.parametrize("kind", KINDS)
def test_values_come_with_their_images(kind, folder):
    data = kind(folder)
    batches_are_the_stock_loaders(data)
    batches_are_the_stock_loaders(data, sampler=[3, 1, 7, 39, 3])


@pytest.mark.parametrize("kind", [Several, Named])
def test_values_of_some_samples(kind, folder):
    batches_are_the_stock_loaders(Subset(kind(folder), [5, 3, 9, 9, 0]), 2)


def test_data_sets_with_other_values_are_not_one(folder):
    one, other = Named(folder), Named(folder)
    batches_are_the_stock_loaders(ConcatDataset([one, one]))
    other.labels = list(range(COUNT))
    both = ConcatDataset([one, other])
    assert lower(both) == (None, ["ConcatDataset has parts with different transforms"])
    equal(list(fastload.DataLoader(both, 6)), list(DataLoader(both, 6)))


@pytest.mark.parametrize("kind", [WithPaths, WithPathsAdded, WithPathsInFull])
def test_a_folder_with_paths(kind, folder):
    batches_are_the_stock_loaders(kind(folder, CHAIN))


def test_what_changes_is_seen(folder):
    data = Several(folder)
    loader = fastload.DataLoader(data, 6)
    equal(list(loader), list(DataLoader(data, 6)))
    data.table.loc[3, "age"] = 7.0
    equal(list(loader), list(DataLoader(data, 6)))
    data.table["name"] = "x"
    equal(list(loader), list(DataLoader(data, 6)))


def test_small_batches_made_as_one(folder):
    """Bundles are cut, values too."""
    data = Named(folder)
    data.transform = transforms.Compose([transforms.Resize((8, 9)), transforms.ToTensor()])
    for size in (1, 2, 3):
        batches_are_the_stock_loaders(data, size)


def test_a_bad_image_takes_its_values_with_it(bad_folder):
    root = bad_folder({f"{number}.jpg": b"no image" for number in (1, 4)})
    data = Named.__new__(Named)
    super(Valued, data).__init__(root)
    for how, names in (("skip", ["0good"]), ("substitute", ["0good"] * 3)):
        loader = fastload.DataLoader(data, 3, on_error=how, max_bad=2)
        ((images, labels, paths),) = list(loader)
        assert [path.rpartition("/")[2] for path in paths] == [f"{name}.jpg" for name in names]
        assert len(images) == len(labels) == len(names)


def test_an_index_of_another_type_is_another_value(folder):
    """As a value it would be of that type in PyTorch's batch."""
    data, order = Numbered(folder), np.arange(4, dtype=np.int32)
    assert next(iter(DataLoader(data, 4, sampler=order)))[2].dtype == torch.int32
    with pytest.raises(TypeError) as error:
        next(iter(fastload.DataLoader(data, 4, sampler=order)))
    assert str(error.value) == (
        "data set: an index of type int32 (want int), and the data set calculates with it; check "
        "the sampler"
    )
    batches_are_the_stock_loaders(data, sampler=torch.arange(7))
    batches_are_the_stock_loaders(data, sampler=np.arange(7))
