"""LitData's chunks, by a writer of our own after the format, and by litdata, where it is
installed.
"""

import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastload
from tests.sources.format_helpers import (
    COUNT,
    check_damaged,
    check_same_as_a_folder,
    encoded_of,
    image,
    label,
    refused,
)  # fmt: skip
from tests.sources.litdata_files import (
    LEAF,
    chunk,
    config,
    described,
    item,
    of_dict,
    of_tuple,
    write,
)  # fmt: skip


def items(numbers):
    return [item((image(number), struct.pack("<q", label(number)))) for number in numbers]


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    """A data set of three chunks, one of them without samples."""
    parts = {"chunk-0-0.bin": range(9), "chunk-0-1.bin": (), "chunk-0-2.bin": range(9, COUNT)}
    return write(
        tmp_path_factory.mktemp("litdata"),
        {name: chunk(items(numbers)) for name, numbers in parts.items()},
        [described(name, len(numbers)) for name, numbers in parts.items()],
    )


def test_the_batches_are_those_of_a_folder(chunks, tmp_path):
    check_same_as_a_folder(chunks, tmp_path / "images")
    assert fastload.open(chunks).classes == ("0", "1", "2", "3", "4")


TYPES = ("str", "bytes", "int", "image:png", "int")
ROW = item((b"text", image(1), struct.pack("<q", 3), image(2), struct.pack("<q", -4)))


def one(folder, types=TYPES, row=ROW, **settings):
    return write(
        folder, {"chunk-0-0.bin": chunk([row])}, [described("chunk-0-0.bin", 1)],
        config(types, **settings),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        (of_tuple(*[LEAF] * 5), ("1", "4")),
        (of_dict(a=LEAF, b=LEAF, c=of_tuple(LEAF, LEAF), d=of_dict(e=LEAF)), ("b", "d.e")),
        (of_dict(a=LEAF), ("1", "4")),  # of other leaves
        ({"type": "builtins.dict", "context": "3", "children_spec": [LEAF] * 5}, ("1", "4")),
    ],
)
def test_names_of_leaves(tmp_path, spec, names):
    path = one(tmp_path, spec=spec)
    first = fastload.open(path)
    assert encoded_of(first.pipeline.source) == [image(2)]
    assert first.targets == [3]
    chosen = fastload.open(path, fields=names)
    assert encoded_of(chosen.pipeline.source) == [image(1)]
    assert chosen.targets == [-4]


@pytest.mark.parametrize("spec", [None, 3, "", "[", "[1]", "[" * 100_000, json.dumps([1, 3])])
def test_names_are_positions_where_none_are_told(tmp_path, spec):
    path = one(tmp_path, data_spec=spec)
    assert encoded_of(fastload.open(path, fields=("1", "2")).pipeline.source) == [image(1)]


def test_a_deep_description_is_left_aside(tmp_path):
    spec = LEAF
    for _ in range(100):
        spec = of_tuple(spec)
    path = one(tmp_path, data_spec=json.dumps([1, spec]))
    assert fastload.open(path, fields=("1", "2")).targets == [3]


@pytest.mark.parametrize("kind", ["pickle", "tensor", "pil", "jpeg_array", "numpy", "str"])
def test_images_of_other_types(tmp_path, kind):
    path = one(tmp_path, (kind, "int"), item((b"x", struct.pack("<q", 1))))
    assert refused(path) == (
        f"{path}/index.json: has no image leaf (has '0' ({kind!r}), '1' ('int'); "
        "images are jpeg, image, bytes); name the leaves with images and labels: "
        "fields=(IMAGE, LABEL)"
    )


def test_leaves_that_are_not_there(tmp_path):
    path = one(tmp_path)
    assert "has no image leaf '2' (has '0' ('str'), " in refused(path, fields=("2", "4"))
    assert "has no label leaf 'x'" in refused(path, fields=("1", "x"))


