"""TFRecords that are damaged or forged, or are no samples: one typed line that names the file."""

import gzip
import os
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastload
from fastload.errors import SourceError
from fastload.sources import tf_example
from tests.sources.format_helpers import check_damaged, image, label, refused
from tests.sources.tfrecord_files import entry, example, feature, field, masked, record, write

GOOD = {"image": image(0), "label": 1}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "has no bytes feature 'image/encoded' or 'image' or"),
        (example({"label": 1}), "(has 'label' (int64)); name the features"),
        (example({**GOOD, "image": b"raw pixels"}), "feature 'image' is no encoded image (begins"),
        (example({**GOOD, "image": b"\x80\x04]"}), "feature 'image' is pickled (begins with 80 04"),
        (example({**GOOD, "image": [b"a", b"b"]}), "(it has 2 values or an empty one, want one)"),
        (example({**GOOD, "image": b""}), "(it has 1 values or an empty one, want one)"),
        (example({**GOOD, "a\nb": 1.0, "image": 3}), r"'label' (int64), 'a\nb' (float))"),
        (example(GOOD) + example({"label": 2}), "(it has the feature 'label' twice)"),
        (field(1, b"\x0b"), "(it has a field of wire type 3)"),
        (field(1, b"\x0a" + b"\x80" * 10 + b"\x01"), "a number that is cut off or too long"),
        (field(1, b"\x0a\x80"), "a number that is cut off or too long"),
        (field(1, b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "a field that is longer than"),
        (field(1, b"\x02\x00"), "longer than its message, or without a number"),
        (field(1, b"\x09\x00"), "longer than its message, or without a number"),
        (field(1, b"\x10\x00" * 20_000), "(it has more than 16384 fields)"),
        (field(1, entry("x" * 2000, b"")), "(it has a feature with a name of 2000 bytes)"),
        (field(1, entry("image", field(1, b"") + field(3, b""))), "values of several kinds"),
        (field(1, entry("image", b"") + entry("label", feature(1))), "(has 'image' (empty), 'lab"),
    ],
)  # fmt: skip
def test_records_that_are_no_samples(tmp_path, data, error):
    text = refused(write(tmp_path / "x.tfrecord", [data]))
    assert text.startswith(f"{tmp_path}/x.tfrecord: ")
    assert error in text


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (example({"image": image(0)}), "(it has no int64 feature 'label')"),
        (example({"label": 1, "image": 1}), "(it has no bytes feature 'image')"),
        (example({**GOOD, "label": [1, 2]}), "(it has several values, want one)"),
        (example({**GOOD, "label": 1.0}), "(it has no int64 feature 'label')"),
        (field(1, entry("image", feature(image(0))) + entry("label", field(3, b""))), "no value,"),
    ],
)  # fmt: skip
def test_a_later_record_that_is_no_sample(tmp_path, data, error):
    first = record(example(GOOD))
    path = write(tmp_path / "x.tfrecord", [example(GOOD), data])
    text = refused(path)
    assert text.startswith(f"{path}: the record at byte {len(first)} is no fitting tf.train.Exa")
    assert error in text


@pytest.mark.parametrize("length", [1, 1 << 20, 1 << 62, (1 << 64) - 1])
def test_forged_lengths(tmp_path, length):
    head = struct.pack("<Q", length)
    path = tmp_path / "x.tfrecord"
    path.write_bytes(record(example(GOOD)) + head + masked(head))
    size = path.stat().st_size
    assert refused(path) == (
        f"{path}: is cut off in the record at byte {size - 12} (the file has {size} bytes); copy "
        "or write it again"
    )
    path.write_bytes(head + b"\0\0\0\0" + bytes(64))
    assert refused(path) == (
        f"{path}: is no TFRecord file, or damaged at byte 0 (the checksum of a length is wrong); "
        "copy or write it again"
    )


