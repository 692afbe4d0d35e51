"""Reading FFCV files: every field's values, and every lie that a file can tell."""

import struct

import numpy as np
import pytest

from fastload.errors import SourceError
from fastload.sources import beton_file, open_source
from tests.beton.conftest import FIELDS
from tests.beton.layout import Writer

REMEDY = "write it again with FFCV, or convert the original data"


def test_every_field_comes_back(beton, rows):
    file = beton_file.read(beton)
    assert file.names == ("image", "label", "weight", "note", "box", "meta", "mask")
    assert len(file) == 12
    for number, (image, label, weight, note, box, meta, mask) in enumerate(rows):
        got = [file.value(name, number) for name in file.names]
        assert got[1:4] == [label, weight, note]
        assert got[5] == meta
        np.testing.assert_array_equal(got[4], box)
        np.testing.assert_array_equal(got[6], mask)
        if image[0] == "jpg":
            assert got[0] == image[1]
        else:
            np.testing.assert_array_equal(got[0], image[1])


def test_an_unknown_field_or_sample(beton):
    file = beton_file.read(beton)
    with pytest.raises(KeyError, match="colour"):
        file.value("colour", 0)
    with pytest.raises(IndexError):
        file.value("label", 12)


def refused(tmp_path, content):
    path = tmp_path / "bad.beton"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        open_source(path)
    assert all(line.startswith(f"{path}: ") for line in str(caught.value).splitlines())
    return str(caught.value).replace(f"{path}: ", "")


HEADERS = [
    ({"version": 1}, "FFCV format version is 1, this fastload reads 2"),
    ({"table": 0}, "has no table of payloads, so its writer did not finish"),
    ({"fields": 0}, "has 0 fields, want 1 to 256"),
    ({"samples": 0}, "holds no samples"),
    (
        {"table": 1 << 62},
        "its table begins at byte 4611686018427387904 of {length}, so it was cut off or damaged",
    ),
    ({"table": 100}, "its table begins at byte 100 of {length}, so it was cut off or damaged"),
    (
        {"samples": 1 << 60},
        "1152921504606846976 samples do not fit before byte {table}, where its table begins",
    ),
]


@pytest.mark.parametrize(("header", "text"), HEADERS)
def test_headers_that_lie(tmp_path, rows, header, text):
    whole = Writer(FIELDS, rows).bytes()
    table = struct.unpack_from("<Q", whole, 16)[0]
    assert (
        refused(tmp_path, Writer(FIELDS, rows).bytes(**header))
        == f"{text.format(length=len(whole), table=table)}; {REMEDY}"
    )


def test_what_is_cut_off(tmp_path, rows):
    whole = Writer(FIELDS, rows).bytes()
    table = struct.unpack_from("<Q", whole, 16)[0]
    assert (
        refused(tmp_path, whole[:20])
        == f"is no FFCV file (got 20 bytes, want at least 24); {REMEDY}"
    )
    assert (
        refused(tmp_path, whole[:-1])
        == f"its table is cut off in the middle of a row (it has {len(whole) - table - 1} bytes); "
        f"{REMEDY}"
    )
    assert (
        refused(tmp_path, whole[:2000])
        == f"its table begins at byte {table} of 2000, so it was cut off or damaged; {REMEDY}"
    )
    missing = refused(tmp_path, whole[:-24])  # the last payload, a mask
    assert (
        missing
        == "field 7 ('mask'): 1 of 12 samples (first: 11) have bytes that are not in the file; "
        f"{REMEDY}"
    )


def test_payloads_outside_the_file(tmp_path, rows):
    writer = Writer(FIELDS, rows)
    writer.bytes()
    whole = Writer(FIELDS, rows).bytes()
    end = struct.unpack_from("<Q", whole, 16)[0]
    for at, size in ((end, 1), (1 << 63, 8), (writer.base, end), (0, 8)):
        lie = whole[:-24] + struct.pack("<QQQ", 11, at, size)
        assert refused(tmp_path, lie).startswith("1 of ")
    assert "payloads lie outside of bytes" in refused(tmp_path, lie)


