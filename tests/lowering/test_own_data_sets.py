"""Data set classes of the user's: followed by their source, they give the stock loader's batches;
what has no meaning is refused.
"""

import os
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader
from torchvision.transforms import functional

import fastload
from fastload.lowering import lower
from tests.lowering.test_pipelines import form, tensors

CHAIN = transforms.Compose([transforms.Resize((32, 40)), transforms.ToTensor()])
HERE = __name__


class Base(Dataset):
    def __init__(self, folder):
        self.root, self.folder, self.transform = str(folder), Path(folder), CHAIN
        found = sorted(path for path in self.folder.rglob("*.*") if path.parent.name[0] != ".")
        self.names = [str(path.relative_to(folder)) for path in found]
        self.paths = found
        self.labels = [len(path.stem) for path in found]
        self.rows = [{"file": str(path), "label": len(path.stem)} for path in found]
        self.array = np.array(self.labels)
        self.tables = [SimpleNamespace(rows=label) for label in self.labels]

    def __len__(self):
        return len(self.names)


class Tutorial(Base):
    """As PyTorch's tutorials write it."""

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        path = os.path.join(self.root, self.names[idx])
        image = Image.open(path).convert("RGB")
        label = self.labels[idx]
        if self.transform:
            image = self.transform(image)
        return image, label


class Closed(Base):
    def __getitem__(self, index):
        with open(self.folder / self.names[index], "rb") as file:
            image = Image.open(file).convert("RGB")
        return {"pixel_values": self.transform(image), "labels": torch.tensor(self.array[index])}


class OnlyImages(Base):
    def __getitem__(self, index):
        name = self.names[index]
        with Image.open(f"{self.root}/{name}") as image:
            return self.transform(image.convert("RGB"))


class Rows(Base):
    def __getitem__(self, index):
        row = self.rows[index]
        return [self.transform(default_loader(row["file"])), row["label"]]


class TwoViews(ImageFolder):
    def __getitem__(self, index):
        path, target = self.samples[index]
        image = self.loader(path)
        return [self.transform(image), self.transform(image)], target


class WithoutLabels(ImageFolder):
    def __getitem__(self, index):
        return super().__getitem__(index)[0]


class Renamed(ImageFolder):
    pass


def same(ours, theirs):
    ours, theirs = list(ours), list(theirs)
    assert [form(batch) for batch in ours] == [form(batch) for batch in theirs]
    assert all(map(torch.equal, tensors(ours), tensors(theirs)))
    return ours


def refuses(data, why):
    kind = type(data)
    what = f"data set {kind.__module__}.{kind.__name__} is not one that fastload can follow"
    assert lower(data) == (None, [f"{what}: {why}"])


@pytest.mark.parametrize("kind", [Tutorial, Closed, OnlyImages, Rows])
def test_own_classes_run_natively(kind, folder):
    data = kind(folder)
    loader = fastload.DataLoader(data, 5, num_workers=2)
    assert loader.explain().startswith("backend native")
    assert len(same(loader, DataLoader(data, 5))) > 1
    some = Subset(data, [3, 1, 0])
    assert fastload.DataLoader(some, 2).explain().startswith("backend native")
    same(fastload.DataLoader(some, 2), DataLoader(some, 2))


@pytest.mark.parametrize("kind", [TwoViews, WithoutLabels, Renamed])
def test_what_extends_a_folder(kind, folder):
    data = kind(folder, CHAIN)
    loader = fastload.DataLoader(data, 5)
    assert loader.explain().startswith("backend native")
    same(loader, DataLoader(data, 5))


def test_what_changes_is_seen(folder):
    data = Tutorial(folder)
    loader = fastload.DataLoader(data, 4)
    same(loader, DataLoader(data, 4))
    data.labels[2] = 77
    assert 77 in tensors(list(same(loader, DataLoader(data, 4))))[1].tolist()
    data.names.reverse()
    same(loader, DataLoader(data, 4))
    data.transform = None
    assert not loader.explain().splitlines()[-1].startswith("  seek")
    data.transform = transforms.Compose([transforms.Resize((9, 9)), transforms.PILToTensor()])
    same(loader, DataLoader(data, 4))


class AsItIs(Base):
    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


class Pairs(Base):
    def __getitem__(self, index):
        one = Image.open(self.paths[index]).convert("RGB")
        other = Image.open(self.paths[index]).convert("RGB")
        return self.transform(one), self.transform(other)


class Another(Base):
    def __getitem__(self, index):
        image = Image.open(self.paths[random.randrange(len(self.paths))]).convert("RGB")
        return self.transform(image)


class Counted(Base):
    def __getitem__(self, index):
        self.count = index
        return self.transform(Image.open(self.paths[index]).convert("RGB"))


class Chosen(Base):
    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        if self.labels[index]:
            image = image.convert("L")
        return self.transform(image)


class Marked(Base):
    """Some samples are treated in another way."""

    def __init__(self, folder):
        super().__init__(folder)
        self.marks = [None if label % 2 else label for label in range(len(self.paths))]

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        if self.marks[index] is not None:
            image = functional.hflip(image)
        return self.transform(image)


class Attribute(Base):
    """Of an object that is looked up, not of what stands for it."""

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image), self.tables[index].rows


class Fewer(Base):
    """Negative indices, and those beyond its length, are of all files."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]).convert("RGB")), self.labels[index]


class MoreLabels(Base):
    def __init__(self, folder):
        super().__init__(folder)
        self.labels.append(7)

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]).convert("RGB")), self.labels[index]


REFUSED = {
    AsItIs: 'it transforms an image without convert("RGB")',
    Pairs: "it opens several images, or one twice",
    Another: "it has `try:`",  # in random.randrange
    Counted: "it sets `self.count`",
    Chosen: "what it does to an image depends on a value of the sample",
    Marked: "it asks which samples have a value that is None",
    Fewer: "it has 5 samples of 40 files",
    MoreLabels: "it has 41 labels of 40 samples",
    Attribute: "it uses `self.tables[index].rows`",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_what_has_no_meaning_is_refused(kind, folder):
    refuses(kind(folder), REFUSED[kind])


@pytest.mark.parametrize("mark", [None, 0], ids=str)
def test_a_question_with_one_answer_is_followed(mark, folder):
    data = Marked(folder)
    data.marks = [mark] * len(data)
    loader = fastload.DataLoader(data, 5)
    assert loader.explain().startswith("backend native")
    same(loader, DataLoader(data, 5))


def test_a_patched_pillow_is_refused(folder, monkeypatch):
    monkeypatch.setattr(Image, "open", lambda *_: None)
    pipeline, why = lower(Tutorial(folder))
    assert pipeline is None
    assert why[0].startswith(f"data set {HERE}.Tutorial is not one that fastload can follow: ")
