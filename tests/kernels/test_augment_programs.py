"""AUGMENT's programs: scalar and tuned agree, folding changes nothing, and what no program may
say.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fastload import _native as native

from .augment_helpers import augmented, instruction

small = st.floats(-2, 2)


def colour_ops() -> st.SearchStrategy[np.ndarray]:
    factor = st.floats(-1, 12)
    return st.one_of(
        st.builds(
            instruction, st.sampled_from(["Brightness", "Contrast", "Color", "Sharpness"]), factor
        ),
        st.builds(instruction, st.just("Posterize"), st.integers(0, 8)),
        st.builds(instruction, st.just("Solarize"), st.floats(-3, 260)),
        st.builds(instruction, st.just("SolarizeAdd"), st.integers(-255, 255), st.floats(-3, 260)),
        st.builds(instruction, st.just("Hue"), st.integers(0, 255)),
        st.builds(
            instruction,
            st.sampled_from(
                ["Invert", "AutoContrast", "Equalize", "Grayscale", "FlipX", "FlipY", "Identity"]
            ),
        ),
    )


def space_ops() -> st.SearchStrategy[np.ndarray]:
    how = {
        "sampling": st.sampled_from(["nearest", "bilinear", "bicubic"]),
        "fill": st.tuples(*[st.integers(0, 255)] * 3),
    }
    tilt = st.floats(-0.2, 0.2)
    far = st.floats(-300, 300)
    return st.one_of(
        st.builds(instruction, st.just("Affine"), small, small, far, small, small, far, **how),
        st.builds(
            instruction,
            st.just("Perspective"),
            small,
            small,
            far,
            small,
            small,
            far,
            tilt,
            tilt,
            **how,
        ),
        st.builds(
            instruction,
            st.just("GaussianBlur"),
            st.just(1),
            st.just(1),
            st.floats(0.1, 3),
            st.floats(0.1, 3),
        ),
        st.builds(
            instruction, st.just("BoxBlur"), st.floats(0, 9), st.floats(0, 9), st.integers(1, 4)
        ),
    )


def image_of(height: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed, height, width]).integers(
        0, 256, (height, width, 3), np.uint8
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    program=st.lists(st.one_of(colour_ops(), space_ops()), min_size=1, max_size=5),
    height=st.integers(1, 45), width=st.integers(1, 90), seed=st.integers(0, 9),
)  # fmt: skip
def test_scalar_and_tuned_agree_and_a_program_is_its_instructions_one_by_one(
    program, height, width, seed
):
    image = image_of(height, width, seed)
    before = image.copy()
    got = augmented(image, *program, target="best")
    np.testing.assert_array_equal(got, augmented(image, *program, target="scalar"))
    np.testing.assert_array_equal(image, before)
    for row in program:
        image = augmented(image, row, target="best")
    np.testing.assert_array_equal(got, image)


def mixing_ops() -> st.SearchStrategy[np.ndarray]:
    weight = st.floats(-2, 2)
    return st.one_of(
        st.builds(instruction, st.just("Start")),
        st.builds(instruction, st.sampled_from(["Add", "Mix", "Blend"]), weight),
        st.builds(instruction, st.just("Sum")),
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    program=st.lists(st.one_of(mixing_ops(), mixing_ops(), colour_ops()), max_size=9),
    height=st.integers(1, 20),
    width=st.integers(1, 40),
)  # fmt: skip
def test_mixtures_are_numpys(program, height, width):
    """Sums in float32, each product rounded; blends as PIL's."""
    start = image = image_of(height, width, 4)
    total = np.zeros(image.shape, np.float32)
    for row in program:
        name, weight = native.INSTRUCTIONS[int(row[0])], np.float32(row[5])
        if name == "Start":
            start, total = image, np.zeros(image.shape, np.float32)
        elif name == "Add":
            image, total = start, total + weight * image.astype(np.float32)
        elif name == "Sum":
            image = np.clip(total, 0, 255).astype(np.uint8)
        elif name == "Mix":
            image = np.clip(
                (np.float32(1) - weight) * start.astype(np.float32) + weight * total, 0, 255
            ).astype(np.uint8)
        elif name == "Blend":
            image = np.asarray(
                Image.blend(Image.fromarray(start), Image.fromarray(image), float(row[5]))
            )
        else:
            image = augmented(image, row, target="scalar")
    for target in ("scalar", "best"):
        got = augmented(image_of(height, width, 4), instruction("Start"), *program, target=target)
        np.testing.assert_array_equal(got, image)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.data())
