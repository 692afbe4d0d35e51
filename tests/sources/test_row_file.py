"""Files of rows: what is read by blocks is what was written; damage is found where it is used."""

import os

import numpy as np
import pytest

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import row_blocks, row_file
from fastload.sources.columns import Column, bounds, extremes, joined, picked, translated
from fastload.sources.row_writer import Writer
from tests.sources.row_helpers import opened, written

SCALES = (0, 1, 8, 16, 20, 32, 40, 62)


def numbers(rng, count):
    """Of any width, signed or not, some growing."""
    scale = int(rng.choice(SCALES))
    found = rng.integers(0, (1 << scale) + 1, count) - (1 << scale) // int(
        rng.choice([1, 2, 1 << 62])
    )
    return np.sort(found) if rng.integers(2) else found


def wholes(parts, columns):
    return [np.concatenate([values[number] for values, _ in parts]) for number in range(columns)]


@pytest.mark.parametrize("few", [0, 1 << 21], ids=["blocks", "memory"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_are_those_that_were_written(tmp_path, monkeypatch, seed, few):
    monkeypatch.setattr(row_file, "FEW", few)
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 5))
    counts = rng.choice([0, 1, 3, 255, 256, 257, 1000, 5000], int(rng.integers(1, 6))).tolist()
    counts[0] = counts[0] or 1
    parts = []
    for number, count in enumerate(counts):
        names = "\n".join(f"ü{number}/{row}" for row in range(count)).encode() if seed % 2 else b""
        parts.append(([numbers(rng, count) for _ in range(columns)], names))
    rows, want = written(tmp_path / "x.rows", parts, columns), wholes(parts, columns)
    assert len(rows) == len(want[0])
    part = np.repeat(np.arange(len(counts)), counts)
    for size in (1, 7, 256, 5000):
        samples = rng.integers(0, len(rows), size)
        taken = rows.at(samples)
        assert (taken.part == part[samples]).all()
        own = rows.take(samples, *range(columns))
        for column, mine, whole in zip(taken.values, own, want, strict=True):
            assert (column == whole[samples]).all()
            assert (mine == whole[samples]).all()
            assert mine.dtype == np.int64
            mine[:] = 0  # the caller's alone
    for number, whole in enumerate(want):
        column = rows.column(str(number))
        assert (np.asarray(column) == whole).all()
        assert bounds(column) == extremes(column) == (whole.min(), whole.max())
    for sample in rng.integers(0, len(rows), 20).tolist():
        row = sample - int(rows.starts[part[sample]])
        assert rows.name(sample) == (f"ü{part[sample]}/{row}" if seed % 2 else "")
    assert (np.asarray(rows.parts()) == part).all()
    assert rows.tables.facts[:, 0].tolist() == list(range(len(counts)))


def test_more_rows_than_are_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(row_file, "AT_ONCE", 1000)
    monkeypatch.setattr(row_file, "SMALL", 100)
    whole = np.arange(3000)[::-1] ** 2
    rows = written(tmp_path / "x.rows", [([whole], b"")], 1)
    samples = np.random.default_rng(0).integers(0, 3000, 2500)
    assert (rows.at(samples).values[0] == whole[samples]).all()


def test_offsets_that_grow_take_four_bytes(tmp_path):
    """10,000 images of 110 KB in one file: 8 bytes each, and one for the class."""
    rng = np.random.default_rng(0)
    size = rng.integers(20_000, 200_000, 10_000)
    offset = np.cumsum(size) + (1 << 40)
    label = rng.integers(0, 200, 10_000)
    rows = written(tmp_path / "x.rows", [([offset, size, label], b"")], 3)
    assert rows.tables.widths.tolist() == [[4, 3, 1]]
    assert os.path.getsize(tmp_path / "x.rows") < 10_000 * 8.5


def test_parts_stand_in_the_order_that_is_told(tmp_path):
    parts = [([np.array([number] * 3)], b"a\nb\nc") for number in range(3)]
    rows = written(tmp_path / "x.rows", parts, 1, (2, 0, 1))
    assert np.asarray(rows.column("0")).tolist() == [2, 2, 2, 0, 0, 0, 1, 1, 1]


def test_what_is_added_later_leaves_what_holds_until_then(tmp_path):
    path = tmp_path / "x.rows"
    with open(path, "wb") as file:
        writer = Writer(file.fileno(), ["a"])
        writer.add([np.array([1, 2])], b"", ())
        writer.finish({}, [0])
        first = opened(path)
        writer.add([np.array([3])], b"", ())
        again = opened(path)
        writer.finish({}, [0, 1])
    for rows, want in ((first, [1, 2]), (again, [1, 2]), (opened(path), [1, 2, 3])):
        assert np.asarray(rows.column("a")).tolist() == want


def test_parts_are_copied_from_file_to_file(tmp_path):
    parts = [
        ([np.arange(number, 400 + number)], b"\n".join([b"n%d" % number] * 400))
        for number in (5, 9)
    ]
    rows = written(tmp_path / "x.rows", parts, 1)
    with open(tmp_path / "y.rows", "wb") as file:
        writer = Writer(file.fileno(), ["0"])
        writer.copy(rows, 1, (7,))
        writer.finish({}, [0])
    copied = opened(tmp_path / "y.rows")
    assert np.asarray(copied.column("0")).tolist() == list(range(9, 409))
    assert copied.name(399) == "n9"


