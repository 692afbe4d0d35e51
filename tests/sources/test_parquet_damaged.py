"""Parquet files that anybody may have written: what is not read in place, and what is damaged."""

import contextlib
import os
import sys
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import fastload
from fastload import _native
from fastload.errors import SourceError
from fastload.sources import open_source
from fastload.system import limits
from tests.sources.format_helpers import COUNT, OPS, image, refused
from tests.sources.parquet_files import NUMBERS, plain, struct, table, write

CONVERT = 'write it again with compression="snappy", or run fastload convert '


@pytest.mark.parametrize("codec", ["zstd", "gzip", "lz4", "brotli"])
def test_other_codecs(tmp_path, codec):
    path = write(tmp_path / "a.parquet", compression=codec)
    error = refused(path)
    assert f"column image is packed by {codec.upper()} (want Snappy or none" in error
    assert CONVERT + f"{path} DST, and open DST" in error


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_other_encodings(tmp_path, encoding):
    path = write(
        tmp_path / "a.parquet", table(nested=False), use_dictionary=False,
        column_encoding={"image": encoding},
    )  # fmt: skip
    assert f"column image is encoded as {encoding} (want Snappy or none" in refused(path)


def test_lists_of_images(tmp_path):
    path = write(tmp_path / "a.parquet", pa.table({"image": [[image(0)]], "label": [0]}))
    assert "has no column of encoded images (has 'image' (list<" in refused(path)


@pytest.mark.parametrize("how", [{}, {"data_page_version": "2.0"}, {"use_dictionary": False}])
def test_a_row_without_an_image(tmp_path, how):
    images = [image(number) for number in NUMBERS]
    images[17] = None
    for nested in (False, True):
        error = refused(write(tmp_path / "a.parquet", table(images, nested=nested), **how))
        assert f"{tmp_path}/a.parquet: row 17 has no image (image is null); remove it" in error
    rows = struct(images).to_pylist()
    rows[17] = {"bytes": None, "path": "there.jpg"}
    of = pa.table({"image": pa.array(rows, struct([]).type), "label": [0] * COUNT})
    assert "row 17 has no image (image is null); remove it, or embed the images if there" in (
        refused(write(tmp_path / "a.parquet", of, **how))
    )


def test_labels(tmp_path):
    lacks = table(labels=[0] * 7 + [None] * (COUNT - 7))
    assert "row 7 has no label (label is null); remove it" in refused(
        write(tmp_path / "a.parquet", lacks)
    )
    names = table(labels=[3] * COUNT, names=["ant", "bee"])
    assert "label 3 is above the 2 classes that have names" in refused(
        write(tmp_path / "a.parquet", names)
    )


def test_files_of_several_data_sets(tmp_path):
    write(tmp_path / "d" / "a.parquet")
    write(tmp_path / "d" / "b.parquet", table().rename_columns(["image", "class"]))
    assert "b.parquet: has no columns image and label as other files have them (has " in refused(
        tmp_path / "d"
    )
    write(tmp_path / "d" / "b.parquet", table(nested=False))
    assert "b.parquet: has no columns image and label" in refused(tmp_path / "d")


def test_no_rows(tmp_path):
    path = write(tmp_path / "a.parquet", table([], pa.array([], pa.int64())))
    assert refused(path) == f"{path}: holds no rows; give other files"


def test_more_rows_than_can_be_there(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "PARQUET_ROWS", 5)
    monkeypatch.setattr(limits, "PARQUET_ROW", 1 << 20)
    assert f"{COUNT} rows cannot lie in " in refused(write(tmp_path / "a.parquet"))


def read_all(path):
    """Whatever the file holds: an error in a line, or images with all their bytes."""
    try:
        source = open_source(path)
    except SourceError as error:
        text = str(error)
    else:
        text = ""
    if text:
        assert text.startswith(str(path))
        assert "; " in text
        assert "\n" not in text
        return False
    for sample in range(len(source)):
        place = (int(column[sample]) for column in (source.file, source.offset, source.size))
        with contextlib.suppress(OSError):
            assert len(source.files.read(*place)) == source.size[sample]
    return True


