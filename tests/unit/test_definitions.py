"""timm's magnitudes and draws, number by number."""

import random

import numpy as np
import pytest
from PIL import Image
from timm.data import auto_augment as theirs
from torchvision.transforms import autoaugment

from fastload import transforms as T
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.definitions import subpolicies, timm
from fastload.transforms.programs import CODE, rows

from .definition_helpers import SIZE, drawn

LEVELS = (0.0, 0.4, 1.0, 2.5, 5.0, 6.1, 7.0, 9.99, 10.0, 14.0)
HPARAMS = {"translate_const": 250, "img_mean": (1, 2, 3)}


def value(name, level, negative):
    sign, u = np.array([[-1.0 if negative else 1.0]]), np.array([[0.25]])
    return float(timm.argument(name, np.array([[level]]), sign, u, SIZE, timm.TRANSLATE)[0, 0])


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize(
    "name", sorted(timm.NAMES - {"GaussianBlurRand", "AutoContrast", "Equalize", "Invert"})
)
def test_levels_are_timms(name, negative, monkeypatch):
    monkeypatch.setattr(random, "random", lambda: 0.9 if negative else 0.1)
    for level in LEVELS:
        (want,) = theirs.LEVEL_TO_ARG[name](level, HPARAMS)
        if name.startswith(
            "Posterize"
        ):  # beyond 8 bits nothing changes, below 0 is no number of bits
            want = min(8, max(0, want))
        if name.startswith("Translate"):
            want *= 60 if name == "TranslateXRel" else 90
        if name == "Desaturate":  # the op turns it into an enhancement factor
            want = min(1.0, max(0.0, 1.0 - want))
        assert value(name, level, negative) == want, level


def test_the_random_blur_is_drawn_below_its_level():
    assert value("GaussianBlurRand", 10.0, negative=False) == pytest.approx(0.1 + 0.25 * 1.9)


@pytest.mark.parametrize("name", sorted(timm.NAMES - {"GaussianBlurRand"}))
def test_pixels_are_timms(name, make_image):
    image = Image.fromarray(make_image(37, 53, 3))
    op = T.RandAugment(1, fill=(124, 116, 104))
    look = {"fillcolor": (124, 116, 104), "resample": Image.Resampling.BICUBIC}
    for level in (0.0, 3.3, 7.0, 9.5):
        sign = np.array([[1.0]])
        ours = timm.argument(
            name, np.array([[level]]), sign, sign, np.array([[37, 53]], np.int32), timm.TRANSLATE
        )
        arguments = [float(ours[0, 0])]
        given = {
            # Timm moves left and up
            "TranslateXRel": [-arguments[0] / 53], "TranslateYRel": [-arguments[0] / 37],
            "Desaturate": [1 - arguments[0]], "AutoContrast": [], "Equalize": [], "Invert": [],
        }.get(name, arguments)  # fmt: skip
        if name.startswith(("Posterize", "Solarize")):
            given = [int(given[0])]
        if name.startswith("Posterize") and given == [0]:
            continue  # Pillow 13 refuses it
        want = theirs.NAME_TO_OP[name](image, *given, **look)
        got = pil.apply(op, image, rows([CODE[timm.op_of(name)]], arguments, 3))
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_sets_and_weights_are_timms():
    assert list(timm.PLAIN) == theirs._RAND_TRANSFORMS
    assert list(timm.INCREASING) == theirs._RAND_INCREASING_TRANSFORMS
    assert list(timm.AUGMIX) == theirs._AUGMIX_TRANSFORMS
    assert list(timm.THREE) == theirs._RAND_3A
    assert timm.WEIGHTS == {"weights": theirs._RAND_WEIGHTED_0, "3aw": theirs._RAND_WEIGHTED_3A}


@pytest.mark.parametrize("name", ["v0", "v0r", "original", "originalr", "3a"])
def test_policies_are_timms(name):
    want = [
        [subpolicies.Call(op.name, op.prob, op.magnitude) for op in pair]
        for pair in theirs.auto_augment_policy(name)
    ]
    assert subpolicies.same(want, subpolicies.timm(name))


@pytest.mark.parametrize("name", ["imagenet", "cifar10", "svhn"])
def test_policies_are_torchvisions(name):
    policies = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy(name)).policies
    want = tuple(
        tuple(subpolicies.Call(op, p, magnitude or 0) for op, p, magnitude in pair)
        for pair in policies
    )
    assert subpolicies.TORCHVISION[name] == want