def test_images_of_another_size_than_their_bytes(tmp_path, rows):
    whole = bytearray(Writer(FIELDS, rows).bytes())
    size, (offset, *_) = Writer(FIELDS, rows).row()
    at = 24 + 1041 * len(FIELDS) + size * 3 + offset
    for lie in (
        struct.pack("<BHH", 1, 7, 7),
        struct.pack("<BHH", 2, 58, 49),
        struct.pack("<BHH", 0, 0, 49),
    ):
        whole[at : at + 5] = lie
        text = refused(tmp_path, bytes(whole))
        assert (
            text
            == "field 1 ('image'): 1 of 12 samples (first: 3) are no images, or their bytes are "
            f"not in the file; {REMEDY}"
        )


def test_types_of_the_writers_own_program_are_never_run(tmp_path, rows):
    fields = [("image", "image"), ("label", "int"), ("mine", "custom")]
    text = refused(tmp_path, Writer(fields, [[row[0], row[1], b"x"] for row in rows]).bytes())
    assert (
        text
        == "field 3 ('mine') is of a type that only the program that wrote it knows (255); it is "
        f"never run; {REMEDY}"
    )


@pytest.mark.parametrize("dtype", ["|O", "<M8[s]", "|V8", "|S4"])
def test_arrays_of_what_is_no_number(tmp_path, rows, dtype):
    fields = [("image", "image"), ("label", "int"), ("box", "array", "float32", (2, 3))]
    whole = Writer(fields, [[*row[:2], row[4]] for row in rows]).bytes()
    said, lie = b'[["", "<f4"]]', f'[["", "{dtype}"]]'.encode()
    at = whole.index(said)
    lied = bytearray(whole)
    lied[at - 8 : at] = struct.pack("<Q", len(lie))
    lied[at : at + len(lie)] = lie
    assert refused(tmp_path, bytes(lied)) == (
        f"field 3 ('box') is an array whose type is not readable ({np.dtype(dtype)} is not a "
        f"number); {REMEDY}"
    )


def test_fields_that_are_missing_or_named_twice(tmp_path, rows):
    text = refused(
        tmp_path,
        Writer(
            [("photo", "image"), ("weight", "float")], [[row[0], row[2]] for row in rows]
        ).bytes(),
    )
    assert (
        text
        == "has no int field (has 'photo' (image), 'weight' (float)); name the fields with images "
        "and labels: fields=(IMAGE, LABEL)"
    )
    text = refused(
        tmp_path, Writer([("a", "image"), ("a", "int")], [row[:2] for row in rows]).bytes()
    )
    assert text == f"two fields are named 'a'; {REMEDY}"


@pytest.mark.long
def test_mutated_files_are_refused_or_read_right(tmp_path, rows):
    """10,000 files with changed bytes in header, fields, rows and table: a typed error, or values
    inside the file.
    """
    whole = Writer(FIELDS, rows).bytes()
    table = struct.unpack_from("<Q", whole, 16)[0]
    size, _ = Writer(FIELDS, rows).row()
    places = np.r_[
        0:24, 24 : 24 + 1041 * 7 : 17, 24 + 1041 * 7 : 24 + 1041 * 7 + size * 12, table : len(whole)
    ]
    rng, path, read, why = np.random.default_rng(5), tmp_path / "m.beton", 0, 0
    path.write_bytes(whole)
    with path.open("r+b", buffering=0) as disk:
        for _ in range(10_000):
            at = rng.choice(places, rng.integers(1, 4))
            for place in at.tolist():
                disk.seek(place)
                disk.write(bytes([int(rng.integers(256))]))
            try:
                file = beton_file.read(str(path))
                for name in file.names:
                    file.value(name, int(rng.integers(len(file))))
                read += 1
            except SourceError:
                why += 1
            except (ValueError, KeyError):  # JSON that is none; a name that was changed
                read += 1
            for place in at.tolist():
                disk.seek(place)
                disk.write(whole[place : place + 1])
    assert read > 500
    assert why > 500
