"""plan(): all problems at once, in the words that users read."""

import numpy as np
import pytest

from fastload.errors import PipelineError
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.sources import FileSource
from fastload.spec import Stage
from fastload.transforms import (
    CenterCrop,
    ColOut,
    Normalize,
    RandAugment,
    RandomAffine,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
    ToImage,
    ToTensor,
    TrivialAugmentWide,
)

SOURCE = FileSource("data", ("data/a/0.jpg",), np.zeros(1, np.int64), ("a",))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def problems(*ops) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        plan(Pipeline(SOURCE, ops))
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def test_a_plan_knows_the_batch():
    out = plan(
        Pipeline(
            SOURCE,
            (
                RandomResizedCrop((160, 96)),
                RandomHorizontalFlip(),
                ToTensor(),
                Normalize(MEAN, STD),
            ),
        )
    ).out
    assert (out.height, out.width, out.channels, out.dtype, out.tensor) == (
        160,
        96,
        3,
        "float32",
        True,
    )


def test_images_leave_as_uint8_tensors_unless_asked_otherwise():
    out = plan(Pipeline(SOURCE, (RandomResizedCrop(9),))).out
    assert (out.dtype, out.tensor, out.channels_last) == ("uint8", True, False)
    assert plan(
        Pipeline(SOURCE, (RandomResizedCrop(9), ToImage(channels_last=True)))
    ).out.channels_last


def test_all_problems_come_at_once():
    found = problems(
        RandomResizedCrop(0),
        RandomHorizontalFlip(1.5),
        RandAugment(magnitude=31),
        ToTensor(),
        Normalize((0.5, 0.5), STD),
    )
    assert found == [
        "op 1 (RandomResizedCrop): size is (0, 0), want whole numbers from 1 to 16384 px",
        "op 2 (RandomHorizontalFlip): p is 1.5, want 0 to 1",
        "op 3 (RandAugment): magnitude is 31, want 0 to 30 (torchvision's definition)",
        "op 5 (Normalize): mean has 2 values, image has 3 channels; give one value per channel",
    ]


@pytest.mark.parametrize(
    ("ops", "text"),
    [
        (
            (RandomResizedCrop(8), ToTensor(), Normalize(MEAN, STD), RandomHorizontalFlip()),
            (
                "op 4 (RandomHorizontalFlip): belongs to CROP, but op 3 (Normalize) is STORE; move "
                "it before op 3"
            ),
        ),
        (
            (RandAugment(), RandomHorizontalFlip(), RandomResizedCrop(8)),
            (
                "op 3 (RandomResizedCrop): belongs to CROP, but op 1 (RandAugment) is AUGMENT; "
                "move it before op 1"
            ),
        ),
        (
            (ToTensor(), RandomResizedCrop(8)),
            (
                "op 2 (RandomResizedCrop): belongs to CROP, but op 1 (ToTensor) is STORE; move it "
                "before op 1"
            ),
        ),
        (
            (RandomResizedCrop(8), ToImage(), Normalize(MEAN, STD)),
            (
                "op 3 (Normalize): images are uint8, want float; put ToDtype(float32, scale=True) "
                "before it"
            ),
        ),
        (
            (RandomResizedCrop(8), ToDtype("float32")),
            "op 2 (ToDtype): the image is no tensor yet; put ToImage before it",
        ),
        (
            (RandomResizedCrop(8), ToImage(), ToTensor()),
            (
                "op 3 (ToTensor): the image is a tensor already; give one of ToImage, PILToTensor, "
                "ToTensor"
            ),
        ),
        (
            (RandomResizedCrop(8), ToImage(), ToDtype("int32")),
            "op 3 (ToDtype): dtype is int32, want one of uint8, float16, bfloat16, float32",
        ),
        (
            (RandomResizedCrop((8, 9, 10)), CenterCrop(4)),
            (
                "op 1 (RandomResizedCrop): size has 3 numbers ((8, 9, 10)), want 1 or 2; give "
                "height and width"
            ),
        ),
        (
            (RandomResizedCrop(8, scale=(0.5, 0.1)),),
            (
                "op 1 (RandomResizedCrop): scale is (0.5, 0.1), want two rising numbers above 0 "
                "and up to 1"
            ),
        ),
        (
            (RandomResizedCrop(8, interpolation="area"),),
            (
                "op 1 (RandomResizedCrop): interpolation is 'area', want one of nearest, box, "
                "bilinear, hamming, bicubic, lanczos, random"
            ),
        ),
        (
            (Resize(8, max_size=8), CenterCrop(4)),
            "op 1 (Resize): max_size is 8, want more than size (8), and size to be one number",
        ),
        (
            (RandomResizedCrop(8), ColOut(1.0, 0.1)),
            "op 2 (ColOut): nothing of 8x8 would be left (p_row 1.0, p_col 0.1); lower them",
        ),
        (
            (ColOut(),),
            (
                "op 1 (ColOut): image sizes differ from sample to sample; fix them first, with "
                "RandomResizedCrop or CenterCrop"
            ),
        ),
        (
            (RandomResizedCrop(8), TrivialAugmentWide(num_magnitude_bins=1)),
            "op 2 (TrivialAugmentWide): num_magnitude_bins is 1, want at least 2",
        ),
        (
            (RandomResizedCrop(8, definition="timms"),),
            "op 1 (RandomResizedCrop): definition is 'timms', want one of torchvision, timm",
        ),
        (
            (RandomResizedCrop(8), ToTensor(), RandomErasing(definition="own")),
            "op 3 (RandomErasing): definition is 'own', want one of torchvision, timm",
        ),
        (
            (RandomResizedCrop(8), RandomAffine(5, definition="v3")),
            "op 2 (RandomAffine): definition is 'v3', want one of v1, v2",
        ),
        (
            (RandomResizedCrop(8), ToTensor(), Normalize(MEAN, (1, 1, 0))),
            "op 3 (Normalize): std is (1.0, 1.0, 0.0), want no 0; it divides",
        ),
    ],
    ids=str,
)
def test_one_problem_one_line(ops, text):
    assert problems(*ops) == [text]


def test_sizes_must_be_fixed_in_the_end():
    want = "pipeline: image sizes may still differ after the last op, so they cannot be stacked"
    assert problems(Resize(8)) == [
        f"{want}; end CROP with RandomResizedCrop, CenterCrop or Resize((height, width))"
    ]


def test_problems_survive_pickling():
    import pickle

    error = PipelineError(["a: b", "c: d"])
    assert pickle.loads(pickle.dumps(error)).problems == ("a: b", "c: d")


def test_a_flip_after_augment_is_one_of_its_ops():
    made = plan(
        Pipeline(
            SOURCE,
            (
                RandomResizedCrop((8, 6)),
                RandomHorizontalFlip(),
                RandAugment(),
                RandomHorizontalFlip(),
                ToTensor(),
            ),
        )
    )
    assert [step.number for step in made.stage(Stage.CROP)] == [1, 2]
    assert [step.number for step in made.stage(Stage.AUGMENT)] == [3, 4]
    assert [step.draws for step in made.steps] == [step.op.draws(step.spec) for step in made.steps]
    assert (made.cropped.height, made.cropped.width) == (8, 6)
