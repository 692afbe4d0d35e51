"""Colour, lookup and blur ops, and ops made of ops: draws, orders, one image, error texts."""

import itertools

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms.v2 import functional as F

from fastload import transforms as T
from fastload.errors import PipelineError
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.lookup import fewest_bits
from fastload.transforms.programs import CODE
from fastload.transforms.programs import rows as program_rows

SIZE = np.array([[37, 53]], np.int32)
LEAST_BITS = fewest_bits()  # Pillow 13 refuses 0
COUNT = 100_000
MAYBE = [
    (T.RandomGrayscale, (), "Color", 0.0), (T.RandomSolarize, (128.0,), "Solarize", 128.0),
    (T.RandomPosterize, (3,), "Posterize", 3.0),
    (T.RandomEqualize, (), "Equalize", 0.0), (T.RandomAutocontrast, (), "AutoContrast", 0.0),
    (T.RandomInvert, (), "Invert", 0.0),
    (T.RandomAdjustSharpness, (2.0,), "Sharpness", 2.0),
]  # fmt: skip


def drawn(op, count=COUNT, seed=0):
    u = np.random.default_rng(seed).random((count, op.draws(Spec())))
    return op.params(u, np.repeat(SIZE, count, axis=0)).records


@pytest.mark.parametrize(
    ("kind", "given", "name", "argument"), MAYBE, ids=lambda v: getattr(v, "__name__", None)
)
def test_ops_run_with_their_probability(kind, given, name, argument, p_value):
    programs = drawn(kind(*given, p=0.2))
    assert programs.shape == (COUNT, 1, 3)
    runs = programs[:, 0, 0] == CODE[name]
    assert p_value(np.array([runs.sum(), (~runs).sum()]), np.array([0.2, 0.8])) > 1e-3
    assert (programs[runs, 0, 1] == argument).all()
    assert not programs[~runs].any()
    assert (drawn(kind(*given, p=1.0), 100)[:, 0, 0] == CODE[name]).all()
    assert not drawn(kind(*given, p=0.0), 100).any()


def test_defaults_are_torchvisions():
    from torchvision.transforms import v2

    for kind, given, _, _ in MAYBE:
        assert kind(*given).p == getattr(v2, kind.__name__)(*given).p
    assert T.GaussianBlur(3).sigma == tuple(v2.GaussianBlur(3).sigma)
    assert T.ColorJitter(0.4, (0.2, 0.3), 2, 0.1) == T.ColorJitter(
        (0.6, 1.4), (0.2, 0.3), (0.0, 3.0), (-0.1, 0.1)
    )


def test_jitter_draws_every_order_and_the_whole_range(p_value):
    programs = drawn(T.ColorJitter((0.5, 1.5), (0.2, 0.4), (1.0, 3.0), (-0.1, 0.3)))
    codes = [CODE[name] for name in ("Brightness", "Contrast", "Color", "Hue")]
    assert (np.sort(programs[..., 0], axis=1) == sorted(codes)).all()
    orders = np.unique(programs[..., 0], axis=0, return_counts=True)[1]
    assert p_value(orders, np.full(24, 1 / 24)) > 1e-3
    for code, (low, high) in zip(
        codes, ((0.5, 1.5), (0.2, 0.4), (1.0, 3.0), (-0.1, 0.3)), strict=True
    ):
        counts, _ = np.histogram(programs[programs[..., 0] == code, 1], np.linspace(low, high, 11))
        assert counts.sum() == COUNT
        assert p_value(counts, np.full(10, 0.1)) > 1e-3
    first = programs[
        programs[:, 0, 0] == CODE["Brightness"], 0, 1
    ]  # the order says nothing about the factors
    assert p_value(np.histogram(first, np.linspace(0.5, 1.5, 11))[0], np.full(10, 0.1)) > 1e-3


def test_jitter_leaves_out_what_changes_nothing():
    assert T.ColorJitter().rows() == 0
    assert drawn(T.ColorJitter(contrast=0.0, hue=0.2), 5).shape == (5, 1, 3)
    assert T.ColorJitter()(Image.new("RGB", (3, 2), (9, 9, 9))).getpixel((0, 0)) == (9, 9, 9)