def test_blurs_agree(data):
    height, width = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 60))
    across, down = (
        1 + 2 * data.draw(st.integers(0, min(side - 1, 12))) for side in (width, height)
    )
    row = instruction(
        "GaussianBlur", across, down, data.draw(st.floats(0.05, 30)), data.draw(st.floats(0.05, 30))
    )
    image = image_of(height, width, 3)
    np.testing.assert_array_equal(
        augmented(image, row, target="best"), augmented(image, row, target="scalar")
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(st.one_of(st.floats(-1e9, 1e9), st.floats(-1e15, 1e15)), min_size=8,
    max_size=8),
    name=st.sampled_from(["Affine", "Perspective"]),
    sampling=st.sampled_from(["nearest", "bilinear", "bicubic"]),
)  # fmt: skip
def test_maps_from_anywhere_agree(values, name, sampling):
    row = instruction(
        name, *values[: 6 if name == "Affine" else 8], sampling=sampling, fill=(1, 2, 3)
    )
    image = image_of(19, 31, 1)
    np.testing.assert_array_equal(
        augmented(image, row, target="best"), augmented(image, row, target="scalar")
    )


def test_no_instruction_gives_a_copy():
    image = image_of(5, 9, 0)
    got = native.augment(image, np.zeros((0, 13)))
    np.testing.assert_array_equal(got, image)
    assert not np.shares_memory(got, image)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ([99], "code (got 99, want a whole number, 0..25)"),
        ([-1], "code (got -1, want a whole number, 0..25)"),
        ([0.5], "code (got 0.5, want a whole number, 0..25)"),
        ([np.nan], "code (got nan, want a whole number, 0..25)"),
        ([0, 3], "filter (got 3, want a whole number, 0..2)"),
        ([0, 0, 0, 256], "fill (got 256, want a whole number, 0..255)"),
        (instruction("Brightness", np.inf), "factor (got inf, want -1000000..1000000)"),
        (instruction("Contrast", np.nan), "factor (got nan, want -1000000..1000000)"),
        (instruction("Posterize", 9), "bits (got 9, want a whole number, 0..8)"),
        (instruction("Posterize", 2.5), "bits (got 2.5, want a whole number, 0..8)"),
        (instruction("Solarize", -2e9), "threshold (got -2e+09, want -1e+09..1e+09)"),
        (
            instruction("SolarizeAdd", 300, 128),
            "addition (got 300, want a whole number, -255..255)",
        ),
        (
            instruction("Affine", 1, 0, 0, 0, 1e300, 0),
            "coefficient 4 (got 1e+300, want -1e+15..1e+15)",
        ),
        (
            instruction("Perspective", 1, 0, 0, 0, 1, 0, 0, np.nan),
            "coefficient 7 (got nan, want -1e+15..1e+15)",
        ),
        (instruction("Hue", 256), "turn (got 256, want a whole number, 0..255)"),
        (instruction("BoxBlur", 128, 1, 1), "radius across (got 128, want 0..127)"),
        (instruction("BoxBlur", 1, 1, 0), "repetitions (got 0, want a whole number, 1..16)"),
        (instruction("GaussianBlur", 4, 3, 1, 1), "taps across (got 4, want an odd number)"),
        (
            instruction("GaussianBlur", 3, 11, 1, 1),
            "taps down (got 11, want at most 9 on this image)",
        ),
        (instruction("Add", 0.5), "instruction (got Add, want a Start before it)"),
        (instruction("Sum"), "instruction (got Sum, want a Start before it)"),
        (instruction("Mix", 0.5), "instruction (got Mix, want a Start before it)"),
        (instruction("Blend", 0.5), "instruction (got Blend, want a Start before it)"),
        (instruction("Blend", np.nan), "weight (got nan, want -1000000..1000000)"),
        (instruction("GaussianBlur", 3, 3, 0, 1), "sigma across (got 0, want 1e-06..1000000)"),
    ],
    ids=str,
)
def test_hostile_instructions_are_refused(row, text):
    program = np.zeros((2, 13))
    program[1, : len(row)] = row
    with pytest.raises(ValueError) as error:
        native.augment(image_of(5, 9, 0), program)
    assert str(error.value) == f"augment: program[1]: {text}"


@pytest.mark.parametrize(
    ("image", "program", "text"),
    [
        (
            np.zeros((5, 9, 4), np.uint8),
            np.zeros((1, 13)),
            "augment: image: shape (got [5, 9, 4], want [any, any, 3])",
        ),
        (
            np.zeros((0, 9, 3), np.uint8),
            np.zeros((1, 13)),
            "augment: image: size (got 0x9, want 1..178956970 px)",
        ),
        (
            np.zeros((5, 9, 3), np.uint8),
            np.zeros((1, 12)),
            "augment: program: shape (got [1, 12], want [any, 13])",
        ),
        (
            np.zeros((5, 9, 3), np.uint8),
            np.zeros((1, 13), np.float32),
            "augment: program: dtype (got float32, want float64)",
        ),
        (
            np.zeros((5, 9, 3), np.uint8),
            np.zeros((257, 13)),
            "augment: program: depth (got 257, want at most 256)",
        ),
        (
            np.zeros((1, 32768, 3), np.uint8),
            np.zeros((1, 13)),
            "augment: program: image (got 1x32768, want at most 32767 px a side)",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_arrays_are_refused(image, program, text):
    with pytest.raises(ValueError) as error:
        native.augment(image, program)
    assert str(error.value) == text
