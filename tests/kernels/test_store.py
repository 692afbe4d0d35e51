"""STORE: every dtype and layout against NumPy."""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import noise, stored

DTYPES = [np.uint8, np.uint16, np.float16, np.float32]
SIZES = [(1, 1), (3, 5), (7, 9), (33, 31), (64, 48)]


def table(dtype):
    values = (
        np.random.default_rng(3).uniform(-3, 3, (3, 256))
        if np.dtype(dtype).kind == "f"
        else np.arange(768).reshape(3, 256) * 83
    )
    return values.astype(dtype)


def expected(image, values, channels_last):
    out = image if values is None else values[np.arange(3), image]
    return out if channels_last else out.transpose(2, 0, 1)


@pytest.mark.parametrize("target", ["scalar", "best"])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_store_is_a_table_lookup(dtype, channels_last, target, height, width):
    image, values = noise(height, width), None if dtype is None else table(dtype)
    want = expected(image, values, channels_last)
    out = np.zeros(want.shape, dtype or np.uint8)
    native.store(image, stored(values, channels_last), out, target)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("target", ["scalar", "best"])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_store_keeps_the_rows_and_columns_it_is_told(dtype, channels_last, target, height, width):
    rng = np.random.default_rng([height, width])
    rows, columns = (
        rng.integers(0, side, (1, max(1, side - 2)), np.int32) for side in (height, width)
    )  # any order, repeats too
    image, values = noise(height, width), None if dtype is None else table(dtype)
    want = expected(image[rows[0]][:, columns[0]], values, channels_last)
    out = np.zeros(want.shape, dtype or np.uint8)
    native.store(image, stored(values, channels_last, rows=rows, columns=columns), out, target)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(
    ("values", "out", "text"),
    [
        (
            None,
            np.zeros((3, 2, 4), np.float32),
            "store: out: dtype without a table (got float32, want uint8)",
        ),
        (
            table(np.float16),
            np.zeros((3, 2, 4), np.float32),
            "store: table: dtype (got float16, want float32)",
        ),
        (
            table(np.uint8)[:, :255].copy(),
            np.zeros((3, 2, 4), np.uint8),
            "store: table: shape (got [3, 255], want [3, 256])",
        ),
        (None, np.zeros((2, 4, 3), np.uint8), "store: out: shape (got [2, 4, 3], want [3, 2, 4])"),
        (
            None,
            np.zeros((3, 2, 4), np.float64),
            "store: out: dtype (got float64, want uint8, uint16, float16 or float32)",
        ),
    ],
)
def test_bad_arguments_are_refused(values, out, text):
    with pytest.raises(ValueError) as error:
        native.store(noise(2, 4), stored(values), out, "best")
    assert str(error.value) == text
