"""Packed images in Parquet files are found by the kept index, block by block: nothing of an image
is in memory.
"""

import functools
import os
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastload
from fastload import _native
from fastload.conversion import indexing
from fastload.errors import SampleError, SourceError
from fastload.sources import Concat, kept_rows, open_source, read, row_blocks, row_file, span_index
from fastload.sources.parquet_spans import check, index_of, part_of, places
from fastload.sources.span_index import Stamp
from tests.children import measured
from tests.sources.format_helpers import COUNT, OPS, encoded_of, refused
from tests.sources.parquet_files import packed, plain, random_values, write

BIT, IN = 1 << 62, 31  # of an offset of a packed image: the mark, and bits of the byte inside


def kept(index, *parts):
    """An index in the cache; or, without a place for it, in memory."""
    keeping = span_index.Keeping(index)
    for number, (path, part) in enumerate(parts):
        keeping.add(number, path, part)
    keeping.keep()
    spans = keeping.spans()
    keeping.close()
    return spans


def part(rows, size):
    rows = np.array(rows, np.int64).reshape(-1, 4)
    return part_of(rows, np.arange(len(rows)))._replace(stamp=Stamp(size, 0, 0))


def files_of(spans, paths):
    return _native.Files(paths, True, [(0, index_of(spans))])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 30), farthest=st.sampled_from([40, 3000, 1 << 20]))
def test_any_snappy_data(tmp_path_factory, seed, farthest):
    """What Google's compressor never writes: copies from far before, long forms of short ones."""
    random, values = Random(seed), random_values(seed)
    data = packed(plain(values), random, farthest)
    if farthest < 1 << 16:
        assert pa.decompress(data, len(plain(values)), "snappy").to_pybytes() == plain(values)
    path = tmp_path_factory.getbasetemp() / "page"
    path.write_bytes(b"before" + data + b"behind")
    with open(path, "rb") as file:
        missing, rows = _native.parquet_page(
            file.fileno(), 6, len(data), len(plain(values)), len(values), 0, -1, True, False
        )
    assert (missing, rows[:, 3].tolist()) == (-1, list(map(len, values)))
    spans = kept("", (str(path), part(rows, len(data) + 12)))
    offsets, sizes = places(spans, np.arange(len(values)))
    files = files_of(spans, [str(path)])
    for row, offset, size, value in zip(
        rows.tolist(), offsets.tolist(), sizes.tolist(), values, strict=True
    ):
        assert (offset >= BIT) == (row[2] >= 0 and size > 0)
        assert files.read(0, offset, size) == value
        cut = random.randint(0, size)
        assert files.read(0, offset, cut) == value[:cut]
        if cut < size:
            assert files.read(0, offset + cut, size - cut) == value[cut:]
        if offset >= BIT:
            assert files.read(0, offset, -1) == value
            assert files.place(0, offset, size) == tuple(row[:2])
            elements = path.read_bytes()[row[0] : row[0] + row[1]]
            assert _native.snappy_unpack(elements, row[2], size) == value
            for other, most in ((offset + 1, size), (offset + size + 1, -1)):
                with pytest.raises(OSError, match=f"has no packed sample at byte {other}"):
                    files.read(0, other, most)


def test_places_are_those_of_the_index(tmp_path):
    rows = [[50, 7, -1, 7], [60, 9, 3, 1 << 20], [4, 0, -1, 0], [60, 9, 0, 5]]
    index = span_index.path_of("parquet", str(tmp_path))
    spans = kept(index, ("/a", part(rows, 100)), ("/b", part([], 0)), ("/c", part(rows, 100)))
    offset, size = places(spans, np.arange(8))
    assert offset.tolist() == [50, BIT | 1 << IN, 4, BIT | 3 << IN] * 2
    assert size.tolist() == [7, 1 << 20, 0, 5] * 2
    files = files_of(spans, ["/a", "/b", "/c"])
    for file in (0, 2):
        assert files.place(file, BIT | 1 << IN, 1 << 20) == (60, 9)
        assert files.place(file, BIT | 3 << IN | 2, 3) == (60, 9)
        assert files.place(file, 50, 7) == (50, 7)
    for file, offset in ((0, BIT), (0, BIT | 4 << IN), (1, BIT), (2, BIT | 300 << IN)):
        with pytest.raises(OSError, match=f"has no packed sample at byte {offset}$"):
            files.place(file, offset, 1)


