"""What Mosaic, MixUp and CopyPaste refuse."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Subset
from torchvision import tv_tensors
from torchvision.transforms import v2

from fastload import detection
from fastload.errors import UsageError
from tests.detection.mix_helpers import Listed, sample


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: detection.Mosaic(1), "Mosaic: size is 1, want height and width from 2 px on; "),
        (lambda: detection.Mosaic(9, p=1.5), "Mosaic: p is 1.5, want a number from 0 to 1; "),
        (lambda: detection.MixUp(0), "MixUp: alpha is 0, want a number above 0, up to 128; "),
        (
            lambda: detection.MixUp(fill=256),
            "MixUp: fill is 256, want a whole number from 0 to 255, or one per channel; ",
        ),
    ],
)
def test_numbers_that_make_no_sense(make, text):
    with pytest.raises(UsageError) as error:
        make()
    assert str(error.value) == f"detection.{text}change it"


ALONE = (
    "detection.Mosaic: got one sample, want 4; give the data set and its v2.Compose to "
    "fastload.detection.WithPartners"
)
NO_DATA_SET = (
    "detection.WithPartners: got a int, want a map-style data set; give one that has __len__ and "
    "__getitem__"
)
A_WORD = "detection.CopyPaste: keys is 'labels', want a list of names; give one"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: detection.CopyPaste(keys="labels"), A_WORD),
        (lambda: detection.Mosaic(9)(*sample(1)), ALONE),
        (lambda: detection.WithPartners(3, []), NO_DATA_SET),
    ],
)
def test_arguments_that_make_no_sense(make, text):
    with pytest.raises(UsageError) as error:
        make()
    assert str(error.value) == text


def test_transforms_inside_are_refused():
    inside = Listed([sample(1)])
    inside.transforms = v2.ToImage()
    with pytest.raises(UsageError) as error:
        detection.WithPartners(Subset(inside, [0]), [])
    assert str(error.value) == (
        "detection.WithPartners: got a data set with transforms, want one without; give them to "
        "WithPartners"
    )


def test_mixes_of_mixes_are_bounded():
    """4 images of 4 of 4 are 64; with a MixUp of these they are 128."""
    three = [detection.Mosaic(9), v2.Compose([detection.Mosaic(9), v2.ToImage()])]
    detection.WithPartners(Listed([sample(1)]), [*three, detection.Mosaic(9)])
    with pytest.raises(UsageError) as error:
        detection.WithPartners(Listed([sample(1)]), [*three, detection.MixUp(), *three])
    assert str(error.value) == (
        "detection.WithPartners: got 5 mixes, which take more than 64 images for one sample, as "
        "each takes what those before it make; leave some out"
    )


def _with(**changed):
    image, target = sample(3)
    return [sample(1), (image, {**target, **changed})]


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        (
            _with(labels=torch.arange(2)),
            "labels of its target has 2 values (want 3, one for each box)",
        ),
        (
            _with(masks=tv_tensors.Mask(torch.zeros((40, 60), dtype=torch.uint8))),
            "masks of its target has 40 values (want 3, one for each box)",
        ),
        (
            _with(boxes=sample(3)[1]["boxes"].as_subclass(torch.Tensor)),
            "its boxes are a plain tensor (want tv_tensors.BoundingBoxes); wrap them",
        ),
        (
            _with(others=sample(3)[1]["boxes"]),
            "its target has 2 tensors of boxes (want 1); leave out others",
        ),
        (
            _with(labels=[1, 2, 3]),
            "labels is Tensor, list in the targets of a mix (want one type)",
        ),
        (
            [sample(1), (sample(2)[0], {k: v for k, v in sample(2)[1].items() if k != "masks"})],
            "the target of sample 1 of a mix has no masks",
        ),
        (
            [sample(1), (sample(2)[0], {**sample(2)[1], "labels": torch.zeros(3, 2)})],
            "labels has shapes [3], [3, 2] in the targets of a mix",
        ),
    ],
)
def test_samples_that_do_not_fit_together(samples, text):
    with pytest.raises(ValueError, match=r"\w") as error:
        detection.MixUp().mixed(samples, {"share": 0.5})
    assert str(error.value) == text


def test_images_are_uint8():
    with pytest.raises(ValueError, match=r"\w") as error:
        detection.MixUp().mixed([(sample(1)[0].float(), sample(1)[1])] * 2, {"share": 0.5})
    assert str(error.value) == (
        "detection.MixUp mixes PIL images in RGB or uint8 [3, H, W] (got float32 [3, 40, 60]); "
        "place it before ToDtype"
    )


def test_a_paste_wants_masks():
    bare = {key: value for key, value in sample(1)[1].items() if key != "masks"}
    with pytest.raises(ValueError, match=r"\w") as error:
        detection.CopyPaste().drawn(np.zeros(3), [((40, 60), sample(1)[1]), ((40, 60), bare)])
    assert str(error.value) == (
        "detection.CopyPaste needs masks [3, 40, 60] of the objects (got none); ask the data set "
        "for masks"
    )


def test_no_result_is_larger_than_an_image_may_be(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)
    with pytest.raises(ValueError, match=r"\w") as error:
        detection.MixUp().holding([(100, 5), (5, 100)])
    assert str(error.value) == (
        "detection.MixUp of images of 100x5 and 5x100 px would have 10000 px, want 1000 at most; "
        "resize them before"
    )
    monkeypatch.setattr("fastload.system.limits.MASKS", 100)
    with pytest.raises(ValueError, match=r"\w") as error:
        detection.Mosaic(20).target([((40, 60), sample(1)[1])] * 4, {"centre": (20, 20)})
    assert str(error.value) == "its masks are too large (got 19200 bytes, want at most 100)"
