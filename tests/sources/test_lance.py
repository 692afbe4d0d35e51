"""Lance data sets of images, as that library would tell of them (lance_files.py)."""

import os
import sys

import numpy as np
import pyarrow as pa
import pytest
import torch

import fastload
from fastload.conversion import indexing, verify
from fastload.errors import SourceError
from fastload.sources import fields, lance_library, lance_look, open_source, span_index
from fastload.sources.lance_rows import LanceRows
from tests.sources import lance_files
from tests.sources.format_helpers import (
    CLASSES,
    COUNT,
    OPS,
    check_same_as_a_folder,
    encoded_of,
    image,
    label,
    refused,
)  # fmt: skip

NUMBERS = range(COUNT)


@pytest.fixture
def told(tmp_path, monkeypatch):
    """told(…): lance_files.write, and what the library would tell of it."""

    def write(folder="x.lance", **how):
        found = lance_files.write(tmp_path / folder, **how)
        monkeypatch.setattr(lance_library, "opened", lambda _: found)
        return found

    return write


@pytest.mark.parametrize("beside", [False, True], ids=["inline", "beside"])
def test_the_batches_are_those_of_a_folder(told, tmp_path, beside):
    found = told(beside=beside)
    check_same_as_a_folder(found.where, tmp_path / "images")
    data = fastload.open(found.where)
    assert data.classes == tuple(map(str, range(CLASSES)))
    files = len(data.pipeline.source.paths)
    assert files == (2 + 2 + len(NUMBERS[::5]) if beside else 2)


def test_the_library_is_asked_once(told, monkeypatch):
    """Until there is a newer version."""
    found = told()
    first = encoded_of(fastload.open(found.where).pipeline.source)
    monkeypatch.setattr(lance_library, "opened", None)
    monkeypatch.setitem(sys.modules, "lance", None)
    source = fastload.open(found.where).pipeline.source
    assert encoded_of(source) == first == list(map(image, NUMBERS))
    assert source.labels.tolist() == list(map(label, NUMBERS))
    again = told(parts=((3, 9),))
    again.version = 2
    with open(f"{found.where}/_versions/2.manifest", "wb") as file:
        file.write(b"manifest")
    assert fastload.open(found.where).targets == [label(n) for n in range(3, 9)]


@pytest.mark.parametrize("name", ["data/0.lance", "_versions/1.manifest"])
def test_another_file_is_looked_at_again(told, name):
    found = told()
    fastload.open(found.where)
    asked = found.asked
    fastload.open(found.where)
    assert found.asked == asked
    os.utime(f"{found.where}/{name}", ns=(1, 1))
    fastload.open(found.where)
    assert found.asked > asked


def test_newest_versions(told, monkeypatch):
    """By names that are counted up or down; others are passed over."""
    found = told()
    names = ("d12.manifest", "9.manifest.tmp", f"{2**64 - 1 - 11:020}.manifest", "7.manifest")
    for name in names:
        with open(f"{found.where}/_versions/{name}", "wb"):
            pass
    assert refused(found.where) == (
        f"{found.where}: changed while it was looked at (got version 1, want 11); open it when "
        "nothing writes to it"
    )
    found.version = 11
    assert len(fastload.open(found.where)) == COUNT


def test_labels(told):
    names = ["cat", "ant", "bee"]
    found = told(labels=lambda n: names[n % 3])
    data = fastload.open(found.where)
    assert data.classes == ("ant", "bee", "cat")
    assert data.targets == [sorted(names).index(names[n % 3]) for n in NUMBERS]
    again = told("dictionary.lance", labels=lambda n: names[n % 3])
    for rows in again.rows:
        rows["label"] = rows["label"].dictionary_encode()
    again.schema = again.schema.set(1, pa.field("label", again.rows[0]["label"].type))
    assert fastload.open(again.where).targets == data.targets
    none = told("none.lance", labels=None)
    data = fastload.open(none.where)
    assert (data.classes, set(data.targets)) == (("unlabelled",), {0})


def test_columns_by_name(told):
    found = told(other=[100 + n for n in NUMBERS])
    assert fastload.open(found.where, fields=("image", "other")).targets[3] == 103
    assert fastload.open(found.where).targets == list(map(label, NUMBERS))
    assert refused(found.where, fields=("image", "no")) == (
        f"{found.where}: has no column 'no' of labels (has 'image' (large_binary), 'label' (int64),"
        " 'other' (int64); labels are integers or text); name the columns with images and labels: "
        "fields=(IMAGE, LABEL)"
    )


