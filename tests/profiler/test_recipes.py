"""Recipes: the shipped ones say what their sources say, and a wrong file gets every problem at
once.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from fastload import ProgressiveResize, recipes, transforms
from fastload.errors import PipelineError, UsageError
from fastload.plan.plan import place
from fastload.recipes import rates
from fastload.recipes.schema import ProgressiveResizing
from fastload.transforms import pil
from fastload.transforms.mix import MixChoice

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
        place((recipes.load("hot").ops()[0], to_image, to_float, normalize, drop))[1].width == 167
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


BROKEN = """
name = 7
title = "t"
source = "s"
colour = "red"
[data]
train = [
  { op = "RandomResizedCrop", size = 0 },
  { op = "ToImage" },
  { op = "RandomHorizontalFlip", p = 2 },
]
eval = [{ op = "os.system", command = "rm" }, { op = "Resize", length = 3 }, { op = "Normalize", mean = "a", std = [1] }, 4]
[training]
model = "resnet50"
epochs = 0
global_batch_size = 2048
precision = "fp4"
channels_last = "yes"
[training.optimizer]
name = "SGD"
learning_rate = true
momentum = 0.9
dampening = 0
weight_decay = 1e-4
[training.loss]
name = "cross_entropy"
label_smoothing = 0.1
[training.sam]
rho = 0.5
interval = 2.5
epsilon = 1e-12
roh = 1
"""
NAMES = (
    "AugMix, AugMix.composer, AugMix.timm, AutoAugment, AutoAugment.timm, CenterCrop, ColOut, "
    "ColorJitter, ConvertImageDtype, "
    "GaussianBlur, Grayscale, Normalize, PILToTensor, Pad, RandAugment, RandAugment.composer, "
    "RandAugment.timm, "
    "RandomAdjustSharpness, RandomAffine, RandomApply, RandomAutocontrast, RandomChoice, "
    "RandomCrop, RandomEqualize, RandomErasing, "
    "RandomErasing.timm, RandomGrayscale, RandomHorizontalFlip, RandomInvert, RandomOrder, "
    "RandomPerspective, RandomPosterize, "
    "RandomResizedCrop, RandomRotation, RandomSolarize, RandomVerticalFlip, Resize, ToDtype, "
    "ToImage, ToTensor, TrivialAugmentWide, "
    "TrivialAugmentWide.official"
)
PROBLEMS = [
    "F: name is 7, want text",
    "F: colour is unknown (want data, name, source, title, training); remove it",
    (
        "F, data.train, op 1 (RandomResizedCrop): size is (0, 0), want whole numbers from 1 to 16384 "
        "px"
    ),
    "F, data.train, op 3 (RandomHorizontalFlip): p is 2, want 0 to 1",
    (
        "F, data.train, op 3 (RandomHorizontalFlip): belongs to CROP, but op 2 (ToImage) is STORE; "
        "move it before op 2"
    ),
    f"F, data.eval, op 1: op is 'os.system', want one of {NAMES}",
    (
        "F, data.eval, op 2 (Resize): takes no length (it takes size, interpolation, max_size, "
        "antialias); remove it"
    ),
    (
        "F, data.eval, op 3 (Normalize): its arguments do not fit (could not convert string to float: "
        "'a'); correct them"
    ),
    f"F, data.eval, op 4: op is None, want one of {NAMES}",
    "F, training: epochs is 0, want 1 to 100000",
    "F, training: precision is 'fp4', want one of float32, amp_fp16, amp_bf16",
    "F, training: channels_last is 'yes', want true or false",
    "F, training.optimizer: learning_rate is True, want a number",
    "F, training.optimizer: nesterov is missing; give true or false",
    "F, training: schedule is missing; give a table [schedule]",
    "F, training.sam: interval is 2.5, want a whole number",
    "F, training.sam: roh is unknown (want epsilon, interval, rho); is rho meant?",
]


def test_every_problem_of_a_recipe_at_once(tmp_path):
    file = tmp_path / "broken.toml"
    file.write_text(BROKEN)
    with pytest.raises(PipelineError) as caught:
        recipes.load(file)
    assert [problem.replace(str(file), "F") for problem in caught.value.problems] == PROBLEMS


UNFINISHED = (
    "F, data.train: ends with an image of no fixed size or no tensor; end CROP with a "
    "fixed size and add ToImage"
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{ op = "Resize", size = 9 }', UNFINISHED),
        ('{ op = "CenterCrop", size = 9 }', UNFINISHED),
        ('{ op = "CenterCrop", size = 9 }, { op = "ColOut", p_row = "x" }, { op = "ToImage" }',
         "F, data.train, op 2 (ColOut): p_row is x, want 0 to 1"),
        ('{ op = "RandomResizedCrop", size = 9, scale = ["a", "b"] }, { op = "ToImage" }',
         ("F, data.train: an argument has a wrong type ('<' not supported between instances of "
         "'int' and 'str'); correct it")),
        ("", "F, data.train: no ops (want a list of { op = NAME, ... }); give at least one"),
    ],
)  # fmt: skip
def test_problems_of_a_data_path(tmp_path, text, problem):
    whole = Path(recipes.load("baseline").where).read_text()
    start, stop = whole.index("train = ["), whole.index("eval = [")
    file = tmp_path / "mine.toml"
    file.write_text(whole[:start] + f"train = [{text}]\n" + whole[stop:])
    with pytest.raises(PipelineError) as caught:
        recipes.load(file)
    assert [found.replace(str(file), "F") for found in caught.value.problems] == [problem]


def test_unreadable_recipes(tmp_path):
    (tmp_path / "a.toml").write_text("name = = 1")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    for name, text in (
        (
            "warm",
            (
                f"recipe: 'warm' is unknown (want {', '.join(recipes.names())} or a .toml file); see "
                "fastload recipes list"
            ),
        ),
        (
            tmp_path / "no.toml",
            f"{tmp_path}/no.toml: cannot be read (No such file or directory); check the path",
        ),
        (
            tmp_path / "a.toml",
            f"{tmp_path}/a.toml: is not TOML (Invalid value (at line 1, column 8)); correct it",
        ),
    ):
        with pytest.raises(UsageError) as caught:
            recipes.load(name)
        assert str(caught.value) == text
    with pytest.raises(UsageError, match=r"b\.toml: is not TOML"):
        recipes.load(tmp_path / "b.toml")


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
