"""Rows that are few are taken from memory; what an open file of rows holds and is known by."""

import gc
import os

import numpy as np
import pytest

from fastload.sources.row_writer import Writer
from tests.sources.row_helpers import opened, written


@pytest.mark.parametrize(
    ("low", "high", "bytes_each"),
    [
        (5, 5, 0), (0, 127, 1), (-128, 0, 1), (0, 128, 2), (-1, 1 << 31, 8), (0, (1 << 32) - 1, 4),
        (-1, (1 << 60) + 1, 8), (-(1 << 63), (1 << 63) - 1, 8),
    ],
)  # fmt: skip
def test_few_rows_are_exact_in_little_memory(tmp_path, low, high, bytes_each):
    column = np.resize(np.array([low, high, low], np.int64), 3000)
    rows = written(tmp_path / "x.rows", [([column], b"")], 1)
    assert (rows.take(np.arange(3000), 0)[0] == column).all()
    (kept,) = rows._few
    assert (kept.strides[0], kept.dtype.itemsize if bytes_each else 0) == (bytes_each, bytes_each)


def test_no_rows_at_all(tmp_path):
    rows = written(tmp_path / "x.rows", [([np.zeros(0, np.int64)], b"")], 1)
    assert len(rows) == len(np.asarray(rows.column("0"))) == 0


def test_the_descriptor_goes_with_the_rows(tmp_path):
    rows = written(tmp_path / "x.rows", [([np.arange(3)], b"")], 1)
    rows.at(np.array([1]))
    file = rows.file
    gc.disable()  # nobody but the rows' own end closes it
    try:
        del rows
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)
    finally:
        gc.enable()


def test_the_checksum_is_of_what_is_said_not_of_where_it_lies(tmp_path):
    """Two processes that look at the same files keep what they have found at other moments."""
    parts = [([np.arange(3) + number], b"") for number in range(2)]
    first = written(tmp_path / "x.rows", parts, 1)
    with open(tmp_path / "y.rows", "wb") as file:
        writer = Writer(file.fileno(), ["0"])
        writer.add(*parts[0], (0,))
        writer.finish({}, [0])  # its tables lie between the parts
        writer.add(*parts[1], (1,))
        writer.finish({}, [0, 1])
    other = opened(tmp_path / "y.rows")
    assert other.tables.at.tolist() != first.tables.at.tolist()
    assert other.checksum == first.checksum
    changed = written(tmp_path / "z.rows", [parts[0], parts[0]], 1)
    assert changed.checksum != first.checksum
