"""Data set classes of the user's over pandas' tables: followed by their source, they give the stock
loader's batches.
"""

import os
from pathlib import Path

import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset

import fastload
from tests.lowering.test_own_data_sets import CHAIN, refuses, same


class Table(Dataset):
    def __init__(self, folder, **columns):
        paths = sorted(Path(folder).rglob("*.jpg"))
        names = [str(path.relative_to(folder)) for path in paths]
        self.root, self.transform = str(folder), CHAIN
        self.df = pd.DataFrame({"file": names, "label": range(40), "split": "train", **columns})
        self.series, self.labels = self.df["file"], self.df["label"]
        self.class_of = {name: number % 7 for number, name in enumerate(names)}

    def __len__(self):
        return len(self.df)

    def image(self, name):
        return self.transform(Image.open(os.path.join(self.root, name)).convert("RGB"))


class Tutorial(Table):
    """As PyTorch's tutorial has it, with Pillow."""

    def __getitem__(self, idx):
        path = os.path.join(self.root, self.df.iloc[idx, 0])
        image = Image.open(path).convert("RGB")
        label = self.df.iloc[idx, 1]
        if self.transform:
            image = self.transform(image)
        return image, label


class RowByNumber(Table):
    def __getitem__(self, index):
        row = self.df.iloc[index]
        return self.image(row["file"]), row.label


class RowByLabel(Table):
    def __getitem__(self, index):
        row = self.df.loc[index]
        return self.image(row.file), int(row["label"])


class CellByLabel(Table):
    def __len__(self):
        return self.df.shape[0]

    def __getitem__(self, index):
        return self.image(self.df.loc[index, "file"]), self.df.at[index, "label"]  # noqa: PD008


class Columns(Table):
    def __getitem__(self, index):
        label = self.df["label"].values[index]  # noqa: PD011
        return self.image(self.df["file"].iloc[index]), label


class Attributes(Table):
    def __getitem__(self, index):
        label = self.df.label.iat[index]  # noqa: PD009  as many scripts have it
        return {"image": self.image(self.df.file[index]), "label": label}


class OneColumn(Table):
    def __getitem__(self, index):
        return self.image(self.series[index]), torch.tensor(self.labels.loc[index])


class Arrays(Table):
    """Made once; of texts pandas gives arrays of its own."""

    def __init__(self, folder):
        super().__init__(folder)
        self.files, self.numbers = self.df["file"].values, self.df["label"].values  # noqa: PD011

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.image(self.files[index]), self.numbers[index]


class Unpacked(Table):
    def __getitem__(self, index):
        name, label, _ = self.df.iloc[index]
        return self.image(name), label


class Values(Table):
    def __getitem__(self, index):
        values = self.df.values  # noqa: PD011  likewise
        return self.image(values[index][0]), values[index, 1]


class Mapped(Table):
    def __getitem__(self, index):
        name = self.df.iloc[index, 0]
        return self.image(name), self.class_of[name]


class Moved(Table):
    """A label of the table's, from 1 in the file."""

    def __getitem__(self, index):
        return self.image(self.df.iloc[index, 0]), self.df.iloc[index, -2] + 1


@pytest.mark.parametrize(
    "kind",
    [
        Tutorial, RowByNumber, RowByLabel, CellByLabel, Columns, Attributes, OneColumn, Unpacked,
        Arrays, Values, Mapped, Moved,
    ],
)  # fmt: skip
@pytest.mark.parametrize("texts", ["object", "str"])
def test_tables_are_read_natively(kind, texts, folder):
    data = kind(folder)
    data.df = data.df.astype({"file": texts, "split": texts})
    loader = fastload.DataLoader(data, 6, num_workers=2)
    assert loader.explain().startswith("backend native"), loader.explain()
    batches = same(loader, DataLoader(data, 6))
    assert len(batches) == 7
    some = Subset(data, [3, 1, 0, 39])
    same(fastload.DataLoader(some, 2), DataLoader(some, 2))


@pytest.mark.parametrize("kind", [Tutorial, RowByNumber, Columns, Unpacked])
def test_rows_in_another_order_are_found_by_number(kind, folder):
    """A table that was shuffled or filtered keeps the labels of its rows."""
    data = kind(folder)
    data.df = data.df.sample(frac=0.8, random_state=3)
    loader = fastload.DataLoader(data, 6)
    assert loader.explain().startswith("backend native")
    same(loader, DataLoader(data, 6))