def test_the_column_whose_first_value_is_an_image(told):
    """Of several of blobs."""
    found = told()
    for rows in found.rows:
        sizes = [5] * len(rows["image"])
        rows |= {"img": rows["image"], "image": lance_files.descriptors([0] * len(sizes), sizes)}
    found.schema = found.schema.append(pa.field("img", pa.large_binary()))
    found.blobs |= {"img"}
    found.fragments = [
        one._replace(files=one.files | {"img": one.files["image"]}) for one in found.fragments
    ]
    assert encoded_of(fastload.open(found.where).pipeline.source) == list(map(image, NUMBERS))
    assert refused(found.where, fields=("image", "label")) == (
        f"{found.where}: row 0, column image is no encoded image (begins with 00 00 00 00, want a "
        "JPEG, PNG or another that Pillow reads); name the columns with images and labels: "
        "fields=(IMAGE, LABEL)"
    )


def test_values_beside_the_images(told):
    found = told(
        beside=True, caption=[f"c{n}" for n in NUMBERS], score=[n / 4 for n in NUMBERS],
        vec=[[n, 1] for n in NUMBERS], facts=[{"n": n} for n in NUMBERS],
    )  # fmt: skip
    names = ("caption", "score", "vec", "facts", "image")
    source = open_source(found.where, target=names)
    got = {one.name: fields.values(source, one, np.array([7, 3, 20])) for one in source.fields}
    assert got["caption"] == ["c7", "c3", "c20"]
    assert got["score"].tolist() == [1.75, 0.75, 5]
    assert got["vec"] == [[7, 1], [3, 1], [20, 1]]
    assert got["facts"] == [{"n": 7}, {"n": 3}, {"n": 20}]
    assert got["image"] == [image(7), image(3), image(20)]
    with pytest.raises(SourceError, match=r"has no 'no' beside its images \(has image, label, "):
        fastload.open(found.where, target="no")


def test_values_come_with_their_images(told):
    found = told(beside=True, caption=[f"c{n}" for n in NUMBERS])
    data = fastload.open(found.where, OPS, target=("caption", "label"))
    loader = fastload.DataLoader(data, 4, shuffle=True, seed=2, num_workers=1)
    numbers = list(loader.sampler)
    loader.sampler.set_epoch(0)
    batches = [target for _, target in loader]
    assert [one for batch in batches for one in batch["caption"]] == [f"c{n}" for n in numbers]
    assert torch.cat([batch["label"] for batch in batches]).tolist() == list(map(label, numbers))


@pytest.mark.parametrize("before", [False, True], ids=["first epoch", "fastload index"])
def test_seek_indexes(told, before):
    """Of images in all kinds of files; those that were made before lie in the folder `data`."""
    found = told(beside=True)
    if before:
        indexing.run(indexing.prepare(found.where), count=1)
        assert os.path.exists(f"{found.where}/data/fastload.seek")
    data = fastload.open(found.where, OPS)
    loader, off = (
        fastload.DataLoader(data, 4, seed=3, seek_index=how, num_workers=1)
        for how in ("use" if before else "auto", "off")
    )
    for _ in range(2):
        for (images, _), (whole, _) in zip(loader, off, strict=True):
            assert torch.equal(images, whole)
    assert loader.decodes()["indexed"] > 0
    assert verify.verify(verify.prepare(found.where), 1).damages == ()


def test_values_that_are_missing(told, monkeypatch):
    found = told(caption=["a", None, *map(str, range(2, COUNT))])
    with pytest.raises(SourceError) as error:
        fastload.open(found.where, target="caption")
    assert str(error.value) == (
        f"{found.where}: 1 of {COUNT} samples have no 'caption' (first {found.where}[1]); leave "
        "these samples out, or correct target"
    )
    monkeypatch.setattr("fastload.sources.table_fields.MOST", 1000)
    with pytest.raises(SourceError, match=r"column 'image' is too large to be held \(got "):
        fastload.open(found.where, target="image")
    found.version = 2
    with pytest.raises(SourceError, match="changed since it was read; open it again"):
        fastload.open(found.where, target="caption")


def test_what_is_kept_and_cannot_be_is_made_anew(told, monkeypatch):
    found = told(labels=lambda n: "ab"[n % 2])
    want = fastload.open(found.where).targets
    index, made = span_index.path_of("lance", found.where), []
    looked = lance_look.looked
    monkeypatch.setattr(lance_look, "looked", lambda *of: made.append(of) or looked(*of))
    for at in (0, 60, os.path.getsize(index) - 9):
        with open(index, "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 1]))
        assert fastload.open(found.where).targets == want
    assert len(made) == 3
    rows = LanceRows(index, os.open(index, os.O_RDONLY), kept=True)
    assert (rows.image, rows.label, rows.texts) == ("image", "label", ["a", "b"])
