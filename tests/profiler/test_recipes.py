"""Recipes: the shipped ones say what their sources say."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fastload import ProgressiveResize, recipes, transforms
from fastload.errors import UsageError
from fastload.plan.steps import infer_specs
from fastload.recipes import rates
from fastload.recipes.settings import ProgressiveResizing
from fastload.transforms import pil
from fastload.transforms.mix_choice import MixChoice

MILD = ProgressiveResizing("resize", 0.5, 0.4, 0.2, 4)
HOT = ProgressiveResizing("resize", 0.6, 0.2, 0.2, 4)


@pytest.mark.parametrize(
    ("name", "train", "evaluation", "channels_last"),
    [
        ("baseline", 224, 224, False),
        ("mild", 176, 224, True),
        ("medium", 176, 224, True),
        ("hot", 167, 224, True),
    ],
)
def test_sizes_and_layout(name, train, evaluation, channels_last):
    recipe = recipes.load(name)
    for spec, side in ((recipe.spec(), train), (recipe.spec(train=False), evaluation)):
        assert (spec.height, spec.width, spec.dtype, spec.channels_last) == (
            side,
            side,
            "float32",
            channels_last,
        )


def test_the_data_path_of_hot():
    assert recipes.load("hot").ops() == (
        transforms.RandomResizedCrop(176),
        transforms.RandomHorizontalFlip(0.5),
        transforms.RandAugment.composer(severity=10, depth=1),
        transforms.ToImage(channels_last=True),
        transforms.ColOut(0.05, 0.05, batch=True),
        transforms.ToDtype("float32", scale=True),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    )
    assert recipes.load("hot").ops(train=False)[:2] == (
        transforms.Resize(232),
        transforms.CenterCrop(224),
    )


def test_dropping_rows_before_normalising_gives_the_same_pixels_as_after():
    to_image, drop, to_float, normalize = recipes.load("hot").ops()[3:]
    assert (
        infer_specs((recipes.load("hot").ops()[0], to_image, to_float, normalize, drop))[1].width
        == 167
    )  # Composer's order
    image = torch.randint(
        0, 256, (3, 176, 176), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    record = drop.params(
        np.random.default_rng(0).random((1, 352)), np.array([[176, 176]], np.int32)
    ).records[0]

    def through(*ops: transforms.Op) -> torch.Tensor:
        pixels = image
        for op in ops:
            pixels = pil.apply(op, pixels, record)
        return pixels

    assert torch.equal(through(drop, to_float, normalize), through(to_float, normalize, drop))


@pytest.mark.parametrize(
    ("name", "smoothing", "decay", "alpha", "interval"),
    [
        ("mild", 0.08, 5e-4, None, None),
        ("medium", 0.1, 5e-4, 0.2, 10),
        ("hot", 0.13, 3e-4, 0.25, 5),
    ],
)
def test_the_training_steps(name, smoothing, decay, alpha, interval):
    training = recipes.load(name).training
    assert (training.loss.name, training.loss.label_smoothing) == (
        "binary_cross_entropy",
        smoothing,
    )
    assert (training.optimizer.learning_rate, training.optimizer.weight_decay) == (2.048, decay)
    assert (training.mixup and training.mixup.alpha, training.sam and training.sam.interval) == (
        alpha,
        interval,
    )
    assert training.progressive_resizing == (HOT if name == "hot" else MILD)


@pytest.mark.parametrize(
    ("resizing", "side", "sizes"),
    [
        (MILD, 176, (88, 88, 112, 132, 152, 176)),
        (HOT, 167, (99, 112, 132, 144, 156, 167)),
        (ProgressiveResizing("resize", 0.5, 0.5, 0.2, 4), 224, (112, 112, 112, 148, 188, 224)),
    ],
)
def test_progressive_sizes_are_composers(resizing, side, sizes):
    # Composer 0.7.1, algorithms/progressive_resizing, at these shares of a run
    assert tuple(resizing.size(side, elapsed) for elapsed in (0, 0.3, 0.5, 0.6, 0.7, 0.8)) == sizes


def test_a_loader_can_follow_a_recipes_sizes():
    found = HOT.schedule(90)
    assert found == ProgressiveResize(
        90, scale=0.6, delay=0.2, finetune=0.2, increment=4, mode="resize"
    )
    assert found.problems() == []


def test_hot_goes_through_18_sizes():
    sizes = recipes.load("hot").sizes()
    assert (len(sizes), sizes[0], sizes[-1]) == (18, 99, 167)
    assert recipes.load("baseline").sizes() == (224,)


def test_ffcvs_sizes_are_the_scripts():
    sizes = (
        recipes.load("ffcv-rn50").size_per_epoch()
    )  # FI get_resolution: 160 to epoch 65, the nearest multiple of 32, 192 from 71
    assert (len(sizes), sizes[:71], sizes[71:]) == (88, (160,) * 71, (192,) * 17)
    assert recipes.load("ffcv-rn50").size_schedule().size(192, 70) == 160
    assert recipes.load("timm-a1").size_schedule() is None


@pytest.mark.parametrize(
    ("name", "mix"),
    [
        ("baseline", None),
        ("mild", transforms.LabelSmoothing(0.08, 5)),
        ("hot", transforms.MixUp.composer(0.25, 5, 0.13)),
        ("nvidia-baseline", transforms.LabelSmoothing(0.1, 5)),
        ("timm-a1", transforms.MixUp.timm(0.2, 1.0, label_smoothing=0.1, num_classes=5)),
        ("timm-a3", transforms.MixUp.timm(0.1, 1.0, label_smoothing=0.0, num_classes=5)),
        (
            "pytorch-blog",
            MixChoice(
                (
                    transforms.MixUp(0.2, 5, label_smoothing=0.1),
                    transforms.CutMix(1.0, 5, label_smoothing=0.1),
                )
            ),
        ),
    ],
)
def test_what_recipes_mix(name, mix):
    found = recipes.load(name).mix(5)
    assert found == mix
    assert found is None or found.problems() == []


def test_the_hash_is_of_what_a_recipe_says(tmp_path):
    hot = recipes.load("hot")
    text = Path(hot.where).read_text()
    (tmp_path / "same.toml").write_text("# another comment\n" + text.replace(" = ", "  =  "))
    (tmp_path / "other.toml").write_text(text.replace("severity = 10", "severity = 9"))
    assert recipes.load(tmp_path / "same.toml").hash == hot.hash
    assert recipes.load(tmp_path / "other.toml").hash != hot.hash
    assert len({recipes.load(name).hash for name in recipes.names()}) == len(recipes.names())


def test_rates_name_who_measured():
    assert rates.gpus() == ("a100", "h100", "h200")
    assert rates.rate("h200").describe() == (
        "ESTIMATE for one H200, ResNet-50 at 224 px: computed, measured by nobody; figures reach "
        "from 3,000 to 7,944"
    )
    assert rates.rate("a100").describe() == (
        "ESTIMATE for one A100, ResNet-50 at 224 px: measured by timm on synthetic data; figures "
        "reach from 2,470 to 3,159"
    )
    with pytest.raises(UsageError) as caught:
        rates.rate("b200")
    assert (
        str(caught.value)
        == "rates: 'b200' is unknown (want a100, h100, h200); give your own with --step-rate"
    )


def test_list_names_every_recipe(run):
    lines = run("recipes", "list").stdout.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["baseline", "224", "224", "90"], ["mild", "176", "224", "36"], ["medium", "176", "224",
        "135"], ["hot", "167", "224", "270"],
        ["nvidia-baseline", "224", "224", "90"], ["timm-a1", "224", "224", "600"], ["timm-a2",
        "224", "224", "300"],
        ["timm-a3", "160", "224", "100"], ["pytorch-blog", "176", "224", "600"], ["ffcv-rn50",
        "192", "256", "88"],
    ]  # fmt: skip


def test_show_and_its_json(run):
    assert (
        "  ColOut(p_row=0.05, p_col=0.05, batch=True)"
        in run("recipes", "show", "hot").stdout.splitlines()
    )
    document = json.loads(run("recipes", "show", "hot", "--json", "-").stdout)
    assert list(document) == [
        "name",
        "title",
        "source",
        "file",
        "hash",
        "data",
        "sizes",
        "training",
    ]
    assert document["training"]["mixup"] == {
        "alpha": 0.25, "interpolate_loss": False, "cutmix_alpha": 0.0, "definition": "composer",
    }  # fmt: skip


def test_diff_shows_what_differs_and_nothing_else(run):
    lines = run("recipes", "diff", "medium", "hot").stdout.splitlines()
    assert lines[0] == "medium -> hot"
    assert "training.loss.label_smoothing                 0.1  ->  0.13" in lines
    assert not any("learning_rate" in line for line in lines)
    assert run("recipes", "diff", "hot", "hot").stdout == "no difference\n"
    document = json.loads(run("recipes", "diff", "mild", "hot", "--json", "-").stdout)
    assert {"key": "training.mixup.alpha", "a": None, "b": 0.25} in document["differences"]