def test_bytes_that_are_no_image(tmp_path):
    path = one(tmp_path, ("bytes", "int"), item((b"\x80\x04]", struct.pack("<q", 1))))
    assert refused(path) == (
        f"{path}/chunk-0-0.bin: leaf '0' is pickled (begins with 80 04 5d, want a JPEG, PNG or "
        "another that Pillow reads); name the leaves with images and labels: fields=(IMAGE, LABEL)"
    )


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"chunk_size": 10}, "chunk-0-0.bin: has 9 samples, want 10; write the data set again"),
        ({"chunk_size": 1 << 40}, "bytes, want 4398046511112 and more; write the data set again"),
        ({"chunk_size": -1}, "(ValueError: -1 samples in 'chunk-0-0.bin')"),
        ({"chunk_size": True}, "(ValueError: True samples in 'chunk-0-0.bin')"),
        ({"filename": "../x"}, "(ValueError: name '../x' has a path with '..')"),
        ({"filename": "a/x"}, "(ValueError: name 'a/x' has a slash)"),
        ({"filename": "a\0x"}, r"(ValueError: name 'a\x00x' has a control character)"),
        ({"filename": "\ud800"}, "' is no text (half a surrogate pair))"),
        ({"filename": 7}, "(ValueError: name 7 is empty)"),
        ({"filename": "none.bin"}, "none.bin: cannot be read (No such file or directory); restore"),
        ({"filename": "pipe"}, "pipe: cannot be read (Not a regular file); restore it, or make it"),
    ],
)
def test_an_index_that_lies_about_chunks(chunks, tmp_path, changed, error):
    os.mkfifo(tmp_path / "pipe")
    data = (chunks / "chunk-0-0.bin").read_bytes()
    path = write(tmp_path, {"chunk-0-0.bin": data}, [described("chunk-0-0.bin", 9, **changed)])
    assert error in refused(path)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (
            {"compression": "zstd"},
            "compression ('zstd'), want plain ones; write it with optimize(…, compression=None)",
        ),
        ({"encryption": {"algorithm": "fernet"}}, "the chunks have encryption ({'algorithm': 'fer"),
        ({"item_loader": "TokensLoader"}, "the chunks are for 'TokensLoader', want PyTreeLoader; "),
        ({"data_format": []}, "is not as LitData writes it (ValueError: data_format [])"),
        ({"data_format": ["int"] * 2000}, "is not as LitData writes it (ValueError: data_format ["),
        ({"data_format": ["bytes", 3]}, "(ValueError: type 3 is empty)"),
        ({"data_format": ["by\ntes", "int"]}, r"(ValueError: type 'by\ntes' has a control chara"),
        ({"data_format": None}, "(ValueError: data_format None)"),
    ],
)
def test_a_config_that_is_refused(chunks, tmp_path, changed, error):
    data = (chunks / "chunk-0-0.bin").read_bytes()
    listed = [described("chunk-0-0.bin", 9)]
    path = write(tmp_path, {"chunk-0-0.bin": data}, listed, config() | changed)
    assert error in refused(path)


@pytest.mark.parametrize(
    "index", ["", "[", "[" * 100_000, "{}", "3", '{"config": 3}', '{"config": {}, "chunks": 3}']
)
def test_an_index_that_is_none(tmp_path, index):
    (tmp_path / "chunk-0-0.bin").write_bytes(b"")
    (tmp_path / "index.json").write_text(index)
    assert refused(tmp_path).startswith(f"{tmp_path}/index.json: is ")


def test_an_index_without_samples_and_none_at_all(tmp_path):
    path = write(tmp_path, {"chunk-0-0.bin": b""}, [])
    assert refused(path) == f"{path}/index.json: lists no samples; write the data set again"
    (tmp_path / "index.json").unlink()
    assert refused(path) == (
        f"{path}/index.json: cannot be read (No such file or directory); LitData's chunks want it "
        "beside them"
    )


def test_more_samples_than_the_file_has_bytes_for(tmp_path):
    """Nothing is taken for them."""
    count, table = 100_000, 4 * 100_002
    data = struct.pack("<I", count) + np.full(count + 1, table, "<u4").tobytes()
    path = write(tmp_path, {"chunk-0-0.bin": data}, [described("chunk-0-0.bin", count)])
    assert refused(path) == (
        f"{path}/chunk-0-0.bin: has samples that are too small; write the data set again"
    )


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (
            item((image(0), b"1234")),
            "bytes and a label of 4 (want more than 0, and 8); write the data",
        ),
        (item((b"", b"12345678")), "sample 0 has an image of 0 bytes and a label of 8 (want more"),
        (struct.pack("<2I", 1, 8) + b"x" * 8, "sample 0 ends at byte 29, want 28; write the data"),
        (struct.pack("<2I", (1 << 32) - 1, 8) + b"x" * 9, "sample 0 ends at byte 4294967323, want"),
    ],
)
def test_samples_whose_leaves_do_not_fit(tmp_path, row, error):
    text = refused(one(tmp_path, ("bytes", "int"), row))
    assert text.startswith(f"{tmp_path}/chunk-0-0.bin: sample 0 ")
    assert error in text


@given(data=st.data())
def test_damaged_chunks(chunks, tmp_path_factory, data):
    whole = bytearray((chunks / "chunk-0-0.bin").read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole) - 1) | st.integers(0, 60))
        whole[at] = data.draw(st.integers(0, 255))
    whole = whole[: data.draw(st.just(len(whole)) | st.integers(0, len(whole)))]
    folder = tmp_path_factory.mktemp("damaged")
    listed = [described("chunk-0-0.bin", 9)]
    check_damaged(write(folder, {"chunk-0-0.bin": bytes(whole)}, listed), "chunk-0-0.bin: ")


def test_what_litdata_writes(tmp_path):
    theirs = pytest.importorskip("litdata", reason="litdata is not installed; it wants other torch")
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(tmp_path / "l"), chunk_bytes=1 << 15)
    for number in range(COUNT):
        writer[number] = (image(number), label(number))
    writer.done()
    writer.merge()
    source = fastload.open(tmp_path / "l").pipeline.source
    assert len(source.paths) > 1
    check_same_as_a_folder(tmp_path / "l", tmp_path / "images")
    read = theirs.StreamingDataset(str(tmp_path / "l"))
    assert [tuple(one) for one in read] == [(image(n), label(n)) for n in range(COUNT)]
