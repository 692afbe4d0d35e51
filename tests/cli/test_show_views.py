"""show and replay of a recipe with several views of each image."""

import json

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import recipes
from fastload import transforms as T
from fastload.errors import PipelineError, UsageError
from fastload.sheets.batch import Epoch, Run

VIEWS = """
[[data.views]]
count = 2
ops = [
  { op = "RandomResizedCrop", size = [40, 53] },
  { op = "RandomHorizontalFlip" },
  { op = "RandomGrayscale", p = 0.2 },
  { op = "ToImage" },
]

[[data.views]]
count = 3
ops = [
  { op = "RandomResizedCrop", size = 24, scale = [0.05, 0.4] },
  { op = "ToTensor" },
  { op = "Normalize", mean = [0.5, 0.4, 0.3], std = [0.2, 0.2, 0.3] },
]
"""
LARGE = [
    T.RandomResizedCrop((40, 53)),
    T.RandomHorizontalFlip(),
    T.RandomGrayscale(0.2),
    T.ToImage(),
]
SMALL = [T.RandomResizedCrop(24, (0.05, 0.4)), T.ToImage()]


@pytest.fixture
def recipe(tmp_path):
    """mild's training with other pictures: recipe(views) writes it."""
    with open(recipes.load("mild").where) as file:
        before, after = file.read().split("train = [", 1)
    evaluation, training = after.split("]\neval = [", 1)[1].split("\n]\n", 1)

    def write(views=VIEWS, data=""):
        path = tmp_path / "dino.toml"
        path.write_text(f"{before}{data}eval = [{evaluation}\n]\n{views}{training}")
        return str(path)

    return write


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_every_view_is_the_loaders_own(folder, recipe, backend):
    loader = fastload.DataLoader(
        fastload.open(folder, T.Views([(LARGE, 2), (SMALL, 3)])), 9, shuffle=True, seed=4
    )
    wanted, _ = next(iter(loader))
    made = Epoch(Run(folder, recipes.load(recipe()), seed=4, batch_size=9, backend=backend))
    shown = made.show(made.step(0))
    assert made.backend == backend
    assert len(shown) == 9
    for place, one in enumerate(shown):
        assert len(one.views) == 5
        for view, images in zip(one.views, wanted, strict=True):
            np.testing.assert_array_equal(
                np.asarray(view.image), images[place].permute(1, 2, 0).numpy()
            )


def test_a_picture_and_the_draws_of_each_view(folder, recipe, run, tmp_path):
    sheet, facts = tmp_path / "sheet.html", tmp_path / "facts.json"
    run(
        "show",
        folder,
        "-o",
        str(sheet),
        "--recipe",
        recipe(),
        "--batch-size",
        "3",
        "--json",
        str(facts),
    )
    assert sheet.read_text().count("<img") == 3 * 6  # the original and five views
    for sample in json.loads(facts.read_text())["samples"]:
        assert [[line["op"] for line in view] for view in sample["views"]] == [
            *[["RandomResizedCrop", "RandomHorizontalFlip", "RandomGrayscale"]] * 2,
            *[["RandomResizedCrop"]] * 3,
        ]
        boxes = [tuple(view[0]["record"]) for view in sample["views"]]
        assert len(set(boxes)) == 5
    made = run(
        "replay", folder, "--sample", "7", "--recipe", recipe(), "-o", str(tmp_path / "one.png")
    )
    assert [
        line.split(": ")[:2] for line in made.output.splitlines() if line.startswith("view ")
    ] == [
        *[
            [f"view {view}", op]
            for view in (1, 2)
            for op in ("RandomResizedCrop", "RandomHorizontalFlip", "RandomGrayscale")
        ],
        *[[f"view {view}", "RandomResizedCrop"] for view in (3, 4, 5)],
    ]
    with Image.open(tmp_path / "one.png") as image:
        assert image.format == "PNG"


def test_recipes_lists_the_views(recipe, run):
    lines = run("recipes", "show", recipe()).output.splitlines()
    assert lines[lines.index("data, training, 2 views:") + 2] == "  RandomHorizontalFlip(p=0.5)"
    assert lines[lines.index("data, training, 3 views:") + 2] == "  ToTensor(channels_last=False)"
    assert "data, evaluation (224 px):" in lines
    differing = run("recipes", "diff", recipe(), "mild").output
    assert "data.train.view5.ToTensor" in differing


def test_profile_measures_one_picture_only(folder, recipe, run):
    made = run("profile", "--data", folder, "--recipe", recipe(), "--assume", "a100")
    assert type(made.exception) is UsageError
    assert (
        str(made.exception)
        == "profile: recipe mild makes several views of an image, and profile measures one; give "
        "another recipe"
    )


def test_what_is_wrong_with_views(recipe):
    views = VIEWS.replace("count = 2", "count = 0\nsize = 3").replace('"ToTensor"', '"ToTen"')
    path = recipe(views, 'train = [{ op = "ToImage" }]\n')
    with pytest.raises(PipelineError) as caught:
        recipes.load(path)
    problems = caught.value.problems
    assert (
        problems[0]
        == f"{path}, data.views: stands beside data.train, want one of them; remove the other"
    )
    assert problems[1] == f"{path}, data.views, entry 1: count is 0, want 1 to 64"
    assert (
        problems[2] == f"{path}, data.views, entry 1: size is unknown (want count, ops); remove it"
    )
    assert problems[3].startswith(f"{path}, data.views, entry 2, op 2: op is 'ToTen', want one of ")
    assert len(problems) == 4
    with pytest.raises(PipelineError) as caught:
        recipes.load(
            recipe(VIEWS.replace("count = 2", "count = 60").replace("count = 3", "count = 5"))
        )
    assert str(caught.value) == f"{path}, data.views: 65 views, want up to 64; lower the counts"
    with pytest.raises(PipelineError) as caught:
        recipes.load(recipe("", "views = 3\n"))
    assert (
        str(caught.value)
        == f"{path}, data.views: no views (want a list of {{ count = N, ops = [...] }}); give at "
        "least one"
    )
