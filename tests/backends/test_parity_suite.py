"""Every backend that is installed against the reference, op by op."""

from dataclasses import replace

import pytest

import fastload
from fastload import recipes
from fastload import transforms as T
from fastload.backends.table import BACKENDS, facts
from fastload.parity import measure
from fastload.parity.rows import rows

from .parity_helpers import MEAN, OTHERS, SHORT, STD

TIMM = [
    T.RandomResizedCrop(48, interpolation="random"), T.RandomHorizontalFlip(),
    T.RandAugment.timm("rand-m7-mstd0.5-inc1"), T.ToTensor(),
    T.Normalize(MEAN, STD), T.RandomErasing.timm(0.5, mode="pixel"),
]  # fmt: skip
VIEWS = T.Views(
    [
        ([T.RandomResizedCrop(40), T.RandomHorizontalFlip(), T.ToTensor()], 2),
        ([T.RandomResizedCrop((16, 24)), T.ToTensor()], 1),
    ]
)


def smaller(name):
    """A recipe's ops with small crops, for speed."""
    ops = recipes.load(name).ops()
    return [replace(op, size=(44, 52)) if isinstance(op, T.RandomResizedCrop) else op for op in ops]


COMPILED = (
    *recipes.names()[:4],
    "timm",
    "views",
)  # others' recipes have the same ops, and some backends compile for seconds
PIPELINES = {**{name: smaller(name) for name in recipes.names()}, "timm": TIMM, "views": VIEWS}


@pytest.fixture(scope="module")
def both(folder, tmp_path_factory):
    """The same JPEGs as a folder, and as the FFCV file that some backends need."""
    from fastload.conversion import beton_writer, readers

    path = str(tmp_path_factory.mktemp("beton") / "all.beton")
    beton_writer.run(readers.open_reader(folder), path, beton_writer.Options())
    return {"folder": folder, "beton": path}


@pytest.mark.parametrize("name", PIPELINES)
def test_native_is_bit_equal_after_every_op(name, folder):
    found = measure(fastload.open(folder, PIPELINES[name]), SHORT, names=["native"])
    assert found.images == 10
    assert len(found.rows) > 3
    for row, cells in found.rows:
        assert (row, cells[0].verdict, cells[0].largest, cells[0].share) == (row, "bit-equal", 0, 0)


@pytest.mark.parametrize("kind", ["folder", "beton"])
@pytest.mark.parametrize("name", COMPILED)
def test_installed_backends_give_the_references_pixels(name, kind, both):
    """Whole pipelines only: some libraries compile for seconds for each.

    What is exact is bit-equal, what is not may be further off.
    """
    found = measure(fastload.open(both[kind], PIPELINES[name]), SHORT, whole=True)
    assert {column.backend for column in found.columns} == set(OTHERS)
    for column, cell in zip(found.columns, found.whole, strict=True):
        allowed = (
            ("bit-equal", "cannot")
            if facts(column.backend).exact
            else ("bit-equal", "within", "own draws", "differs", "cannot")
        )
        assert cell.verdict in allowed, (str(column), str(cell), cell.why)


def test_rows_are_the_beginnings_of_the_pipeline(folder):
    ops = [
        T.Resize(50),
        T.CenterCrop((40, 48)),
        T.RandomHorizontalFlip(),
        T.RandAugment(),
        T.ToTensor(),
        T.ColOut(),
    ]
    made = rows(fastload.open(folder, ops).pipeline)
    assert [row.name for row in made] == [
        "decode (the middle 40x48 px)", "1 Resize + 2 CenterCrop", "3 RandomHorizontalFlip",
        "4 RandAugment", "5 ToTensor", "6 ColOut",
    ]  # fmt: skip
    assert [len(row.pipeline.ops) for row in made] == [1, 2, 3, 4, 5, 6]
    assert [row.plan.out.dtype for row in made] == ["uint8"] * 4 + ["float32"] * 2
    several = rows(fastload.open(folder, VIEWS).pipeline)
    assert [row.name for row in several[1:]] == [
        "1 RandomResizedCrop",
        "2 RandomHorizontalFlip or ToTensor",
        "3 ToTensor",
    ]
    assert [[len(ops) for ops in row.pipeline.pictures] for row in several[1:]] == [
        [1, 1, 1],
        [2, 2, 2],
        [3, 3, 2],
    ]


def test_only_dali_by_itself_draws_its_own_numbers():
    assert [name for name in BACKENDS if facts(name).own_draws] == ["dali-own"]
    assert [name for name in BACKENDS if not facts(name).exact] == ["dali", "dali-own"]


def test_mixed_batches_are_the_last_row(folder):
    recipe = recipes.load("hot")
    found = measure(
        fastload.open(folder, PIPELINES["hot"]), SHORT, names=["native"], mix=recipe.mix()
    )
    assert [name for name, _ in found.rows][-2:] == ["7 Normalize", "mix MixUp"]
    assert found.whole[0].verdict == "bit-equal"
    made = rows(fastload.open(folder, PIPELINES["hot"]).pipeline, recipe.mix())
    assert [row.plan.mix is None for row in made] == [True] * (len(made) - 1) + [False]