def test_jitter_is_torchvisions_chain(make_image):
    image = Image.fromarray(make_image(37, 53, 3))
    apply = {
        CODE["Brightness"]: F.adjust_brightness,
        CODE["Contrast"]: F.adjust_contrast,
        CODE["Color"]: F.adjust_saturation,
        CODE["Hue"]: F.adjust_hue,
    }
    op = T.ColorJitter(0.8, 0.8, 0.8, 0.2)
    for program in drawn(op, 30):
        want = image
        for code, argument, _ in program:
            want = apply[code](want, argument)
        np.testing.assert_array_equal(np.asarray(pil.apply(op, image, program)), np.asarray(want))


def test_blurs_draw_sigma_evenly(p_value):
    programs = drawn(T.GaussianBlur(9, (0.5, 2.5)))[:, 0]
    assert (programs[:, 0] == CODE["GaussianBlur"]).all()
    counts, _ = np.histogram(programs[:, 1], np.linspace(0.5, 2.5, 11))
    assert p_value(counts, np.full(10, 0.1)) > 1e-3


def test_grey_images_lose_their_channels():
    assert T.Grayscale().out_spec(Spec(4, 5)).channels == 1
    assert T.Grayscale(3).out_spec(Spec(4, 5, 1)).channels == 3
    assert T.Grayscale()(torch.zeros(3, 4, 5, dtype=torch.uint8)).shape == (1, 4, 5)


def test_apply_runs_all_or_nothing(p_value, make_image):
    op = T.RandomApply(
        [T.RandomInvert(1.0), T.GaussianBlur((3, 5), (1.0, 2.0)), T.RandAugment(2, fill=9)], 0.3
    )
    programs = drawn(op)
    assert programs.shape == (COUNT, 4, 3)
    runs = programs[:, 0, 0] == CODE["Invert"]
    assert p_value(np.array([runs.sum(), (~runs).sum()]), np.array([0.3, 0.7])) > 1e-3
    assert (programs[runs, 1, 0] == CODE["GaussianBlur"]).all()
    assert not programs[~runs].any()
    image = Image.fromarray(make_image(37, 53, 3))
    for program in programs[runs][:5]:
        want = image
        for inner, rows in zip(
            op.transforms, (program[:1], program[1:2], program[2:]), strict=True
        ):
            want = pil.apply(inner, want, rows)
        np.testing.assert_array_equal(np.asarray(pil.apply(op, image, program)), np.asarray(want))


@pytest.mark.parametrize(
    ("p", "shares"), [(None, [1 / 3, 1 / 3, 1 / 3]), ([1, 0, 3], [0.25, 0, 0.75])]
)
def test_choice_runs_one(p, shares, p_value):
    inner = [
        T.RandomInvert(1.0),
        T.RandomEqualize(1.0),
        T.RandomApply([T.RandomSolarize(9, 1.0), T.RandomAutocontrast(1.0)], 1.0),
    ]
    programs = drawn(T.RandomChoice(inner, p))
    ran = np.stack([programs[:, 0, 0] > 0, programs[:, 1, 0] > 0, programs[:, 2, 0] > 0], axis=1)
    assert (ran.sum(axis=1) == 1).all()
    assert (ran[:, 2] == (programs[:, 3, 0] > 0)).all()
    assert p_value(ran.sum(axis=0), np.array(shares)) > 1e-3


def test_order_runs_all_of_them_in_every_order(make_image, p_value):
    inner = [
        T.RandomInvert(1.0),
        T.RandomApply([T.RandomEqualize(1.0), T.RandomSolarize(9, 1.0)], 1.0),
        T.RandomAutocontrast(1.0),
    ]
    op = T.RandomOrder(inner)
    programs = drawn(op, 6000)
    names = [tuple(int(code) for code in program[:, 0] if code) for program in programs]
    turns = [(CODE["Invert"],), (CODE["Equalize"], CODE["Solarize"]), (CODE["AutoContrast"],)]
    orders = [
        sum((turns[place] for place in places), ()) for places in itertools.permutations(range(3))
    ]
    assert set(names) == set(orders)
    assert p_value(np.array([names.count(order) for order in orders]), np.full(6, 1 / 6)) > 1e-3
    image = Image.fromarray(make_image(37, 53, 3))
    want = image
    for code in names[0]:
        want = pil.apply(
            T.RandomApply([inner[0]], 1.0),
            want,
            program_rows([code], [9 if code == CODE["Solarize"] else 0]),
        )
    np.testing.assert_array_equal(np.asarray(pil.apply(op, image, programs[0])), np.asarray(want))