@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (gzip.compress, "GZIP"),
        (zlib.compress, "ZLIB"),
        (lambda data: zlib.compress(data, 9), "ZLIB"),
    ],
)
def test_compressed_records(tmp_path, pack, name):
    path = tmp_path / "x.tfrecord"
    path.write_bytes(pack(record(example(GOOD))))
    assert refused(path) == (
        f"{path}: is compressed ({name}), want plain records; unpack it, or write it without "
        "compression"
    )
    path = path.rename(tmp_path / "x.tfrecord.gz")
    for where in (tmp_path, path):
        assert refused(where) == (
            f"{path}: is compressed, want plain records; unpack it, or write it without compression"
        )


def test_folders_that_are_no_one_data_set(tmp_path):
    for name in ("train-00000-of-00002", "train-00001-of-00002", "val-00000-of-00001"):
        write(tmp_path / name, [example(GOOD)])
    assert refused(tmp_path) == (
        f"{tmp_path}: holds 2 sets of files (such as 'train-00000-of-00002' and "
        "'val-00000-of-00001'), and they may be splits; name those of one by braces: "
        "DIR/train-{00000..01023}-of-01024"
    )
    (tmp_path / "val-00000-of-00001").unlink()
    assert len(fastload.open(tmp_path)) == 2
    (tmp_path / "train-00000-of-00002").unlink()
    assert f"{tmp_path}: holds 1 files of 2 (such as 'train-00001-of-00002'); " in refused(tmp_path)
    assert "cannot be read (No such file or directory)" in refused(
        f"{tmp_path}/train-{{00000..00001}}-of-00002"
    )


def test_files_without_records_and_pipes(tmp_path):
    path = write(tmp_path / "x.tfrecord", [])
    assert refused(path) == f"{path}: holds no records; copy or write it again"
    path.unlink()
    os.mkfifo(path)
    assert refused(tmp_path) == (
        f"{path}: cannot be read (Not a regular file); restore it, or make it readable"
    )


def test_problems_of_many_files_come_together(tmp_path):
    for number, length in enumerate((None, -1, 5)):
        (tmp_path / f"x-{number}.tfrecord").write_bytes(record(example(GOOD))[:length])
    with pytest.raises(SourceError) as raised:
        fastload.open(tmp_path)
    lines = str(raised.value).split("\n")
    assert ["is cut off in the record at byte" in line for line in lines] == [True, True]


WHOLE = b"".join(
    record(example({"image": image(n), "label": label(n), "z": [1.0, 2.0]})) for n in range(4)
)


@given(data=st.data())
def test_damaged_files(tmp_path_factory, data):
    whole = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(whole) - 1) | st.integers(0, 200))
        whole[at] = data.draw(st.integers(0, 255))
    whole = whole[: data.draw(st.just(len(whole)) | st.integers(0, len(whole)))]
    path = tmp_path_factory.mktemp("damaged") / "x.tfrecord"
    path.write_bytes(bytes(whole))
    check_damaged(path, "x.tfrecord: ")


@given(st.binary(max_size=300) | st.lists(st.sampled_from(
    [b"\x0a", b"\x12", b"\x1a", b"\x08", b"\x00", b"\x05", b"\xff", b"image", b"label"],
)).map(b"".join))  # fmt: skip
def test_any_bytes_as_an_example(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "x"
    path.write_bytes(data)
    with open(path, "rb") as file:
        window = tf_example.Window(file.fileno())
        try:
            found = tf_example.feature(window, 0, len(data), ())
        except tf_example.WireError:
            return
        for value in found.values():
            assert 0 <= value.start <= value.stop <= len(data)


def test_a_later_record_of_too_many_features(tmp_path):
    """Those with other names are passed over at one look, and counted as well."""
    many = b"".join(entry(f"x{number}", b"") for number in range(20_000))
    path = write(tmp_path / "x.tfrecord", [example(GOOD), example(GOOD) + field(1, many)])
    assert "(it has more than 16384 fields)" in refused(path)