def test_timm_applies_each_op_with_its_probability(p_value):
    programs = drawn(T.RandAugment.timm("rand-m9-inc1-p0.3"), 100_000, 11)
    names = {CODE[timm.op_of(name)] for name in timm.INCREASING}
    counts = [
        (programs[..., 0] == 0).sum(),
        *((programs[..., 0] == code).sum() for code in sorted(names)),
    ]
    assert len(names) == 15
    assert p_value(np.array(counts), np.array([0.7] + [0.02] * 15)) > 1e-3
    signs = np.sign(programs[programs[..., 0] == CODE["Rotate"], 1])
    assert p_value(np.array([(signs < 0).sum(), (signs > 0).sum()]), np.array([0.5, 0.5])) > 1e-3
    filters = programs[programs[..., 0] == CODE["ShearX"], 2]
    assert (
        p_value(np.array([(filters == 2).sum(), (filters == 3).sum()]), np.array([0.5, 0.5])) > 1e-3
    )


@pytest.mark.parametrize(("config", "edges", "shares"), [
    # m = 7 with normal noise of 1, cut to 0..10: quantiles of N(7, 1), and what lies beyond 10.
    ("rand-m7-mstd1-p1", [-1, 5.71844843, 6.32551020, 7.0, 7.67448975, 9.999999, 11],
    [0.1, 0.15, 0.25, 0.25, 0.24865010, 0.00134990]),
    ("rand-m7-mstd101-p1", [0, 1.4, 2.8, 4.2, 5.6, 7], [0.2] * 5),
])  # fmt: skip
def test_timms_noise(config, edges, shares, p_value):
    programs = drawn(T.RandAugment.timm(config), 100_000, 12)
    levels = np.abs(programs[programs[..., 0] == CODE["Rotate"], 1]) / 3
    counts, _ = np.histogram(levels, edges)
    assert counts.sum() == len(levels)
    assert p_value(counts, np.array(shares) / sum(shares)) > 1e-3


@pytest.mark.parametrize(
    ("config", "level"), [("rand-m7-p1", 7), ("rand-m15-p1", 10), ("rand-m15-mmax20-p1", 15)]
)
def test_timms_levels_without_noise(config, level):
    programs = drawn(T.RandAugment.timm(config), 1000, 12)
    turns = np.abs(programs[programs[..., 0] == CODE["Rotate"], 1])
    assert len(turns) > 50
    assert (turns == 3.0 * level).all()


def test_weighted_ops_are_drawn_without_replacement(p_value):
    op = T.RandAugment.timm("rand-n2-p1-t3aw")
    weights = np.array(op.definition.weights) / sum(op.definition.weights)
    codes = np.array([CODE[timm.op_of(name)] for name in op.definition.names])
    programs = drawn(op, 100_000, 13)
    assert (
        programs[:, 0, 0] != programs[:, 1, 0]
    ).mean() > 0.97  # Desaturate and ColorIncreasing are both Color
    others = weights[None] * weights[:, None] / (1 - weights[:, None])
    np.fill_diagonal(others, 0)
    for place, shares in ((0, weights), (1, others.sum(axis=0))):
        for code in set(codes):
            share = shares[codes == code].sum()
            count = (programs[:, place, 0] == code).sum()
            assert (
                p_value(np.array([count, len(programs) - count]), np.array([share, 1 - share]))
                > 1e-4
            )


def test_the_older_weights():
    op = T.RandAugment.timm("rand-w0-n13-p1")
    programs = drawn(op, 2000, 3)
    assert op.problems(Spec()) == []
    assert all(len(set(program)) == 13 for program in programs[..., 0].astype(int).tolist())
    assert not {CODE["Posterize"], CODE["Invert"]} & set(
        programs[..., 0].astype(int).ravel().tolist()
    )
    assert T.RandAugment.timm("rand-w0-n14").problems(Spec()) == [
        "n is 14, but only 13 ops have a weight; each is drawn once at most"
    ]


@pytest.mark.parametrize("config", ["original-mstd0.5", "v0", "3a"])
def test_timms_autoaugment_draws_its_policies(config, p_value):
    op = T.AutoAugment.timm(config)
    programs = drawn(op, 100_000, 14)
    table = subpolicies.timm(op.policy)
    for place in (0, 1):
        shares = np.zeros(len(CODE))
        for pair in table:
            call = pair[place] if place < len(pair) else subpolicies.Call("Solarize", 0.0, 0)
            shares[CODE[timm.op_of(call.op)]] += call.p / len(table)
        shares[0] = 1 - shares.sum()
        shares[np.abs(shares) < 1e-12] = 0
        if shares[0] < 1:
            assert (
                p_value(np.bincount(programs[:, place, 0].astype(int), minlength=len(CODE)), shares)
                > 1e-3
            )
        else:
            assert not programs[:, place].any()
