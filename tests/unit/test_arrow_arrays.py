"""Arrow's arrays from their buffers: what pyarrow.array makes of the same."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastload.sources.arrow import BATCH
from fastload.sources.arrow_arrays import binaries, integers


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=9), st.integers(1, 3))
def test_integers(values, step):
    """Also of a view with gaps."""
    array = np.array(values, np.int64)[::step]
    made = integers(pa, array)
    made.validate(full=True)
    assert made.equals(pa.array(array))


@given(st.lists(st.binary(max_size=5), max_size=9))
def test_binaries(values):
    made = binaries(pa, values)
    made.validate(full=True)
    assert made.to_pylist() == values
    assert made.type == pa.binary()


@pytest.mark.parametrize("count", [BATCH, BATCH + 1, 2 * BATCH])
def test_binaries_are_of_batches(count):
    values = [b"%d" % n for n in range(count)]
    made = binaries(pa, values)
    assert [len(chunk) for chunk in made.chunks] == [BATCH, count - BATCH][: 1 + (count > BATCH)]
    assert made.equals(pa.chunked_array([pa.array(values, pa.binary())]))
