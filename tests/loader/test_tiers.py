"""What explain() says of tiers: figures are the page's, and each step up names what it lacks."""

import re
import statistics

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload.image.lazy import SUPPORTED
from fastload.loader import tiers
from fastload.loader.tiers import Gain
from fastload.transforms import CenterCrop, ToImage
from tests.conftest import TREE
from tests.loader.explained import APART, COMPOSE, END, FLOATS, now
from tests.lowering.dataset_helpers import cifar

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1")
SMALL = 64  # px: CIFAR's images have fewer
ROW = re.compile(r"^\| ([^|]*) \|[^|]*\| (\d+) \| ([123]) \|", re.MULTILINE)


@pytest.mark.parametrize("in_memory", [False, True])
def test_figures_are_those_of_the_page(in_memory):
    row = pytest.importorskip("benchmarks.report.row")  # not in an installed package
    rows = row.latest(row.read(row.RESULTS / "gains.jsonl"))
    ratios = {one.settings["pipeline"]: one.ratio for one in rows if one.reference}
    table = ROW.findall((TREE / "docs" / "pipelines.md").read_text())
    assert set(ratios) <= {name for name, _, _ in table}
    found = {}
    for name, px, tier in table:
        if name in ratios and (int(px) < SMALL) == in_memory:
            found.setdefault(int(tier), []).append(ratios[name])
    want = {
        tier: Gain(*(round(f(all_), 1) for f in (min, statistics.median, max)), len(all_))
        for tier, all_ in found.items()
    }
    assert want == (tiers.GAINS_IN_MEMORY if in_memory else tiers.GAINS)


def test_a_range_says_what_is_behind_it():
    page = "docs/pipelines.md"
    assert Gain(1.9, 7.2, 18.6, 27).text == (
        f"1.9 to 18.6 times PyTorch's rate (7.2 in the middle of 27 pipelines of {page})"
    )
    assert Gain(2.4, 2.4, 2.4, 1).text == f"2.4 times PyTorch's rate (1 pipeline of {page})"


def tier(data, **options):
    """The tier's line."""
    (line,) = (
        line
        for line in fastload.DataLoader(data, 4, **options).explain().splitlines()
        if line.startswith("  tier ")
    )
    return line[2:]


def test_all_of_it_native(folder):
    transform = v1.Compose([v1.CenterCrop(9), v1.ToTensor()])
    mine = fastload.open(folder, [CenterCrop(9), ToImage()])
    for data in (ImageFolder(folder, transform), Subset(ImageFolder(folder, transform), [3]), mine):
        assert tier(data) == now(1)


def test_the_reference_is_in_no_tier(folder):
    mine = fastload.open(folder, [CenterCrop(9), ToImage()])
    assert "tier " not in fastload.DataLoader(mine, 4, backend="torch").explain()
    own = fastload.DataLoader(ImageFolder(folder, None), 4, lazy_images=False)
    assert "tier " not in own.explain()


@pytest.mark.parametrize("kind", [cifar, lambda: Subset(cifar(), [1, 2])])
def test_pixels_in_memory_have_figures_of_their_own(kind):
    assert tier(kind()) == f"tier 1 of 3: {tiers.NATIVE[1]}, {tiers.GAINS_IN_MEMORY[1].text}"
    data = cifar(transform=v1.Compose([lambda image: image.rotate(9), v1.ToTensor()]))
    for wrapped in (data, Subset(data, [1]), ConcatDataset([data, data])):
        assert tier(wrapped).startswith(
            f"tier 2 of 3: {tiers.NATIVE[2]}, {tiers.GAINS_IN_MEMORY[2].text}; for tier 1 "
            f"({tiers.GAINS_IN_MEMORY[1].range}) mend: "
        )


class Mine(Dataset):
    """fastload cannot follow it."""

    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self.transform(np.zeros((9, 9, 3), np.uint8)), hash("x")


class Step:
    def __call__(self, image):
        return image.rotate(torch.rand(1).item())


@pytest.mark.parametrize(
    ("transform", "lacks"),
    [
        (Step(), COMPOSE),
        (v1.Compose([Step()]), END),
        (v1.Compose([Step(), v1.PILToTensor()]), FLOATS),
        (v1.Compose([Step(), v1.Grayscale(1), v1.PILToTensor()]), FLOATS),
        (
            v2.Compose([Step(), v2.ToImage(), v2.Resize((5, 7)), v2.ToDtype(torch.float32, True)]),
            APART,
        ),
    ],
    ids=["no chain", "no end", "bytes", "grey bytes", "apart"],
)
def test_what_lifts_the_third_tier(folder, transform, lacks):
    for data in (Mine(transform), ImageFolder(folder, transform)):
        said = tier(data)
        assert said.startswith(now(3))
        assert re.search(r"; for tier 2(?: \([^)]*\))? (.*); for tier 1 ", said)[1] == lacks


def test_what_lifts_the_second_tier(folder):
    data = ImageFolder(folder, v1.Compose([Step(), v1.ToTensor()]))
    first = f"; for tier 1 ({tiers.GAINS[1].range}) mend: "
    assert tier(data) == f"{now(2)}{first}transform Step: it uses `image.rotate`"
    (reason,) = fastload.DataLoader(data, 4)._route.reasons
    assert tiers.short(reason) == "transform Step: it uses `image.rotate`"


@pytest.mark.parametrize(
    ("reason", "clause"),
    [
        (
            "data set a.b.Mine is not one that fastload can follow: it uses cv2.cvtColor",
            "data set Mine: it uses cv2.cvtColor",
        ),
        (
            (
                "data set torchvision.datasets.voc.VOC is not one that fastload reads (want "
                "torchvision's ImageFolder or another of docs/pipelines.md, or fastload.open)"
            ),
            "data set VOC is not one that fastload reads",
        ),
        (
            (
                "transform t.Lambda calls b.dit.<locals>.<lambda>, which fastload cannot see into: "
                "it uses b.centre"
            ),
            "transform Lambda: it uses b.centre",
        ),
        (
            (
                "transform b.Masks is not one that fastload knows: it calculates by Pow; "
                "fastload.transforms.Views makes several views natively"
            ),
            "transform Masks: it calculates by Pow",
        ),
        (
            "its transform makes no tensor (no ToImage, PILToTensor or ToTensor)",
            "its transform makes no tensor",
        ),
        ("batch_size=None: there are no batches to make",) * 2,
        ("x" * 200, "x" * 89 + "…"),
    ],
)
def test_a_reason_in_short(reason, clause):
    assert tiers.short(reason) == clause


class Odd:
    """It refuses whatever is asked."""

    def __getattribute__(self, name):
        raise LookupError(name)


def test_objects_that_refuse_are_no_error():
    subset, joined = Subset([], []), ConcatDataset([[1]])
    subset.dataset = joined.datasets = Odd()
    for data in (Odd(), subset, joined, Mine(Odd())):
        said = tiers.workers(data, ["why"], last_steps=False)
        first = f"for tier 1 ({tiers.GAINS[1].range}) mend: why"
        second = f"for tier 2 ({tiers.GAINS[2].range})"
        assert said == f"{now(3)}; {second} {COMPOSE}; {first}"
    chain = v1.Compose([])
    chain.transforms = Odd()
    assert END in tiers.workers(Mine(chain), ["why"], last_steps=False)
