"""Parquet files opened in place: their images are those that pyarrow reads, however they are
written.
"""

import itertools
import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import fastload
from fastload.conversion import indexing, inspect, verify
from fastload.profiler import cold
from fastload.sources import Concat, fields, open_source, parquet_scan, read
from tests.conftest import encoded, textured
from tests.sources.format_helpers import (
    COUNT,
    OPS,
    check_same_as_a_folder,
    encoded_of,
    image,
    label,
    refused,
)
from tests.sources.parquet_files import (
    NUMBERS,
    struct,
    table,
    write,
)

IMAGES = [image(number) for number in NUMBERS]
# Over 64 KiB, so that each has several of Snappy's fragments; and many that begin in one of them
LARGE = [
    encoded(textured(190 + 20 * n, 301, n), quality=99) + bytes(range(256)) * 40 * n
    for n in range(3)
]
MIXED = [*LARGE, *IMAGES[:4], LARGE[0], *IMAGES[:4]]
WRITTEN = [
    dict(zip(("compression", "use_dictionary", "data_page_version", "data_page_size"), how,
             strict=True))
    for how in itertools.product(("none", "snappy"), (False, True), ("1.0", "2.0"), (512, 1 << 24))
]  # fmt: skip


@pytest.mark.parametrize("how", WRITTEN, ids=lambda how: "-".join(map(str, how.values())))
def test_images_are_those_that_pyarrow_reads(tmp_path, how):
    assert max(map(len, LARGE)) > 1 << 16
    for nested, nullable in ((False, False), (True, True), (True, False)):
        labels = list(range(len(MIXED)))
        path = write(
            tmp_path / f"{nested}{nullable}.parquet", table(MIXED, labels, nested, nullable),
            write_batch_size=3, row_group_size=7, **how,
        )  # fmt: skip
        want = pq.read_table(path)["image"].to_pylist()
        want = [one["bytes"] for one in want] if nested else want
        for _ in range(2):  # as it is found, and as it was kept
            source = open_source(path)
            assert encoded_of(source) == want == MIXED
            assert source.labels.tolist() == labels
        assert bool(source.files.packed) == (how["compression"] == "snappy")


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_the_batches_are_those_of_a_folder(tmp_path, compression):
    write(tmp_path / "p" / "a.parquet", compression=compression)
    check_same_as_a_folder(tmp_path / "p", tmp_path / "images")


def test_a_folder_of_the_hub(tmp_path):
    """Files of a split in the folder data, beside a README; the classes are named."""
    names, whole = ["ant", "bee", "cat", "dog", "eel"], range(COUNT)
    for part, rows in enumerate((whole[:9], whole[9:])):
        images, labels = [image(n) for n in rows], [label(n) for n in rows]
        write(
            tmp_path / "hub" / "data" / f"train-{part:05}-of-00002.parquet",
            table(images, labels, names=names),
        )
    (tmp_path / "hub" / "README.md").write_text("# Images")
    for path in ("hub", "hub/data", "hub/data/train-*.parquet",
                 "hub/data/train-{00000..00001}-of-00002.parquet"):  # fmt: skip
        data = fastload.open(tmp_path / path)
        assert data.classes == tuple(names)
        assert data.targets == [label(number) for number in NUMBERS]
        assert encoded_of(data.pipeline.source) == IMAGES


def test_splits_are_not_mixed(tmp_path):
    for name in ("train-00000-of-00001", "test-00000-of-00001"):
        write(tmp_path / f"{name}.parquet")
    error = refused(tmp_path)
    assert "holds 2 sets of files" in error
    assert error.endswith(f"name those of one: {tmp_path}/train-*.parquet")
    os.remove(tmp_path / "test-00000-of-00001.parquet")
    os.rename(tmp_path / "train-00000-of-00001.parquet", tmp_path / "train-00000-of-00003.parquet")
    assert "holds 1 files of 3 (such as 'train-00000-of-00003.parquet')" in refused(tmp_path)
    assert "names no file that is there" in refused(f"{tmp_path}/val-*.parquet")


def test_a_folder_data_beside_classes_is_a_class(tmp_path):
    write(tmp_path / "data" / "a.parquet")
    (tmp_path / "cats").mkdir()
    (tmp_path / "cats" / "0.jpg").write_bytes(image(0))
    (tmp_path / "data" / "0.jpg").write_bytes(image(0))
    assert fastload.open(tmp_path).classes == ("cats", "data")


def test_columns(tmp_path):
    """Which is of images is told by what it holds; `fields` chooses others."""
    more = {
        "raw": pa.array([b"none"] * COUNT, pa.binary()),
        "other": struct(IMAGES[::-1]),
        "kind": pa.array([f"k{label(n)}" for n in NUMBERS]),
    }
    of = table(nested=False, **more).rename_columns(["photo", "label", "raw", "other", "kind"])
    of = of.select(["raw", "photo", "other", "kind", "label"])
    path = write(tmp_path / "a.parquet", of)
    source = open_source(path)
    assert encoded_of(source) == IMAGES[::-1]  # a struct with bytes goes first
    source = open_source(path, fields=("photo", "kind"))
    assert encoded_of(source) == IMAGES
    assert source.classes == ("k0", "k1", "k2", "k3", "k4")
    assert source.labels.tolist() == [label(n) for n in NUMBERS]
    assert "has no column 'kind' of encoded images (has " in refused(path, fields=("kind", "label"))
    assert "has no column 'x' of labels (has " in refused(path, fields=("photo", "x"))
    assert "column raw is no encoded image (begins with 6e " in refused(
        path, fields=("raw", "label")
    )


