"""TFRecords by a writer of our own after the format, and by the package tfrecord, where it is
installed.
"""

import random
import struct

import numpy as np
import pytest

import fastload
from fastload.sources import tf_records
from tests.sources.format_helpers import (
    COUNT,
    check_same_as_a_folder,
    encoded_of,
    image,
    label,
    refused,
)  # fmt: skip
from tests.sources.tfrecord_files import (
    crc32c,
    entry,
    example,
    feature,
    field,
    masked,
    varint,
    write,
)  # fmt: skip


def imagenet(number):
    """As ImageNet's are usually written, with other features before and behind the image."""
    features = {
        "image/height": 40 + number,
        "image/object/bbox/xmin": [0.25, 0.5],
        "image/encoded": image(number),
        "image/class/label": label(number) + 1,
        "image/class/text": b"tench, Tinca tinca",
        "image/filename": b"n01440764_10026.JPEG",
        "image/object/bbox/label": [7, 7, 7],
    }
    names = list(features)
    random.Random(number).shuffle(names)
    return example({name: features[name] for name in names}, swapped=number % 3 == 0)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """A folder of three files, one of them empty."""
    root = tmp_path_factory.mktemp("tfrecord")
    for part, numbers in enumerate((range(9), (), range(9, COUNT))):
        write(root / f"train-{part:05}-of-00003", [imagenet(number) for number in numbers])
    return root


def test_the_checksum_is_the_published_one():
    assert crc32c(b"123456789") == 0xE3069283
    for size in range(20):
        data = bytes(range(7, 7 + size))
        assert tf_records.masked(data) == struct.unpack("<I", masked(data))[0]


def test_the_batches_are_those_of_a_folder(records, tmp_path):
    check_same_as_a_folder(records, tmp_path / "images", shift=1)
    assert fastload.open(records).classes == ("0", "1", "2", "3", "4", "5")


def test_one_file_and_files_by_braces(tmp_path):
    numbers = range(COUNT)
    one = write(tmp_path / "one" / "x.tfrecord", [imagenet(number) for number in numbers])
    check_same_as_a_folder(one, tmp_path / "images", shift=1)
    for number in numbers:
        write(tmp_path / "many" / f"train-{number:05}-of-00023", [imagenet(number)])
        write(tmp_path / "many" / f"validation-{number:05}-of-00023", [imagenet(0)])
    check_same_as_a_folder(
        f"{tmp_path}/many/train-{{00000..00022}}-of-00023", tmp_path / "images", shift=1
    )
    named = fastload.open(tmp_path / "many" / "train-00003-of-00023", format="tfrecord")
    assert len(named) == 1


def test_names_of_features_that_are_tried_and_given(tmp_path):
    features = {"png": image(1), "jpeg": image(2), "label": -3, "class": 4, "far": 1 << 62}
    path = write(tmp_path / "x.tfrecord", [example(features)])
    first = fastload.open(path)
    assert encoded_of(first.pipeline.source) == [image(2)]
    assert (first.targets, first.classes) == ([-3], ())
    chosen = fastload.open(path, fields=("png", "far"))
    assert encoded_of(chosen.pipeline.source) == [image(1)]
    assert chosen.targets == [1 << 62]
    assert refused(path, fields=("png", "jpeg")) == (
        f"{path}: has no int64 feature 'jpeg' (has 'png' (bytes), 'jpeg' (bytes), 'label' (int64), "
        "'class' (int64), 'far' (int64)); name the features with images and labels: "
        "fields=(IMAGE, LABEL)"
    )


def test_names_of_classes_beside_the_files(tmp_path):
    """As tensorflow_datasets has them."""
    features = [{"image": image(number), "label": number % 2} for number in range(4)]
    where = tmp_path / "x-train.tfrecord-00000-of-00001"
    write(where, [example(one) for one in features])
    for text in (b"cat\ndog\n", b"\xef\xbb\xbfcat\r\ndog\r\n"):
        (tmp_path / "label.labels.txt").write_bytes(text)
        assert fastload.open(tmp_path).classes == ("cat", "dog")
    (tmp_path / "label.labels.txt").write_text("cat\n")
    assert refused(tmp_path) == (
        f"{tmp_path}/label.labels.txt: label 1 is above the 1 classes that have names; correct the "
        "labels or the names"
    )
    (tmp_path / "label.labels.txt").write_bytes(b"\xff")
    assert refused(tmp_path).endswith(
        "/label.labels.txt: is no text in UTF-8; correct or remove it"
    )


def test_unknown_fields_are_passed_over(tmp_path):
    """Of each wire type, in each message."""
    unknown = field(9, 1 << 40) + field(10, b"abc") + varint(11 << 3 | 1) + b"12345678"
    unknown += varint(12 << 3 | 5) + b"1234"
    value = field(1, field(1, image(1)) + unknown) + unknown
    number = field(3, unknown + field(1, 6))
    whole = entry("image", value) + field(1, unknown + field(1, b"label") + field(2, number))
    data = unknown + field(1, unknown + whole + unknown) + unknown
    path = write(tmp_path / "x.tfrecord", [data])
    assert encoded_of(fastload.open(path).pipeline.source) == [image(1)]
    assert fastload.open(path).targets == [6]


def test_features_in_two_parts_and_numbers_that_are_not_packed(tmp_path):
    parts = entry("image", feature(image(1))), entry("label", feature(300, packed=False))
    path = write(tmp_path / "x.tfrecord", [b"".join(field(1, part) for part in parts)])
    assert fastload.open(path).targets == [300]


def test_what_the_package_tfrecord_writes_and_reads(tmp_path, records):
    theirs = pytest.importorskip("tfrecord", reason="the package tfrecord is not installed")
    path = tmp_path / "theirs" / "x.tfrecord"
    path.parent.mkdir()
    writer = theirs.TFRecordWriter(str(path))
    for number in range(COUNT):
        kinds = {"image": (image(number), "byte"), "label": (label(number), "int")}
        writer.write({**kinds, "weight": (0.5, "float"), "boxes": ([1, 2, 3], "int")})
    writer.close()
    check_same_as_a_folder(path, tmp_path / "images")
    ours = str(records / "train-00002-of-00003")
    kinds = {"image/encoded": "byte", "image/class/label": "int"}
    read = list(theirs.tfrecord_loader(ours, None, kinds))
    assert [bytes(one["image/encoded"]) for one in read] == [image(n) for n in range(9, COUNT)]
    assert np.ravel([one["image/class/label"] for one in read]).tolist() == [
        label(number) + 1 for number in range(9, COUNT)
    ]