def test_what_changes_in_a_table_is_seen(folder):
    data = Tutorial(folder)
    loader = fastload.DataLoader(data, 5)
    same(loader, DataLoader(data, 5))
    data.df.loc[3, "label"] = 77
    assert 77 in torch.cat([labels for _, labels in same(loader, DataLoader(data, 5))])
    data.df = data.df.iloc[::-1]
    same(loader, DataLoader(data, 5))
    data.df = data.df.head(9)
    assert len(same(loader, DataLoader(data, 5))) == 2


@pytest.mark.parametrize("kind", [RowByLabel, CellByLabel, Attributes, OneColumn])
def test_no_label_of_a_row_is_negative(kind, folder):
    data, order = kind(folder), [1, -1]
    with pytest.raises(KeyError):
        list(DataLoader(data, 2, sampler=order))
    with pytest.raises(IndexError, match="index -1 is outside"):
        list(fastload.DataLoader(data, 2, sampler=order))
    data = RowByNumber(folder)
    same(fastload.DataLoader(data, 2, sampler=order), DataLoader(data, 2, sampler=order))


class Numbers(Table):
    """A row of numbers has one type, so pandas makes floats of whole numbers."""

    def __init__(self, folder):
        super().__init__(folder)
        self.numbers = pd.DataFrame({"label": range(40), "weight": 0.5})

    def __getitem__(self, index):
        return self.image(self.series.iloc[index]), self.numbers.iloc[index]["label"]


class NumbersAsArray(Numbers):
    def __getitem__(self, index):
        return self.image(self.series.iloc[index]), self.numbers.values[index, 0]  # noqa: PD011


class Sorted(Table):
    def __init__(self, folder):
        super().__init__(folder)
        self.df = self.df.iloc[::-1]

    def __getitem__(self, index):
        return self.image(self.df.loc[index, "file"]), self.df.loc[index, "label"]


class Missing(Table):
    def __getitem__(self, index):
        return self.image(self.df.iloc[index]["path"])


class SeveralColumns(Table):
    def __getitem__(self, index):
        return self.image(self.series[index]), self.df.loc[index, ["label"]].values  # noqa: PD011


class NoColumn(Table):
    def __getitem__(self, index):
        return self.image(self.df.iloc[index, 7])


class Categories(Table):
    def __init__(self, folder):
        super().__init__(folder)
        self.df["label"] = self.df["label"].astype("category")

    def __getitem__(self, index):
        return self.image(self.df.iloc[index, 0]), self.df.iloc[index, 1]


class Method(Table):
    def __getitem__(self, index):
        return self.image(self.df.sort_values("file").iloc[index, 0])


class Whole(Table):
    def __getitem__(self, index):
        return self.image(self.df.iloc[3, 0])


class Levels(Table):
    """Two rows of names: one name is several columns."""

    def __init__(self, folder):
        super().__init__(folder)
        self.df.columns = pd.MultiIndex.from_tuples([("a", "file"), ("a", "label"), ("b", "split")])

    def __getitem__(self, index):
        return self.image(self.df["a"].iloc[index, 0])


class Patched(pd.DataFrame):
    """A class of the user's, whose `iloc` may be anything."""


class OfAnother(Table):
    def __init__(self, folder):
        super().__init__(folder)
        self.df = Patched(self.df)

    def __getitem__(self, index):
        return self.image(self.df.iloc[index, 0])


REFUSED = {
    Numbers: "it reads rows of a table of numbers, which pandas makes of one type",
    NumbersAsArray: "it reads rows of a table of numbers, which pandas makes of one type",
    Sorted: "it looks rows up by labels that are not 0, 1, 2 (reset_index)",
    Missing: "it reads a column that is not there",
    SeveralColumns: "it reads several columns at once",
    NoColumn: "it reads a column that is not there",
    Categories: "it reads a column of category",
    Method: "it reads sort_values of a DataFrame",
    Whole: "it looks up in a table what is no sample",
    Levels: "it reads a column that is not there",
    OfAnother: "it goes through a Patched",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_what_has_no_meaning_is_refused(kind, folder):
    refuses(kind(folder), REFUSED[kind])


def test_a_row_label_that_is_not_there_is_pytorchs_error(folder):
    """What is refused runs by PyTorch's engine, which says what it says."""
    data = Sorted(folder)
    data.df = data.df.iloc[:9]
    with pytest.raises(KeyError):
        list(fastload.DataLoader(data, 5))