@pytest.mark.parametrize("how", [{}, {"compression": "none"}, {"data_page_version": "2.0"}])
def test_damaged_files(tmp_path, how, monkeypatch):
    """Bytes that are changed anywhere, most of all in headers, and ends that are missing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = [b"\xff\xd8\xff" + bytes([n]) * (40 + n) for n in NUMBERS]
    path = write(tmp_path / "a.parquet", table(small), row_group_size=8, **how)
    whole, random, opened = path.read_bytes(), Random(str(how)), 0
    for number in range(80):
        data = bytearray(whole)
        if number % 5 == 0:
            data = data[: random.randrange(len(data))] + whole[-random.randrange(600) :]
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        path.write_bytes(data)
        opened += read_all(path)
    assert 0 < opened < 80


def look(tmp_path, data, unpacked, values, depth=0, levels=-1, packed=True, indices=False):
    path = tmp_path / "page"
    path.write_bytes(data)
    with open(path, "rb") as file:
        return _native.parquet_page(
            file.fileno(), 0, len(data), unpacked, values, depth, levels, packed, indices
        )


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ((b"", 5, 1), r"its Snappy data are of 0 bytes, want 5"),
        ((b"\xff" * 6, 5, 1), r"its Snappy data are of "),
        ((b"\x05\x01\x01", 5, 1), r"its Snappy data are damaged"),  # a copy from nowhere
        ((b"\x05\x02\x00\x00", 5, 1), r"its Snappy data are damaged"),  # from 0 bytes back
        ((b"\x05\xfc\xff\xff\xff\xff", 5, 1), r"its Snappy data are damaged"),  # a long literal
        ((b"\x05\x10hell", 5, 1), r"its Snappy data are damaged"),
        ((b"\x05\x10\xff\xff\xff\xff\0", 5, 1), r"a value of 4294967295 bytes leaves it"),
        ((b"\x03\x08abc", 3, 1), r"it ends inside a size"),
        ((plain([b"ab"])[:5], 5, 1, 0, -1, False), r"a value of 2 bytes leaves it"),
        ((b"ab", 2, 1, 0, -1, False), r"it ends inside a size"),
        ((b"\xff\0\0\0", 4, 1, 1, -1, False), r"its levels leave it"),
        ((b"\0\0\0\0", 4, 1, 1, -1, False), r"its runs of numbers are damaged"),
        ((b"\x02\0\0\0\x80\x80", 6, 1, 1, -1, False), r"its runs of numbers are damaged"),
        ((b"\x21\x02\x01", 3, 1, 0, -1, False, True), r"its indices have no width"),
        ((b"\x08\x03\x01", 3, 9, 0, -1, False, True), r"its runs of numbers are damaged"),
        ((b"\x08\x00\x00\x00", 4, 1, 0, -1, False, True), r"its runs of numbers are damaged"),
        ((b"", 0, 1, 0, -1, False, True), r"its indices have no width"),
        ((b"abc", 3, 1, 1, 4, False), r"its header is damaged"),
        ((b"abc", -1, 1), r"its header is damaged"),
    ],
)
def test_damaged_pages(tmp_path, page, error):
    with pytest.raises(ValueError, match=error):
        look(tmp_path, *page)


def test_indices_of_all_widths(tmp_path):
    """Runs of one number, and numbers packed bit by bit, as Parquet's specification has them."""
    for width in (0, 1, 3, 8, 13, 32):
        most = (1 << min(width, 31)) - 1
        numbers = [(7 * n * n) % (most + 1) for n in range(16)]
        bits = sum(number << width * place for place, number in enumerate(numbers))
        data = bytes([width, 2 << 1 | 1]) + bits.to_bytes(2 * width, "little")
        data += bytes([5 << 1]) + most.to_bytes((width + 7) // 8, "little")
        _, found = look(tmp_path, data, len(data), 20, packed=False, indices=True)
        assert found.tolist() == [*numbers, *[most] * 4]


def test_a_file_that_changes_below(tmp_path):
    """The engine tells the sample, and its batch raises."""
    path = write(tmp_path / "a.parquet", table([image(n) * 3 for n in NUMBERS]))
    data = fastload.open(path, OPS)
    source, size = data.pipeline.source, os.path.getsize(path)
    place = source.locate(np.arange(len(source)))
    assert source.files.packed
    assert (place.offset >> 62).all()
    with open(path, "r+b") as file:
        file.write(b"\xff" * size)
    with pytest.raises(OSError, match=r"a\.parquet: its bytes .* are no Snappy data any more"):
        source.files.read(0, int(place.offset[-1]), int(place.size[-1]))
    loader = fastload.DataLoader(data, 4, num_workers=1)
    with pytest.raises(fastload.errors.SampleError, match="cannot be read"):
        list(loader)


def test_nothing_is_loaded_without_pyarrow(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "Parquet needs pyarrow (not installed); pip install" in refused(path)
