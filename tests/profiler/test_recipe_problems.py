"""Recipe files that are wrong: every problem at once, by its place in the file."""

from pathlib import Path

import pytest

from fastload import recipes
from fastload.errors import PipelineError, UsageError

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
eval = [
  { op = "os.system", command = "rm" },
  { op = "Resize", length = 3 },
  { op = "Normalize", mean = "a", std = [1] },
  4,
]
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
        "F, data.train, op 1 (RandomResizedCrop): size is (0, 0), want whole numbers from 1 to "
        "16384 px"
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
        "F, data.eval, op 3 (Normalize): its arguments do not fit (could not convert string to "
        "float: 'a'); correct them"
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


@pytest.mark.parametrize("value", ['"false"', "0", "[]"])
def test_a_flag_of_an_op_is_true_or_false(tmp_path, value):
    """Python takes any of them for one or the other."""
    hot = Path(recipes.load("hot").where).read_text()
    file = tmp_path / "flag.toml"
    file.write_text(hot.replace("scale = true", f"scale = {value}", 1))
    with pytest.raises(PipelineError) as caught:
        recipes.load(file)
    (problem,) = caught.value.problems
    shown = value.replace('"', "'")
    assert problem.endswith(f"(ToDtype): scale is {shown}, want true or false")


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
                f"recipe: 'warm' is unknown (want {', '.join(recipes.names())} or a .toml file); "
                "see fastload recipes list"
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