def test_a_flipped_bit_in_any_byte_of_a_part_is_found(tmp_path):
    path = tmp_path / "x.rows"
    rows = written(path, [([np.arange(5) * 100], b"a\nb\nc\nd\ne")], 1)
    whole = path.read_bytes()
    (at,), (size,) = rows.tables.at, rows.tables.bytes
    for byte in range(at, at + size):
        with open(path, "r+b") as file:
            file.seek(byte)
            file.write(bytes([whole[byte] ^ 1 << byte % 8]))
            file.flush()
            with pytest.raises(SourceError, match=r"x.rows: is damaged \(checksum mismatch"):
                rows.name(2)
            if byte < at + size - len(b"a\nb\nc\nd\ne"):
                with pytest.raises(SourceError, match=r"damaged \(checksum mismatch of rows"):
                    rows.take(np.array([2]), 0)
            file.seek(byte)
            file.write(whole[byte : byte + 1])


def test_a_file_that_is_cut_off_while_it_is_open(tmp_path):
    path = tmp_path / "x.rows"
    rows = written(path, [([np.arange(500)], b"")], 1)
    os.truncate(path, int(rows.tables.at[0]) + 100)
    with pytest.raises(SourceError, match=r"is damaged \(checksum mismatch of rows, at byte 48"):
        rows.at(np.array([300, 2]))
    with pytest.raises(SourceError, match=r"is damaged \(it was cut off"):
        rows.bytes_of(0)


def test_rows_that_are_not_there_are_an_index_error(tmp_path):
    rows = written(tmp_path / "x.rows", [([np.arange(5)], b"")], 1)
    for samples in ([5], [-1], [0, 1 << 40]):
        with pytest.raises(IndexError, match="check the sampler"):
            rows.at(np.array(samples))


def test_names_outside_of_their_part(tmp_path):
    path = tmp_path / "x.rows"
    rows = written(path, [([np.arange(2)], b"a\nb")], 1)
    data, at = bytearray(path.read_bytes()), int(rows.tables.at[0])
    size = int(row_blocks.layout(rows.tables.widths).size[0])
    for where, length in ((1 << 63, 3), (0, 1 << 63), (size + 1, 3)):
        row_blocks.HEAD.pack_into(data, at, 0, where, length, 0)
        block = bytes(data[at + 8 : at + size])
        data[at : at + 8] = _native.xxh3(block).to_bytes(8, "little")
        path.write_bytes(data)
        with pytest.raises(SourceError, match="names outside of their part"):
            opened(path).name(0)


def test_readers_get_numbers_of_their_own(tmp_path):
    rows = written(tmp_path / "x.rows", [([np.arange(5)], b"")], 1)
    column, wanted = rows.column("0"), np.array([1, 2])
    column[wanted][:] = 9
    assert column[wanted].tolist() == [1, 2]


@pytest.fixture
def whole():
    return np.random.default_rng(0).integers(-9, 9, 3000)


@pytest.fixture
def column(whole):
    return Column(len(whole), lambda at: whole[at], -9, 9)


@pytest.mark.parametrize(
    "key",
    [
        3, -1, np.int64(7), slice(None), slice(5, 100, 7), slice(None, None, -1), [1, 2, -3], [],
        np.array([[1, 2], [3, 4]]), np.arange(3000) % 3 == 0,
    ],
    ids=str,
)  # fmt: skip
def test_a_column_is_indexed_as_an_array_is(whole, column, key):
    found = (
        column[key if key != [] else np.zeros(0, np.int64)]
        if isinstance(key, list)
        else column[key]
    )
    assert np.array_equal(
        found, whole[key if not isinstance(key, list) else np.array(key, np.int64)]
    )
    assert found.dtype == np.int64
    assert np.shape(found) == np.shape(
        whole[np.array(key, np.int64) if isinstance(key, list) else key]
    )


def test_a_column_is_an_array_where_one_is_asked_for(whole, column, monkeypatch):
    monkeypatch.setattr("fastload.sources.columns.AT_ONCE", 1024)
    assert (np.asarray(column) == whole).all()
    assert np.asarray(column, np.int32).dtype == np.int32
    assert list(column) == whole.tolist()
    assert (len(column), column.shape, column.ndim, column.dtype) == (3000, (3000,), 1, np.int64)
    with pytest.raises(IndexError):
        column[3000]
    with pytest.raises(ValueError, match="without a copy"):
        np.array(column, copy=False)


def test_columns_of_columns(whole, column):
    indices = np.random.default_rng(1).integers(0, 3000, 500)
    some = picked(column, indices)
    assert (np.asarray(some) == whole[indices]).all()
    table = np.arange(100, 200)
    assert (
        np.asarray(translated(picked(column, np.flatnonzero(whole >= 0)), table))
        == table[whole[whole >= 0]]
    ).all()
    both = joined([column, whole[:7], some])
    assert (np.asarray(both) == np.concatenate([whole, whole[:7], whole[indices]])).all()
    assert bounds(both) == (-9, 9)
    assert extremes(both) == (whole.min(), whole.max())
    none = joined([picked(column, indices[:0])] * 2)
    assert (len(none), bounds(none), np.asarray(none).tolist()) == (0, (0, -1), [])
    for one in (picked(whole, indices), translated(abs(whole), table), joined([whole, whole])):
        assert isinstance(one, np.ndarray)
