"""timm's, Composer's and the TrivialAugment authors' magnitudes and draws, number by number."""

import random

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from timm.data import auto_augment as theirs
from torchvision.transforms import autoaugment

from fastload import transforms as T
from fastload.errors import PipelineError
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.definitions import composer, official, subpolicies, timm
from fastload.transforms.programs import CODE, rows

SIZE = np.array([[90, 60]], np.int32)  # height, width; px
LEVELS = (0.0, 0.4, 1.0, 2.5, 5.0, 6.1, 7.0, 9.99, 10.0, 14.0)
HPARAMS = {"translate_const": 250, "img_mean": (1, 2, 3)}


def drawn(op, count, seed):
    """Records of `count` samples of SIZE."""
    return op.params(
        np.random.default_rng(seed).random((count, op.draws(Spec()))),
        np.repeat(SIZE, count, axis=0),
    ).records


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


CONFIGS = [
    "rand",
    "rand-m7-mstd0.5-inc1",
    "rand-m9-n3-mstd0.5",
    "rand-p1-mmax30-m15",
    "rand-mstd101-inc0",
    "rand-mstd1-tweights",
    "rand-t3aw-n5",
]


@pytest.mark.parametrize("config", CONFIGS)
def test_randaugment_strings_are_read_as_timm_reads_them(config):
    op, want = T.RandAugment.timm(config), theirs.rand_augment_transform(config)
    levels, first = op.definition, want.ops[0]
    assert (op.num_ops, levels.names) == (want.num_layers, tuple(call.name for call in want.ops))
    assert (op.magnitude, levels.p, levels.std) == (
        first.magnitude,
        first.prob,
        first.magnitude_std,
    )
    assert levels.most == (first.magnitude_max or 10)
    if want.choice_weights is None:
        assert levels.weights is None
    else:
        np.testing.assert_allclose(
            np.array(levels.weights) / sum(levels.weights), want.choice_weights
        )


@pytest.mark.parametrize("config", ["augmix", "augmix-m5-w4-d2", "augmix-m1-a0.5-mstd2-b0"])
def test_augmix_strings_are_read_as_timm_reads_them(config):
    op, want = T.AugMix.timm(config), theirs.augment_and_mix_transform(config)
    assert (op.severity, op.mixture_width, op.chain_depth, op.alpha) == (
        want.ops[0].magnitude,
        want.width,
        want.depth,
        want.alpha,
    )
    assert (op.definition.std, op.definition.p) == (want.ops[0].magnitude_std, want.ops[0].prob)


GRAMMAR = "t, m, n, p, mstd, mmax, inc, w, each with its value"


@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (lambda: T.RandAugment.timm("augmix-m3"), [("RandAugment.timm('augmix-m3'): begins with "
                                                   "'augmix', want rand")]),
        (
            lambda: T.RandAugment.timm("rand-q3-inc-m7.5-n2-n3"),
            [
                ("RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'q3' is unknown (want one of "
                f"{GRAMMAR})"),
                ("RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'inc' is unknown (want one "
                f"of {GRAMMAR})"),
                "RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'm7.5' has no whole number",
                ("RandAugment.timm('rand-q3-inc-m7.5-n2-n3'): section 'n3' gives n again; give it "
                "once"),
            ],
        ),
        (
            lambda: T.RandAugment.timm("rand-tall-w1"),
            [
                "RandAugment.timm('rand-tall-w1'): set 'all' is unknown (want 3a, weights, 3aw)",
                "RandAugment.timm('rand-tall-w1'): weights 1 are unknown (want w0)",
            ],
        ),
        (lambda: T.AutoAugment.timm("v1"), [("AutoAugment.timm('v1'): begins with 'v1', want "
                                            "original or originalr or v0 or v0r or 3a")]),
        (lambda: T.AugMix.timm("augmix-b1"), [("AugMix.timm('augmix-b1'): section 'b1' (blending "
                                              "chain by chain) is not written; drop it")]),
    ],
)  # fmt: skip
def test_wrong_strings(make, texts):
    with pytest.raises(PipelineError) as caught:
        make()
    assert list(caught.value.problems) == texts


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
    ("rand-m7-mstd1-p1", [-1, 5.71844843, 6.32551020, 7.0, 7.67448975, 9.999999, 11], [0.1, 0.15, 0.25, 0.25, 0.24865010, 0.00134990]),
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


def by_hand(level, u, severity):
    """Composer's arguments of one image of SIZE, op by op: level ~ U(0.1, severity)."""
    symmetric = 1 + u * (severity - 1), 1 - u * 0.09 * severity
    return {
        "Posterize": {4 - int(level * 4 / 10)}, "Solarize": {256 - int(level * 256 / 10)},
        "Rotate": {-int(level * 30 / 10), int(level * 30 / 10)},
        "ShearX": {-level * 0.3 / 10, level * 0.3 / 10}, "ShearY": {-level * 0.3 / 10,
        level * 0.3 / 10},
        "TranslateX": {-int(level * (60 / 3) / 10), int(level * (60 / 3) / 10)},
        "TranslateY": {-int(level * (90 / 3) / 10), int(level * (90 / 3) / 10)},
        "Color": set(symmetric), "Contrast": set(symmetric), "Sharpness": set(symmetric),
        "Brightness": {f * 0.75 if f > 1 else f for f in symmetric}, "AutoContrast": {0},
        "Equalize": {0},
    }  # fmt: skip


