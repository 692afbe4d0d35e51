"""Mosaic, MixUp and CopyPaste by themselves: known answers, and what they refuse."""

import pickle

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Subset
from torchvision import tv_tensors
from torchvision.transforms import v2

from fastload import detection
from fastload.detection import merging
from fastload.transforms.sampling import beta
from tests.detection.mix_helpers import Listed, pasted, plain, sample


def coloured(level, height, width, box):
    """An image of one level with one box."""
    boxes = tv_tensors.BoundingBoxes(
        torch.tensor([box], dtype=torch.float32), format="XYXY", canvas_size=(height, width)
    )
    pixels = np.full((height, width, 3), level, np.uint8)
    return Image.fromarray(pixels), {"image_id": level, "boxes": boxes, "labels": [level]}


def test_a_mosaic_has_four_images_around_its_centre():
    mosaic = detection.Mosaic((20, 30), fill=7)
    samples = [
        coloured(50, 10, 15, (0, 0, 15, 10)), coloured(100, 40, 30, (10, 20, 20, 40)),
        coloured(150, 20, 60, (0, 0, 6, 4)), coloured(200, 10, 30, (20, 0, 30, 10)),
    ]  # fmt: skip
    image, target = mosaic.mixed(samples, {"centre": (12, 20)})
    pixels = np.asarray(image)[..., 0]
    want = np.full((40, 60), 7, np.uint8)
    want[0:12, 0:20] = 50  # 20x30 px once resized, of which the upper left is cut off
    want[0:12, 20:35] = 100  # 20x15 px
    want[12:22, 0:20] = 150  # 10x30 px
    want[12:22, 20:50] = 200  # 10x30 px, as it was
    assert np.array_equal(pixels, want)
    assert target["boxes"].tolist() == [[0, 0, 20, 12], [25, 2, 30, 12], [40, 12, 50, 22]]
    assert target["labels"] == [50, 100, 200]  # that of 150 lay beyond the canvas
    assert target["boxes"].canvas_size == (40, 60)
    assert target["image_id"] == 50


def test_centres_are_in_the_middle_half():
    mosaic = detection.Mosaic((20, 30))
    ends = [mosaic.drawn(np.array([u, u]), [])["centre"] for u in (0, 0.5, 1 - 2**-32)]
    assert ends == [(10, 15), (20, 30), (29, 44)]


def test_mixup_weighs_pixels_and_keeps_all_boxes():
    one, other = coloured(101, 10, 30, (1, 2, 3, 4)), coloured(10, 20, 15, (5, 6, 7, 8))
    image, target = detection.MixUp(fill=(0, 100, 200)).mixed([one, other], {"share": 0.25})
    pixels = np.asarray(image)
    assert pixels.shape == (20, 30, 3)
    assert pixels[0, 0].tolist() == [33, 33, 33]  # 25.25 + 7.5 is 32.75
    assert pixels[0, 29].tolist() == [25, 100, 175]
    assert pixels[19, 0].tolist() == [8, 32, 58]  # 7.5 and 57.5: ties go to the even one
    assert pixels[19, 29].tolist() == [0, 100, 200]
    assert target["boxes"].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert target["boxes"].canvas_size == (20, 30)
    assert target["labels"] == [101, 10]


@pytest.mark.parametrize("alpha", [1.0, 3.0, 32.0])
def test_shares_are_those_of_beta(alpha):
    mix = detection.MixUp(alpha)
    u = np.random.default_rng(3).random((500, mix.draws([])))
    shares = [mix.drawn(one, [])["share"] for one in u]
    assert abs(np.mean(shares) - 0.5) < 0.03
    assert np.var(shares) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.2)


def test_other_alphas_have_the_shares_of_classification():
    u = np.array([0.25, 0.625])
    assert detection.MixUp(1.5).drawn(u, [])["share"] == float(beta(u, 1.5))


