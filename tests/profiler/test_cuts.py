"""The loader cut off after each stage."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.utils.data
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import fastload
from fastload.measure import Sample
from fastload.plan.plan import plan
from fastload.profiler import cold, cuts, page, render
from fastload.profiler.batches import Feed
from fastload.profiler.cuts import Cut
from fastload.profiler.ladder import Budget
from fastload.transforms import (
    ColorJitter,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToDtype,
    ToImage,
)
from tests.profiler.test_report import REPORT

OPS = [
    RandomResizedCrop((20, 30)),
    ColorJitter(brightness=0.5),
    RandomHorizontalFlip(),
    ToImage(),
    ToDtype("float32", scale=True),
]


@pytest.fixture
def chained(folder) -> torch.utils.data.DataLoader:
    chain = v2.Compose(
        [
            v2.Resize((20, 30)),
            v2.RandomHorizontalFlip(p=1.0),
            v2.RandomHorizontalFlip(p=1.0),
            v2.PILToTensor(),
        ]
    )
    return torch.utils.data.DataLoader(ImageFolder(folder, chain), 4)


def test_a_pipeline_loses_its_last_stages(folder):
    pipeline = fastload.open(folder, OPS).pipeline
    makers = cuts.of_pipeline(pipeline, 4, 1, lambda shorter: shorter, lambda: pipeline)
    assert list(makers) == ["read", "+ decode and crop", "+ augment", "+ store"]
    kept = [[op.name for op in makers[name]().ops] for name in list(makers)[1:]]
    assert kept == [["RandomResizedCrop", "RandomHorizontalFlip"], ["RandomResizedCrop",
        "ColorJitter", "RandomHorizontalFlip"],
                    [op.name for op in pipeline.ops]]  # fmt: skip
    assert [plan(makers[name]()).out.height for name in list(makers)[1:]] == [
        20
    ] * 3  # each of them can run
    few = replace(pipeline, ops=(pipeline.ops[0],))
    assert list(cuts.of_pipeline(few, 4, 1, lambda shorter: shorter, lambda: few)) == [
        "read",
        "+ decode and crop",
        "+ store",
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_reading_alone_gives_every_images_length_once_per_round(folder, workers):
    source = fastload.open(folder, []).pipeline.source
    batches = iter(cuts.Lengths(source, 8, workers))
    found = torch.cat([next(batches) for _ in range(len(source) // 8)])
    assert sorted(found.tolist()) == sorted(
        os.path.getsize(path) for path, _ in fastload.open(folder).samples
    )


def test_pytorchs_loader_loses_its_last_transforms(chained):
    makers, chain = cuts.of_torch(chained), chained.dataset.transform
    names = [
        "read",
        "+ decode",
        "+ Resize",
        "+ RandomHorizontalFlip",
        "+ RandomHorizontalFlip (3)",
        "+ PILToTensor",
        "+ collate",
    ]
    assert list(makers) == names
    samples = [makers[name]().dataset[0][0] for name in names[:-1]]
    assert isinstance(samples[0], int)
    assert [sample.size == (30, 20) for sample in samples[1:5]] == [False, True, True, True]
    assert np.array_equal(np.asarray(samples[2]), np.asarray(samples[4]))  # flipped twice
    assert not np.array_equal(np.asarray(samples[2]), np.asarray(samples[3]))
    assert samples[5].shape == (3, 20, 30)
    assert [next(iter(makers[name]())).shape for name in names[:-1]] == [
        (4, 1)
    ] * 6  # nothing is collated
    assert (chained.dataset.transform, len(chain.transforms)) == (chain, 4)
    assert makers["+ collate"]() is chained


def test_loaders_that_cannot_be_cut(folder):
    assert cuts.of_torch([1, 2]) == {}
    assert cuts.of_torch(torch.utils.data.DataLoader(torch.zeros(4, 2))) == {}
    assert cuts.of_torch(fastload.DataLoader(fastload.open(folder, OPS), 4)) == {}


def test_warm_and_cold_take_turns(folder, monkeypatch):
    source, log = fastload.open(folder, []).pipeline.source, []
    monkeypatch.setattr(cold, "drop", lambda _, sample: log.append(sample))
    makers = {
        "a": lambda: log.append("a") or cuts.Lengths(source, 2, 0),
        "b": lambda: log.append("b") or cuts.Lengths(source, 2, 0),
    }
    found = cuts.measure(makers, Budget(0.3, 0.0), lambda: None, source)
    assert log[:6] == ["a", "b"] * 3
    assert sorted(log[6:46]) == list(range(40))  # all of it is dropped, then one loader runs
    assert log[46] == "a"
    assert [(cut.name, len(cut.loader.values), len(cut.cold.values)) for cut in found] == [
        ("a", 3, 3),
        ("b", 3, 3),
    ]


def test_no_image_is_read_twice_while_the_cache_counts_as_cold():
    feed = Feed([torch.zeros(4, 1)] * 100)
    cuts._once(feed, 60.0, 20)
    assert feed.taken == 5
    cuts._once(feed, 60.0, 20)  # one batch at least
    assert feed.taken == 7


def test_what_is_shown():
    found = replace(
        REPORT,
        cuts=(
            Cut("read", Sample((9000.0,) * 3), Sample((500.0,) * 3)),
            Cut("+ store", Sample((600.0, 500.0, 700.0))),
        ),
    )
    text = "\n".join(render.lines(found, most=None))
    assert (
        "loader cut off after   images/s            range   adds ms/image   cold, images/s\n"
        in text
    )
    assert (
        "read                      9,000   9,000 to 9,000          +0.111              500\n"
        in text
    )
    assert (
        "+ store                     600       500 to 700          +1.556             none\n"
        in text
    )
    assert "Loader cut off after each stage, cold" in page.write(found)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["native", "torch"])
def test_from_the_command_line(run, photos, backend):
    done = run("profile", "--data", photos, "--recipe", "hot", "--backend", backend, "--workers", 1,
        "--batch-size", 2, "--step-rate", 20,
               "--seconds", 1, "--cuts", "--cold", "--json", "-")  # fmt: skip
    found = json.loads(done.stdout)["cuts"]
    assert [cut["name"] for cut in found] == ["read", "+ decode and crop", "+ augment", "+ store"]
    assert all(
        min(cut[rates]) > 0
        for cut in found
        for rates in ("loader_img_per_s", "cold_loader_img_per_s")
    )


def test_of_any_loader(chained):
    report = fastload.profiler.profile(chained, lambda _: None, seconds=1, cuts=True)
    assert [cut.name for cut in report.cuts][-2:] == ["+ PILToTensor", "+ collate"]