def test_without_labels(tmp_path):
    source = open_source(write(tmp_path / "a.parquet", table().select(["image"])))
    assert (source.classes, source.labels.tolist()) == (("unlabelled",), [0] * COUNT)


def test_several_data_sets_and_other_processes(tmp_path):
    paths = [
        write(tmp_path / f"{n}.parquet", table(MIXED, [0] * len(MIXED)), compression=how)
        for n, how in enumerate(("snappy", "none", "snappy"))
    ]
    parts = [open_source(path) for path in paths]
    both = pickle.loads(pickle.dumps(Concat(tuple(parts))))
    assert [read(both, sample) for sample in range(len(both))] == MIXED * 3


def test_values_beside_the_images(tmp_path):
    """Also of several data sets: their values follow each other."""
    more = {
        "caption": [f"Zürich {n}" for n in NUMBERS],
        "score": pa.array([n / 2 for n in NUMBERS], pa.float32()),
        "width": pa.array(list(NUMBERS), pa.int16()),
        "boxes": [[{"x": n, "name": "ü"}] * (n % 3) for n in NUMBERS],
        "mask": struct(IMAGES[::-1]),
        "good": [n % 2 == 0 for n in NUMBERS],
    }
    path = write(tmp_path / "a.parquet", table(**more))
    target = ("caption", "score", "width", "boxes", "mask", "good", "label")
    data = fastload.open(path, target=target)
    _, got = data[5]
    assert (got["caption"], got["boxes"]) == ("Zürich 5", [{"x": 5, "name": "ü"}] * 2)
    assert (float(got["score"]), int(got["width"]), int(got["good"])) == (2.5, 5, 0)
    assert (got["mask"], int(got["label"])) == (IMAGES[::-1][5], label(5))
    both = Concat((data.pipeline.source,) * 2)
    wanted = np.array([COUNT + 7, 3])
    assert fields.values(both, both.fields[0], wanted) == ["Zürich 7", "Zürich 3"]
    assert "has no 'text' beside its images (has image, label, caption, " in refused(
        path, target="text"
    )
    lacks = table(caption=["a"] * 7 + [None] + ["b"] * (COUNT - 8))
    error = refused(write(tmp_path / "b.parquet", lacks), target="caption")
    assert f"1 of {COUNT} samples have no 'caption' (first {tmp_path}/b.parquet[7])" in error


def test_pages_are_large_one_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_scan, "LARGE", 1000)
    assert encoded_of(open_source(write(tmp_path / "a.parquet"))) == IMAGES
    assert not parquet_scan._one_at_a_time.locked()


def test_seek_indexes_beside_the_files(tmp_path):
    """`fastload index` puts them into the folder, where they are no table; `inspect` and `verify`
    know them.
    """
    write(tmp_path / "p" / "a.parquet", table(MIXED, [0] * len(MIXED)))
    where = str(tmp_path / "p")
    indexing.run(indexing.prepare(where), count=1)
    data = fastload.open(where, OPS)
    loader = fastload.DataLoader(data, 4, seed=3, seek_index="use", num_workers=1)
    got = list(loader)
    assert loader.explain().splitlines()[-1] == f"  seek index: {len(MIXED)} of {len(MIXED)} images"
    assert loader.decodes()["indexed"] > 0
    off = fastload.DataLoader(data, 4, seed=3, seek_index="off", num_workers=1)
    pillow = fastload.DataLoader(data, 4, seed=3, backend="torch", num_workers=0)
    for (images, _), (whole, _), (reference, _) in zip(got, off, pillow, strict=True):
        assert torch.equal(images, whole)
        assert torch.equal(images, reference)
    assert inspect.inspect(where).indexed == len(MIXED)
    assert verify.verify(verify.prepare(where), 1).damages == ()
    with open(tmp_path / "p" / "fastload.seek", "r+b") as file:
        file.seek(40)
        file.write(b"\xff\xff\xff")
    (damage,) = verify.verify(verify.prepare(where), 1).damages
    assert damage.file == f"{where}/fastload.seek"


def test_reading_with_a_cold_cache(tmp_path):
    source = open_source(write(tmp_path / "a.parquet", table(MIXED, [0] * len(MIXED))))
    assert source.files.packed
    assert cold.measure(source, 0.01).bytes_per_image > 0


def test_files_that_datasets_writes(tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["ant", "bee"])}
    )
    columns = {
        "image": [{"bytes": one, "path": "x.jpg"} for one in MIXED],
        "label": [n % 2 for n in range(len(MIXED))],
    }
    data = datasets.Dataset.from_dict(columns, features=features)
    data.to_parquet(tmp_path / "new.parquet")  # which packs no images
    pq.write_table(data.with_format("arrow")[:], tmp_path / "old.parquet", row_group_size=100)
    for name in ("new", "old"):
        source = open_source(tmp_path / f"{name}.parquet")
        assert encoded_of(source) == MIXED
        assert (source.labels.tolist(), source.classes) == (columns["label"], ("ant", "bee"))