@pytest.mark.parametrize("few", [False, True])
def test_joined_files_have_their_own_images(tmp_path, monkeypatch, few):
    """Of any part, read by blocks and from memory."""
    monkeypatch.setattr(row_file, "FEW", 1 << 21 if few else 0)
    one = write(tmp_path / "a.parquet", row_group_size=7)
    other = write(tmp_path / "b.parquet", compression="none")
    last = write(tmp_path / "c.parquet", row_group_size=4)
    parts = [open_source(path) for path in (one, other, last)]
    assert [len(each.files.packed) for each in parts] == [1, 0, 1]
    both = Concat(parts)
    assert [first for first, _ in both.files.packed] == [0, 2]
    want = [image for each in parts for image in encoded_of(each)]
    assert [read(both, sample) for sample in range(len(both))] == want


def test_parts_are_checked():
    good = np.array([[300, 48, 1, 2, 8, 0, 4]])
    file = os.open(os.devnull, os.O_RDONLY)
    index = _native.PackedIndex("x", file, good)
    assert _native.Files(["a", "b"], True, [(1, index)]).packed[0][0] == 1
    for column, value in ((0, -1), (0, 1 << 60), (1, -1), (1, 1 << 62), (2, 9), (6, -1)):
        bad = good.copy()
        bad[0, column] = value
        with pytest.raises(ValueError, match=r"PackedIndex: parts\[0\]: rows, place or widths"):
            _native.PackedIndex("x", file, bad)
    for pairs in ([(2, index)], [(-1, index)], [(0, index), (0, index)]):
        with pytest.raises(ValueError, match=r"Files: packed\[\d\]: first file"):
            _native.Files(["a", "b"], True, pairs)
    with pytest.raises(OSError, match="damaged") as raised:
        _native.Files(["a"], True, [(0, index)]).place(0, BIT, 1)
    assert str(raised.value) == "x: is damaged (cut off, at byte 48); fastload index makes it anew"
    for skip, size in ((-1, 1), (0, -1), (1 << 31, 1)):
        with pytest.raises(ValueError, match="snappy_unpack: skip and size"):
            _native.snappy_unpack(b"x", skip, size)
    with pytest.raises(ValueError, match="snappy_unpack: elements are damaged"):
        _native.snappy_unpack(b"\xff", 0, 9)
    os.close(file)


@pytest.mark.parametrize("at", [0, 40, 70, -1])
def test_a_block_that_changes_below(tmp_path, at):
    """The engine compares its checksum."""
    spans = kept("", ("/a", part([[60, 9, 3, 100]], 100)))
    files = files_of(spans, ["/a"])
    begin, size = int(spans.tables.at[0]), int(spans.tables.bytes[0])
    place = begin + at % size
    byte = os.pread(spans.file, 1, place)
    os.pwrite(spans.file, bytes([byte[0] ^ 1]), place)
    with pytest.raises(OSError, match=f"checksum mismatch of rows, at byte {begin}"):
        files.place(0, BIT, 100)


@pytest.mark.parametrize(
    ("change", "at_open"),
    [
        ({"skip": -1}, True), ({"skip": 3 << 30}, True), ({"unpacked": -5}, True),
        ({"unpacked": 3 << 30}, True), ({"size": 0}, False),
    ],
)  # fmt: skip
def test_what_was_kept_and_cannot_be(tmp_path, change, at_open):
    """It is removed, so that it is found anew."""
    path = write(tmp_path / "a.parquet", compression="snappy")
    want = encoded_of(open_source(path))
    index = span_index.path_of("parquet", str(path))
    known = span_index.recall(index)
    columns = {name: np.asarray(known.column(name)) for name in span_index.COLUMNS}
    assert columns["unpacked"].max() > 0
    wrong = int(np.argmax(columns["unpacked"]))
    for name, value in change.items():
        columns[name][wrong] = value
    stamp = Stamp(*known.stamps()[0].tolist())
    spans = kept(index, (str(path), span_index.Part(**columns, asked=known.asked[0], stamp=stamp)))
    if at_open:
        assert encoded_of(open_source(path)) == want
    else:
        with pytest.raises(SourceError, match=r"is damaged \(a packed image that cannot be"):
            open_source(path).locate(np.array([wrong]))
    with pytest.raises(OSError, match=r"a packed image that cannot be|has no packed sample"):
        files_of(spans, [str(path)]).read(0, BIT | wrong << IN, -1)
    assert encoded_of(open_source(path)) == want


