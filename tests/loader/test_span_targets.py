"""`fastload.open(…, target=)` from LitData's chunks, TFRecords and LMDB files, and these without
labels.
"""

import os

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.errors import SampleError, SourceError
from fastload.sources import field_types, lmdb_tree, span_index
from fastload.system import limits
from tests.sources import litdata_files, lmdb_files, tfrecord_files
from tests.sources.beside_files import (
    COUNT,
    FORMS,
    NUMBERS,
    WANT,
    caption,
    features,
    image,
    lit_written,
    litdata,
    lmdb,
    tfrecord,
)  # fmt: skip
from tests.sources.litdata_files import LEAF, of_dict

OPS = [T.RandomResizedCrop((20, 28)), T.ToImage()]


def refused(where, target=None, **options):
    with pytest.raises(SourceError) as error:
        fastload.open(where, OPS, target=target, **options)
    text = str(error.value)
    assert all(line.startswith(f"{where}") and "; " in line for line in text.split("\n"))
    return text


@pytest.mark.parametrize("form", FORMS)
def test_values_come_with_their_images(tmp_path, form):
    make, names = FORMS[form]
    where, options = make(tmp_path / "data"), {}
    if form in ("litdata", "table"):  # the first int is taken for the label
        options = {"fields": ("image", "number")}
    data = fastload.open(where, OPS, target=tuple(names), **options)
    loader = fastload.DataLoader(data, 4, shuffle=True, seed=2, num_workers=1)
    numbers = list(loader.sampler)
    loader.sampler.set_epoch(0)
    found = list(loader)
    for name, means in names.items():
        values = [value for _, target in found for value in target[name]]
        assert values == [WANT[means](n) for n in numbers]
    if "number" in names:
        assert found[0][1]["number"].dtype == torch.int64
    if "score" in names:
        assert found[0][1]["score"].dtype.is_floating_point
    assert data[5][1] == {name: WANT[means](5) for name, means in names.items()}


@pytest.mark.parametrize("form", ["tfrecord", "pairs", "suffixes"])
def test_without_labels_there_is_one_class(tmp_path, form):
    data = fastload.open(FORMS[form][0](tmp_path / "data"), OPS)
    assert (data.classes, data.targets) == (("unlabelled",), [0] * COUNT)


def test_litdata_without_labels(tmp_path):
    items = [litdata_files.item((image(n), caption(n).encode())) for n in range(COUNT)]
    where = lit_written(tmp_path / "d", items, ("jpeg", "str"), of_dict(image=LEAF, text=LEAF))
    data = fastload.open(where, OPS, target="text")
    assert data.classes == ("unlabelled",)
    assert data[3][1] == caption(3)
    assert "has no label leaf 'text' (has 'image' ('jpeg'), " in refused(
        where, "text", fields=("image", "text")
    )