@pytest.mark.parametrize("augmentation_set", composer.SETS)
@pytest.mark.parametrize("severity", [0.5, 3, 10])
def test_composers_arguments(severity, augmentation_set):
    op = T.RandAugment.composer(severity, 1, augmentation_set)
    u = np.random.default_rng(5).random((500, 4))
    for (code, argument, number), draw in zip(
        op.params(u, np.repeat(SIZE, 500, axis=0)).records[:, 0], u, strict=True
    ):
        name = composer.SETS[augmentation_set][int(draw[0] * len(composer.SETS[augmentation_set]))]
        level = 0.1 + draw[1] * (severity - 0.1)
        original = augmentation_set == "original" and name in (
            "Color",
            "Contrast",
            "Brightness",
            "Sharpness",
        )
        want = {level * 1.8 / 10 + 0.1} if original else by_hand(level, draw[1], severity)[name]
        assert (code, number) == (CODE[name], 2)
        assert min(abs(argument - w) for w in want) < 1e-12


def test_composers_draws(p_value):
    for augmentation_set, names in composer.SETS.items():
        programs = drawn(T.RandAugment.composer(10, 1, augmentation_set), 100_000, 15)[:, 0]
        counts = np.array([(programs[:, 0] == CODE[name]).sum() for name in names])
        assert p_value(counts, np.full(len(names), 1 / len(names))) > 1e-3
        shears = programs[programs[:, 0] == CODE["ShearY"], 1]
        counts, _ = np.histogram(shears, [-0.3, -0.15, -0.003, 0.003, 0.15, 0.3])
        half = np.array([(10 - 5) / 9.9, (5 - 0.1) / 9.9]) / 2
        assert p_value(counts, np.array([half[0], half[1], 0, half[1], half[0]])) > 1e-3
    factors = drawn(T.RandAugment.composer(10, 1), 100_000, 16)[:, 0]
    factors = factors[factors[:, 0] == CODE["Contrast"], 1]
    counts, _ = np.histogram(factors, [0.1, 0.4, 0.7, 1.0, 4.0, 7.0, 10.0])
    assert p_value(counts, np.full(6, 1 / 6)) > 1e-3


def test_composers_pixels(make_image):
    image = Image.fromarray(make_image(90, 60, 2))
    op = T.RandAugment.composer()
    shear = image.transform(
        image.size, Image.Transform.AFFINE, (1, 0.21, 0, 0, 1, 0), Image.Resampling.BILINEAR
    )
    for name, argument, want in (
        ("ShearX", 0.21, shear), ("Rotate", -12.0, image.rotate(-12, Image.Resampling.BILINEAR)),
        ("Solarize", 30.0, ImageOps.solarize(image, 30)),
        ("Sharpness", 7.3, ImageEnhance.Sharpness(image).enhance(7.3)),
    ):  # fmt: skip
        np.testing.assert_array_equal(
            np.asarray(pil.apply(op, image, rows([CODE[name]], [argument], 2))), np.asarray(want)
        )


def test_the_authors_trivialaugment():
    levels = np.arange(31.0)[None]
    values = official.arguments(levels, np.ones_like(levels))[:, 0]
    bits = np.bincount(values[CODE["Posterize"]].astype(int), minlength=9)
    assert bits.tolist() == [0, 0, 1, 5, 5, 5, 5, 5, 5]
    assert values[CODE["Solarize"], [0, 1, 2, 29, 30]].tolist() == [256, 248, 239, 9, 0]
    assert values[CODE["Color"], [0, 30]] == pytest.approx([0.01, 2.0])
    assert values[CODE["Rotate"], [1, 30]].tolist() == [4, 135]
    assert values[CODE["TranslateX"], [1, 15, 30]].tolist() == [1, 16, 32]
    assert values[CODE["ShearX"], 30] == pytest.approx(0.99)


def test_the_authors_draws(p_value):
    programs = drawn(T.TrivialAugmentWide.official(), 100_000, 17)[:, 0]
    counts = np.array([(programs[:, 0] == CODE[name]).sum() for name in official.NAMES])
    assert p_value(counts, np.full(14, 1 / 14)) > 1e-3
    factors = programs[programs[:, 0] == CODE["Sharpness"], 1]
    assert (
        p_value(np.bincount(np.rint((factors - 0.01) / 1.99 * 30).astype(int)), np.full(31, 1 / 31))
        > 1e-3
    )
    assert T.TrivialAugmentWide(30, definition=official.Wide()).problems(Spec()) == [
        "num_magnitude_bins is 30, want 31 (the authors' definition)"
    ]
