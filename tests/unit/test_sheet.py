"""What a sheet is made of: pixels back from numbers, records in words, text that fits."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fastload import transforms as T
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.plan.steps import Step
from fastload.sheets import page, sheet
from fastload.sheets.layout import Card, Sheet, columns
from fastload.sheets.pixels import denormalised
from fastload.spec import Spec
from fastload.transforms.programs import CODE, row_words


def numbers(value: float = 1.0) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(0.05, value), min_size=3, max_size=3)


@given(
    mean=numbers(),
    std=numbers(),
    sign=st.sampled_from([1, -1]),
    dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
)
def test_denormalising_inverts_normalising(mean, std, sign, dtype):
    change, normalise = T.ToDtype(dtype, scale=True), T.Normalize(mean, [sign * s for s in std])
    found = plan(Pipeline(None, (T.CenterCrop((16, 48)), T.ToImage(), change, normalise)))
    pixels = (
        np.random.default_rng(0)
        .permutation(np.arange(16 * 48) % 256)
        .reshape(16, 16, 3)
        .astype(np.uint8)
    )
    values = normalise(change(torch.from_numpy(pixels).permute(2, 0, 1)))
    (back,) = denormalised(values[None], found)
    if (
        dtype == "bfloat16"
    ):  # too coarse to tell all neighbours apart, so another value may have the same entry
        assert torch.equal(normalise(change(torch.from_numpy(back).permute(2, 0, 1))), values)
    else:
        np.testing.assert_array_equal(back, pixels)


def step_of(op: T.Op, height: int = 20, width: int = 30) -> Step:
    return Step(1, op, Spec(height, width), 0)


def program(*rows: tuple[str, float]) -> np.ndarray:
    return np.array([[CODE[name], argument, 0] for name, argument in rows])


@pytest.mark.parametrize(
    ("op", "record", "words"),
    [
        (T.RandomResizedCrop((8, 9)), [1, 2, 3, 4], "3x4 px from row 1, column 2, resized to 8x9"),
        (T.CenterCrop((30, 9)), [-5, 2, 30, 9], "30x9 px from row -5, column 2"),
        (T.Pad(2), [-2, -2, 24, 34], "24x34 px from row -2, column -2"),
        (T.Resize(9), [9, 13], "to 9x13 px"),
        (T.RandomHorizontalFlip(), [1], "mirrored"),
        (T.RandomVerticalFlip(), [0], "not mirrored"),
        (T.RandomRotation(9), [1, 0, 0, 0, 1, 0, 0, 0, 20, 30], "unchanged, 20x30 px"),
        (T.RandomRotation(9), [0.5, 0, 2, 0, 0.25, 1, 0, 0, 20, 31], ("matrix 0.5 0 2 0 0.25 1, to "
                                                                     "20x31 px")),
        (T.RandAugment(), program(("Rotate", 9), ("Posterize", 7)), ("Rotate 9.0°, then Posterize "
                                                                    "7 bits")),
        (T.RandAugment(), program(("Posterize", 1), ("Solarize", 128)), ("Posterize 1 bit, then "
                                                                        "Solarize from 128")),
        (T.RandAugment(), program(("Identity", 0), ("Identity", 0)), "nothing"),
        (T.RandAugment(), program(("TranslateX", -3.5), ("Equalize", 0)), ("TranslateX -3.5 px, "
                                                                          "then Equalize")),
        (T.ColOut(0.1, 0.5), [*range(2, 20), *range(15)], ("18 of 20 rows kept; "
                                                           "15 of 30 columns kept")),
        (T.ColOut(0, 0), [*range(20), *range(30)], "20 of 20 rows kept; 30 of 30 columns kept"),
        (T.RandomErasing(), [[1, 2, 3, 4, 77]], "3x4 px from row 1, column 2"),
        (T.RandomErasing(), [[0, 0, 0, 0, 77]], "nothing"),
        (T.ToImage(), [], ""),
        (T.Normalize([0.5], [0.5]), [], ""),
    ],
)  # fmt: skip
def test_records_in_words(op, record, words):
    step = step_of(op)
    assert step.op.words(np.array(record), step.spec) == words


@pytest.mark.parametrize("name", CODE)
def test_every_code_of_a_program_has_words(name):
    said = row_words([CODE[name], 0.25, 0])
    assert said.split(" ")[0] == ("" if name == "Identity" else name)


@pytest.mark.long
@given(text=st.text(max_size=80), width=st.integers(20, 300))
def test_text_stays_inside_its_card(text, width):
    measure = sheet._measure(sheet.SMALL)
    lines = sheet.wrapped(text, width, measure)
    assert max(map(measure, lines)) <= width
    assert "".join(lines).replace(" ", "") == sheet.plain(text).replace(" ", "")
    assert measure(sheet.shortened(text, width, measure)) <= width


@given(count=st.integers(0, 300), width=st.integers(1, 2000), height=st.integers(1, 2000))
def test_a_sheet_has_columns(count, width, height):
    assert 1 <= columns(count, width, height) <= max(1, count)


def test_names_of_any_bytes_can_be_drawn():
    hostile = Card("\udcff\x00日本\n" * 300, "", (Image.new("RGB", (5, 3)),), ("\udc80" * 50,))
    made = Sheet("\udcff", (), (hostile,))
    assert sheet.draw(made).width > 5
    page.write(made).encode()