def test_a_table_without_labels(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from tests.sources.test_litdata_table import one, table

    rows = [{"image": image(n), "text": caption(n)} for n in range(COUNT)]
    settings = litdata_files.config(("bytes", "str"), of_dict(image=LEAF, text=LEAF))
    where = one(tmp_path, table(rows), COUNT, settings)
    data = fastload.open(where, OPS, target="text")
    assert (data.classes, data[1][1]) == (("unlabelled",), caption(1))


@pytest.mark.parametrize("name", ["class_id", "image/object/label", "target", "cls"])
def test_what_may_be_a_label_is_not_passed_over(tmp_path, name):
    where = tfrecord(tmp_path, lambda n: {"image": image(n), name: b"cat"})
    assert "has no int64 feature 'image/class/label' or 'label' or " in refused(where)
    assert "has no int64 feature 'x'" in refused(where, fields=("image", "x"))


@pytest.mark.parametrize("key", [b"class-%03d", b"target-%03d"])
def test_keys_that_may_be_labels_are_not_passed_over(tmp_path, key):
    items = {b"image-%03d" % n: image(n) for n in range(3)}
    where = lmdb_files.write(tmp_path, items | {key % n: b"1" for n in range(3)})
    assert "images have no label (such as " in refused(where)


def test_folders_of_lmdb(tmp_path):
    items = {b"%d/%d.jpg" % (n % 2, n): image(n) for n in range(4)}
    items |= {b"%d/%d.txt" % (n % 2, n): caption(n).encode() for n in range(4)}
    data = fastload.open(lmdb_files.write(tmp_path, items), OPS, target=("txt", "label"))
    assert data.classes == ("0", "1")
    assert [data[n][1] for n in range(4)] == [
        {"txt": caption(n), "label": n % 2} for n in (0, 2, 1, 3)
    ]


def test_types_that_are_refused(tmp_path):
    where = litdata(tmp_path / "l")
    assert refused(where, "other") == (
        f"{where}/index.json: leaf 'other' is of type 'pickle' (want str, int, float, bool, "
        "bytes, jpeg, image, tensor, numpy, no_header_tensor, no_header_numpy); fastload unpickles "
        "nothing"
    )
    assert refused(where, "cls") == (
        f"{where}: has no 'cls' beside its images (has image, text, number, score, raw, other); "
        "correct target"
    )
    where = tfrecord(tmp_path / "t")
    assert fastload.open(where, OPS, target="many")[3][1] == [1, 2]
    assert refused(where, "txt").startswith(f"{where}: has no 'txt' beside its images (has image/")
    where = lmdb(tmp_path / "m")
    assert refused(where, "cls") == (
        f"{where}: has no 'cls' beside its images (has json, raw, txt); correct target"
    )
    assert refused(where, "pkl").startswith(f"{where}: 'pkl' is pickled, and fastload never unpic")


def test_some_have_none(tmp_path):
    where = tfrecord(
        tmp_path / "t", lambda n: {"image": image(n)} | ({"text": b"a"} if n % 4 else {})
    )
    assert refused(where, "text") == (
        f"{where}: 3 of 9 samples have no 'text' (first {where}[0]); leave these samples out, or "
        "correct target"
    )
    items = {b"%d.jpg" % n: image(n) for n in range(3)} | {b"1.txt": b"a"}
    where = lmdb_files.write(tmp_path / "m", items)
    assert refused(where, "txt") == (
        f"{where}: 2 of 3 samples have no 'txt' (first '0.jpg'); leave these samples out, or "
        "correct target"
    )


def test_types_that_change(tmp_path):
    where = tfrecord(tmp_path, lambda n: features(n, number=0.5 if n > 3 else 1))
    assert refused(where, "number") == (
        f"{where}: feature 'number' has several types (float, int64); write the data set again"
    )
    where = tfrecord(tmp_path, lambda n: features(n, number=0.5 if n == 2 else 1))
    assert "(it has a feature of another type than those before)" in refused(where, "number")


def test_sizes_of_numbers(tmp_path):
    items = [litdata_files.item((image(n), b"1234")) for n in range(2)]
    where = lit_written(tmp_path, items, ("jpeg", "float"), of_dict(image=LEAF, score=LEAF))
    assert refused(where, "score") == (
        f"{where}/chunk-0-0.bin: sample 0 has a number 'score' of 4 bytes (want 8); write the data "
        "set again"
    )


def test_where_they_lie_is_kept(tmp_path, monkeypatch):
    where = tfrecord(tmp_path / "t")
    fastload.open(where, OPS, target="number")
    monkeypatch.setattr("fastload.sources.tf_records.every", None)  # only the first record is read
    index = span_index.path_of("tfrecord", where, "beside", "number")
    spans = span_index.recall(index)
    assert spans.paths == [f"{where}/x-0000{n}-of-00003" for n in range(3)]
    assert spans.tables.rows.tolist() == [4, 0, 5]
    monkeypatch.undo()
    path = f"{where}/x-00000-of-00003"
    stamp = os.stat(path)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    assert fastload.open(where, OPS, target="number")[3][1] == NUMBERS[3]


def test_values_that_change_under_an_open_set(tmp_path):
    where = tfrecord(tmp_path / "t")
    data = fastload.open(where, OPS, target=("number", "image/caption"))
    number, text = data.pipeline.source.fields
    with open(f"{where}/x-00000-of-00003", "r+b") as file:
        for field, sample in ((number, 1), (text, 2)):
            file.seek(int(field.offset[sample]))
            file.write(b"\xff" * int(field.size[sample]))
    for sample, what in (
        (1, "number, sample 1: is no number (ff)"),
        (2, "image/caption, sample 2"),
    ):
        with pytest.raises(SampleError) as error:
            data[sample]
        assert what in str(error.value)
        assert str(error.value).endswith("; restore it")


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"\1\1", b"\xff" * 10, b"\xff" * 9 + b"\2", b"\x80" * 10 + b"\1"]
)
def test_numbers_of_protobuf_that_are_none(data):
    with pytest.raises(ValueError, match=r"^[0-9a-f]{2}|nothing|it is too long"):
        field_types.varint(data)


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_of_protobuf(number):
    assert field_types.varint(tfrecord_files.varint(number)) == number


def test_a_database_that_changed(tmp_path, monkeypatch):
    where = lmdb(tmp_path)
    entries = lmdb_tree.entries
    looks = []

    def moved(path, file):
        looks.append(path)
        for entry in entries(path, file):
            yield entry._replace(offset=entry.offset + len(looks) - 1)

    monkeypatch.setattr(lmdb_tree, "entries", moved)
    assert refused(where, "txt") == f"{where}: changed since it was read; open it again"


def test_values_that_are_too_large(tmp_path, monkeypatch):
    data = fastload.open(lmdb(tmp_path), OPS, target="raw")
    monkeypatch.setattr(limits, "SAMPLE", 5)
    assert data[5][1] == bytes([5]) * 5
    with pytest.raises(SampleError) as error:
        data[6]
    assert "raw, sample 6: is too large (got 6 bytes, want at most 5); restore it" in str(
        error.value
    )


def test_names_of_several_lines_are_told_in_one(tmp_path):
    where = tfrecord(tmp_path, lambda n: {"image": image(n), "a\nb": b"1", "c" * 300: b"2"})
    text = refused(where, "txt")
    assert text.startswith(f"{where}: has no 'txt' beside its images (has image, 'a\\nb', 'ccc")
    assert len(text) < len(where) + 250