@pytest.mark.parametrize("few", [True, False])
def test_damage_at_each_place_is_mended(tmp_path, monkeypatch, few):
    """At open; of many rows, by `fastload index`, which looks at all of them."""
    monkeypatch.setattr(row_file, "FEW", 1 << 21 if few else 0)
    path = write(tmp_path / "a.parquet")
    want = encoded_of(open_source(path))
    index = span_index.path_of("parquet", str(path))
    whole, known = Path(index).read_bytes(), span_index.recall(index)
    begin, size = int(known.tables.at[0]), int(known.tables.bytes[0])
    bases = begin + row_blocks.HEAD.size + row_blocks.WIDE * len(known.columns)
    places = (0, 9, 17, 40, begin, begin + 9, begin + 33, bases, begin + size - 1, begin + size)
    for at in (*places, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        Path(index).write_bytes(damaged)
        opened = open_source(path) if few else indexing.prepare(str(path)).source
        assert encoded_of(opened) == want
        assert Path(index).read_bytes() == whole


def test_damage_under_way_is_blamed_on_the_index(tmp_path):
    """It befalls an index whose rows are in memory: the engine reads blocks again."""
    path = write(tmp_path / "a.parquet")
    data = fastload.open(path, OPS)
    index = span_index.path_of("parquet", str(path))
    begin = int(span_index.recall(index).tables.at[0])
    with open(index, "r+b") as file:
        file.seek(begin + 99)
        file.write(b"\xa5\x5a\xa5")
    with pytest.raises(SampleError) as raised:
        list(fastload.DataLoader(data, 4, seed=3, num_workers=1))
    assert str(raised.value) == (
        f"{path}[0], sample 0: cannot be found ({index}: is damaged (checksum mismatch of rows, at "
        f"byte {begin}); fastload index makes it anew)"
    )
    with open(index, "r+b") as file:
        file.truncate(begin + 40)
    with pytest.raises(SampleError, match=r"\(cut off, at byte \d+\); fastload index makes it"):
        list(fastload.DataLoader(data, 4, seed=3, num_workers=1))
    assert len(list(fastload.DataLoader(fastload.open(path, OPS), 4, seed=3, num_workers=1))) == 6


def test_a_file_of_too_many_rows(tmp_path, monkeypatch):
    spans = kept("", ("/a", part([[60, 9, 3, 100]] * 3, 100)))
    check(spans)
    monkeypatch.setattr("fastload.sources.parquet_spans.ROWS", 2)
    with pytest.raises(SourceError, match="a packed image that cannot be"):
        check(spans)
    path = write(tmp_path / "a.parquet")
    assert refused(path) == f"{path}: has {COUNT} rows (want at most 2); write several files"


def look(index, count):
    spans = kept_rows.recall(span_index.Spans, index)
    check(spans)
    files = files_of(spans, ["/a"])
    offset, _ = places(spans, np.arange(0, count, count // 64))
    assert files.place(0, int(offset[-1]), 5)[1] == 9


def test_memory_does_not_grow_with_the_images(monkeypatch, tmp_path):
    """Of 40 times as many, opening and a batch take what few take."""
    monkeypatch.setattr(row_file, "FEW", 0)
    taken = []
    for count in (10_000, 400_000):
        start = 60 + 10 * np.arange(count, dtype=np.int64)
        rows = np.stack([start, np.full(count, 9), start % 7, 5 + start % 90], 1)
        index = span_index.path_of("parquet", str(tmp_path / str(count)))
        known = kept(index, ("/a", part(rows, 60 + 10 * count + 9)))
        assert known.kept
        del known, rows, start
        taken.append(measured(functools.partial(look, index, count))[1].most)
    assert taken[1] < 1.2 * taken[0] + (64 << 10)
