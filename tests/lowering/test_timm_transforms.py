"""timm's transforms become ops with the same arguments, or a reason is told."""

import numpy as np
import pytest
from PIL import Image
from timm.data import auto_augment, random_erasing
from timm.data import transforms as timm_transforms
from torchvision.transforms.functional import InterpolationMode

from fastload import transforms as T
from fastload.lowering import lower_transform
from fastload.plan.steps import infer_specs

BICUBIC, PIL_BILINEAR = InterpolationMode.BICUBIC, 2


@pytest.mark.parametrize(
    "config",
    [
        "rand-m7-mstd0.5-inc1",
        "rand-m9-n3-p0.8-mmax12",
        "rand-m5-mstd101",
        "rand-m3-tweights-inc1",
        "rand-t3a",
    ],
)
def test_timms_randaugment(config):
    theirs = auto_augment.rand_augment_transform(config, {"img_mean": (124, 116, 104)})
    (op,), reasons = lower_transform(theirs)
    want = T.RandAugment.timm(config)
    assert reasons == []
    if want.definition.weights:  # normalised there
        assert op.definition.weights == pytest.approx(
            [w / sum(want.definition.weights) for w in want.definition.weights]
        )
        op, want = (
            T.RandAugment(o.num_ops, o.magnitude, fill=o.fill, interpolation="nearest")
            for o in (op, want)
        )
    assert op == want


@pytest.mark.parametrize("config", ["v0", "v0r", "original-mstd0.5", "originalr", "3a"])
def test_timms_autoaugment(config):
    theirs = auto_augment.auto_augment_transform(
        config, {"img_mean": (1, 2, 3), "interpolation": PIL_BILINEAR}
    )
    assert lower_transform(theirs) == ((T.AutoAugment.timm(config, (1, 2, 3), "bilinear"),), [])
    theirs.policy = theirs.policy[:2]
    assert lower_transform(theirs)[1] == [
        (
            "timm.data.auto_augment.AutoAugment has an argument that fastload does not take (a "
            "policy of its own)"
        )
    ]


def test_timms_augmix_and_others():
    theirs = auto_augment.augment_and_mix_transform(
        "augmix-m5-w4-d2", {"img_mean": (124, 116, 104), "translate_pct": 0.3}
    )
    assert lower_transform(theirs) == ((T.AugMix.timm("augmix-m5-w4-d2"),), [])
    theirs.blended = True
    assert lower_transform(theirs)[1] == [
        "timm.data.auto_augment.AugMixAugment has an argument that fastload does not take (blended)"
    ]
    (op,), _ = lower_transform(
        random_erasing.RandomErasing(0.3, mode="pixel", max_count=2, device="cpu")
    )
    want = T.RandomErasing.timm(0.3, mode="pixel", max_count=2)
    assert op.ratio == pytest.approx(want.ratio, rel=1e-12)
    assert (op.p, op.scale, op.value, op.min_count, op.max_count) == (
        0.3,
        want.scale,
        "random",
        1,
        2,
    )
    crop = timm_transforms.RandomResizedCropAndInterpolation(24, interpolation="bicubic")
    assert lower_transform(crop) == (
        (T.RandomResizedCrop(24, interpolation="bicubic", definition="timm"),),
        [],
    )
    drawn = timm_transforms.RandomResizedCropAndInterpolation(24, interpolation="random")
    assert lower_transform(drawn) == (
        (T.RandomResizedCrop(24, interpolation="random", definition="timm"),),
        [],
    )
    drawn.interpolation = (InterpolationMode.NEAREST, InterpolationMode.BICUBIC)
    assert "(filters nearest, bicubic)" in lower_transform(drawn)[1][0]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (timm_transforms.MaybeToTensor(), (T.ToTensor(),)),
        (timm_transforms.MaybePILToTensor(), (T.PILToTensor(),)),
        (timm_transforms.ToNumpy(), (T.PILToTensor(),)),
        (timm_transforms.ToTensor(), (T.PILToTensor(), T.ToDtype("float32"))),
        (timm_transforms.CenterCropOrPad((9, 7)), (T.CenterCrop((9, 7)),)),
    ],
)
def test_timms_small_ones(theirs, ours):
    assert lower_transform(theirs) == (ours, [])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("size", [(19, 23), (60, 70), (40, 25)])
def test_timms_paddings_are_timms(size, mode, make_image):
    image = Image.fromarray(make_image(31, 47, 3))
    theirs = timm_transforms.CenterCropOrPad(size, fill=(9, 80, 250), padding_mode=mode)
    ((ours,), why) = lower_transform(theirs)
    assert not why
    assert np.array_equal(np.asarray(ours(image)), np.asarray(theirs(image)))


@pytest.mark.parametrize("longest", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("size", [(31, 47), (47, 31), (33, 33)])
def test_timms_sizes_that_keep_the_ratio_are_timms(size, longest, make_image):
    image = Image.fromarray(make_image(*size, 3))
    theirs = timm_transforms.ResizeKeepRatio((20, 30), longest, "bicubic")
    ((ours,), why) = lower_transform(theirs)
    assert not why
    assert np.array_equal(np.asarray(ours(image)), np.asarray(theirs(image)))


def test_timms_training_transform_is_lowered_whole():
    from timm.data import create_transform

    chain = create_transform(
        24,
        is_training=True,
        auto_augment="rand-m7-mstd0.5-inc1",
        interpolation="bicubic",
        re_prob=0.25,
    )
    ops, reasons = lower_transform(chain)
    assert reasons == []
    names = [
        "RandomResizedCrop",
        "RandomHorizontalFlip",
        "RandAugment",
        "ToTensor",
        "Normalize",
        "RandomErasing",
    ]
    assert [op.name for op in ops] == names
    assert (ops[2].interpolation, ops[2].fill) == ("bicubic", (124, 116, 104))
    assert infer_specs(ops)[1].tensor
