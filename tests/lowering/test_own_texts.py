"""Paths that a data set class of the user's makes: of the sample's number, and by methods of texts
and paths. They give the stock loader's batches.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset

import fastload
from fastload.lowering import lower
from tests.lowering.test_own_data_sets import CHAIN, refuses, same

COUNT = 9


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """images/000001.jpg to images/000009.jpg, labels beside them; no image is square."""
    root = tmp_path_factory.mktemp("numbered") / "images"
    root.mkdir()
    rng = np.random.Generator(np.random.Philox(5))
    for number in range(1, COUNT + 1):
        pixels = rng.integers(0, 256, (4, 6, 3), np.uint8)
        Image.fromarray(pixels).resize((40 + number, 30)).save(root / f"{number:06d}.jpg")
    return root


class Numbered(Dataset):
    def __init__(self, root):
        self.root, self.folder, self.transform = str(root), Path(root), CHAIN
        self.labels = [3 * number for number in range(COUNT)]
        self.ids = np.arange(1, COUNT + 1)
        self.texts = [f"{number:06d}.png" for number in range(1, COUNT + 1)]
        self.places = [self.folder / text for text in self.texts]
        self.lines = [f"{number:06d}.jpg {number % 4}" for number in range(1, COUNT + 1)]
        self.classes = {"000001": 5}

    def __len__(self):
        return len(self.labels)

    def image(self, path):
        return self.transform(Image.open(path).convert("RGB"))


class FString(Numbered):
    def __getitem__(self, index):
        return self.image(f"{self.root}/{index + 1:06d}.jpg"), self.labels[index]


class FStrings(Numbered):
    """With formats: a text stands on the left, a number on the right."""

    def __getitem__(self, index):
        index = int(index)
        name = f"{index + 1!s:>6s}"
        return self.image(f"{self.root}/{name.replace(' ', '0'):6}.jpg"), self.labels[index]


class Percent(Numbered):
    def __getitem__(self, index):
        name = "%06d.jpg" % (index + 1)  # noqa: UP031
        return self.image(os.path.join(self.root, name)), self.labels[index]


class PercentOfTwo(Numbered):
    def __getitem__(self, index):
        return self.image("%s/%06d.jpg" % (self.root, index + 1)), self.labels[index]  # noqa: UP031


class Format(Numbered):
    def __getitem__(self, index):
        name = "{}/{number:06d}.jpg".format(self.root, number=self.ids[index])  # noqa: UP032
        return self.image(name), self.labels[index]


class Filled(Numbered):
    def __getitem__(self, index):
        return self.image(self.folder / (str(index + 1).zfill(6) + ".jpg")), self.labels[index]


class OtherEnding(Numbered):
    def __getitem__(self, index):
        name = self.texts[index].replace(".png", ".jpg")
        return self.image(os.path.join(self.root, name)), self.labels[index]


class OtherSuffix(Numbered):
    def __getitem__(self, index):
        path = self.places[index]
        return self.image(path.parent / f"{path.stem}.jpg"), self.labels[index]


class WithSuffix(Numbered):
    def __getitem__(self, index):
        return self.image(self.places[index].with_suffix(".jpg")), self.labels[index]


class Lines(Numbered):
    def __getitem__(self, index):
        name, label = self.lines[index].split(" ")
        return self.image(self.root + "/" + name), int(label)


class LastPart(Numbered):
    def __getitem__(self, index):
        name = str(self.places[index]).split("/")[-1].rsplit(".", 1)[0]
        return self.image(f"{self.root}/{name}.jpg"), self.labels[index]


class Slices(Numbered):
    def __getitem__(self, index):
        stem, _ = os.path.splitext(os.path.basename(self.places[index]))
        name = self.texts[index][: -len(".png")]
        return self.image(f"{self.root}/{stem[:3]}{name[3:]}.jpg"), len(self.lines[index])


class Often(Numbered):
    """Three times over the samples."""

    def __len__(self):
        return 3 * len(self.labels)

    def __getitem__(self, index):
        index = index % len(self.ids)
        return self.image(f"{self.root}/{self.ids[index]:06d}.jpg"), self.labels[index]


class InAFolder(Numbered):
    def __getitem__(self, index):
        folder = os.path.join(str(self.folder.parent), "images")
        return self.image(os.path.join(folder, f"{index + 1:06}.jpg")), self.labels[index]


KINDS = (
    FString, FStrings, Percent, PercentOfTwo, Format, Filled, OtherEnding, OtherSuffix, WithSuffix,
    Lines, LastPart, Slices, Often, InAFolder,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_made_natively(kind, numbered):
    data = kind(numbered)
    loader = fastload.DataLoader(data, 4, num_workers=2)
    assert loader.explain().startswith("backend native"), loader.explain()
    assert sum(len(labels) for _, labels in same(loader, DataLoader(data, 4))) == len(data)


def test_a_negative_index_is_another_name(numbered):
    """PyTorch's loader asks for a file of that name."""
    data, order = FString(numbered), [3, 1, 0, -2]
    with pytest.raises(FileNotFoundError):
        list(DataLoader(data, 4, sampler=order))
    loader = fastload.DataLoader(data, 2, sampler=order)
    epoch = iter(loader)
    assert next(epoch)[1].tolist() == [9, 3]
    with pytest.raises(IndexError) as error:
        next(epoch)
    assert str(error.value) == ("data set: index -2 is outside (want 0 to 8); check the sampler")
    why = (
        "Subset has indices from -2 to 3, but its data set has 9 samples, whose numbers make their"
    )
    assert lower(Subset(data, order)) == (None, [f"{why} names"])
    of_texts = OtherEnding(numbered)
    same(fastload.DataLoader(of_texts, 2, sampler=order), DataLoader(of_texts, 2, sampler=order))
    same(fastload.DataLoader(Subset(of_texts, order), 3), DataLoader(Subset(of_texts, order), 3))


class Shown(Numbered):
    def __getitem__(self, index):
        return self.image(f"{self.root}/{self.texts[index]!r}")


class Unknown(Numbered):
    def __getitem__(self, index):
        return self.image(self.texts[index].swapcase())


class NoKey(Numbered):
    def __getitem__(self, index):
        name = self.texts[index].split(".")[0]
        return self.image(f"{self.root}/{name}.jpg"), self.classes[name]


class NoNumber(Numbered):
    def __getitem__(self, index):
        return self.image("{}/{}.jpg".format(self.root))  # noqa: F524


REFUSED = {
    Shown: "it has `{self.texts[index]!r}`",
    Unknown: "it uses `self.texts[index].swapcase`",
    NoKey: "it reads an item that is not there",
    NoNumber: "it calculates what is no text",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_what_has_no_meaning_is_refused(kind, numbered):
    refuses(kind(numbered), REFUSED[kind])