WRONG = [
    (T.ColorJitter(-1, (2, 1), "a", 0.6), [
        "brightness is -1, want None, a number, or two rising numbers (0 or more)",
        "contrast is (2, 1), want None, a number, or two rising numbers (0 or more)",
        "saturation is a, want None, a number, or two rising numbers (0 or more)",
        "hue is (-0.6, 0.6), want None, a number, or two rising numbers (-0.5 to 0.5)",
    ]),
    (T.GaussianBlur((4, 3, 5), (2.0, 1.0)), [
        "kernel_size is (4, 3, 5), want odd numbers from 1 to 255",
        "sigma is (2.0, 1.0), want two rising numbers above 0",
    ]),
    (T.GaussianBlur(99),
    ["kernel_size is (99, 99), too large to mirror an image of 37x53; take a smaller one"]),
    (T.RandomSolarize(300, 2), ["p is 2, want 0 to 1", "threshold is 300, want 0 to 256"]),
    (T.RandomPosterize(9), [f"bits is 9, want a whole number from {LEAST_BITS} to 8"]),
    (T.RandomAdjustSharpness(-1, "x"), ["p is x, want 0 to 1",
    "sharpness_factor is -1, want 0 or more"]),
    (T.RandomInvert(float("nan")), ["p is nan, want 0 to 1"]),
    (T.Grayscale(2), ["num_output_channels is 2, want 1 or 3"]),
    (T.RandomApply([T.RandomRotation(3), T.RandomPosterize(9), T.Grayscale()], -1), [
        "p is -1, want 0 to 1",
        "holds RandomRotation, want ops of AUGMENT only (colour, blur, policies); put it outside",
        f"RandomPosterize: bits is 9, want a whole number from {LEAST_BITS} to 8",
        "holds Grayscale, which changes the image's channels; put it outside",
    ]),
    (T.RandomApply([]), ["transforms is empty; give at least one op"]),
    (T.RandomChoice([T.RandomInvert()], [0]),
    ["p is (0,), want None or 1 numbers from 0 up, not all 0"]),
    (T.RandomApply([T.RandAugment(16)] * 9),
    ["its ops make 144 steps, want up to 128; take fewer"]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "texts"), WRONG, ids=str)
def test_every_problem_is_told(op, texts):
    assert op.problems(Spec(37, 53)) == texts


def test_a_float_image_is_refused():
    text = (
        r"^RandomInvert: image is float32, want uint8; ops of AUGMENT come before a change of type$"
    )
    with pytest.raises(PipelineError, match=text):
        T.RandomInvert()(torch.zeros(3, 4, 5))


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_ops_work_on_one_image(mode, make_image):
    pixels = make_image(37, 53, 3) if mode == "RGB" else make_image(37, 53, 3)[..., :1]
    image = Image.fromarray(pixels if mode == "RGB" else pixels[..., 0])
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)
    ops = [
        T.AutoAugment(), T.AugMix(), T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomGrayscale(0.5),
        T.Grayscale(3), T.GaussianBlur(5),
        T.RandAugment.timm("rand-m9-inc1", fill=7), T.AugMix.timm(fill=7), T.AugMix.composer(),
        T.RandomAffine(20, (0.1, 0.2), (0.5, 2), 9),
        T.RandomRotation(30, expand=True), T.RandomPerspective(), T.RandomCrop((20, 30), 3),
        T.Pad(2), T.RandomVerticalFlip(),
        *(kind(*given) for kind, given, _, _ in MAYBE), T.RandomApply([T.RandomInvert()], 0.8),
        T.RandomChoice([T.RandomInvert()]),
        T.RandomOrder([T.RandomInvert(), T.ColorJitter(0.3)]),
    ]  # fmt: skip
    for op in ops:
        for seed in range(3):
            torch.manual_seed(seed)
            of_pil = op(image)
            torch.manual_seed(seed)
            of_tensor = op(tensor)
            assert of_tensor.dtype == torch.uint8
            np.testing.assert_array_equal(
                np.atleast_3d(np.asarray(of_pil)), of_tensor.permute(1, 2, 0).numpy()
            )