@pytest.mark.parametrize("blending", [True, False])
def test_copy_paste_is_that_of_torchvisions_references(blending):
    paste = detection.CopyPaste(blending=blending)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        sides = [40, 60] if seed % 2 else rng.integers(20, 70, 2).tolist()
        one, other = sample(seed), sample(seed + 100, *sides, count=1 + seed % 5)
        states = [((40, 60), one[1]), (tuple(sides), other[1])]
        params = paste.drawn(rng.random(1 + seed % 5), states)
        image, target = paste.mixed([one, other], params)
        which = torch.tensor(params["objects"])
        want_image, want = pasted(*one, other[0], plain(other[1]), which, blending=blending)
        apart = (image.int() - want_image.int()).abs().max()  # their resize has other roundings
        assert int(apart) <= (0 if sides == [40, 60] else 1)
        got = plain(target)
        assert list(got) == list(want)
        for key, value in plain(want).items():
            assert key == "image_id" or (torch.equal(got[key], value) and len(value) > 0), key


def test_copy_paste_removes_what_is_covered_and_keeps_the_format():
    image, target = sample(1, count=2)
    target["masks"][:] = 0
    target["masks"][0, 5:9, 5:9] = target["masks"][1, 20:30, 20:40] = 1
    other_image, other = sample(2, count=1)
    other["masks"][:] = 0
    other["masks"][0, 3:12, 3:12] = 1
    other["boxes"][0] = torch.tensor([3, 3, 12, 12])
    to = v2.ConvertBoundingBoxFormat("CXCYWH")
    samples = [(image, to(target)), (other_image, other)]
    paste = detection.CopyPaste()
    states = [((40, 60), to(target)), ((40, 60), other)]
    _, made = paste.mixed(samples, paste.drawn(np.array([0.4]), states))
    assert made["boxes"].format.name == "CXCYWH"
    assert merging.corners(made["boxes"]).tolist() == [[20, 20, 39, 29], [3, 3, 12, 12]]
    assert made["labels"].tolist() == [int(target["labels"][1]), int(other["labels"][0])]
    assert made["area"].tolist() == [200, 81]


def test_nothing_is_pasted_of_an_image_without_objects():
    states = [((40, 60), sample(1)[1]), ((40, 60), {"image_id": 3})]
    paste = detection.CopyPaste()
    assert paste.draws(states) == 0
    assert paste.drawn(np.zeros(0), states) is None


def test_an_image_without_objects_gets_those_of_its_partner():
    image, _ = sample(1)
    other = sample(2)
    for mix, params in ((detection.MixUp(), {"share": 0.5}), (detection.CopyPaste(), None)):
        states = [((40, 60), {"image_id": 5}), ((40, 60), other[1])]
        drawn = params or mix.drawn(np.array([0.1, 0.4, 0.7]), states)
        _, target = mix.mixed([(image, {"image_id": 5}), other], drawn)
        assert target["image_id"] == 5
        assert len(target["boxes"]) == len(target["labels"]) == len(target["masks"]) == 3


def test_partners_are_any_sample_after_what_comes_before():
    samples = [coloured(level, 10, 12, (1, 1, 5, 5)) for level in (0, 60, 120)]
    seen = []

    def look(image, target):
        seen.append(target["image_id"])
        return image, target

    parts = [look, detection.MixUp(p=0.5), v2.ToImage()]
    data = detection.WithPartners(Listed(samples), parts)
    torch.manual_seed(2)
    made = [data[0] for _ in range(60)]
    mixed = [len(target["boxes"]) == 2 for _, target in made]
    assert 15 < sum(mixed) < 45
    assert len(seen) == 60 + sum(mixed)
    assert set(seen) == {0, 60, 120}
    torch.manual_seed(2)
    assert all(
        torch.equal(one[0], data[0][0]) for one in made
    )  # torch's default generator says all
    only = detection.WithPartners(Subset(Listed(samples), [2]), [detection.MixUp(p=1.0)])
    assert only[0][1]["labels"] == [120, 120]
    again = pickle.loads(pickle.dumps(only))
    assert repr(again) == repr(only) == "fastload.detection.WithPartners: 1 images"
