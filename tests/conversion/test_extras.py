"""Files beside the images, masks above all, through each format and back."""

import io
import json
import os
import tarfile

import pytest

from fastload.conversion import parquet_writer
from fastload.conversion.readers import Extra, open_reader, records
from fastload.errors import ConversionError
from fastload.sources import open_source
from tests.conversion.test_round_trips import FORMATS, PNG


@pytest.fixture
def pairs(tools, tmp_path):
    files = {f"images/{n}.jpg": tools.encode(8 + n, 13, n) for n in range(4)}
    files |= {f"masks/{n}.png": tools.encode(8 + n, 13, n + 50, "L", "PNG") for n in range(4)}
    return tools.write_tree(tmp_path / "pairs", files)


@pytest.mark.parametrize("to", FORMATS)
def test_images_with_masks(tools, pairs, tmp_path, to):
    tools.convert_to(pairs, tmp_path / "out", to, shard_bytes=2048)
    if to == "folder":
        assert sorted(os.listdir(tmp_path / "out")) == ["images", "masks"]
        for n in range(4):
            kept = (tmp_path / "out" / "masks" / "unlabelled" / f"{n}.png").read_bytes()
            assert kept == (pairs / "masks" / f"{n}.png").read_bytes()
        assert tools.samples(tmp_path / "out") == [
            (f"unlabelled/{key}", *rest) for key, *rest in tools.samples(pairs)
        ]
        return
    reader = open_reader(str(tmp_path / "out"))
    assert [record.data for record in records(reader)] == [
        (pairs / "images" / f"{n}.jpg").read_bytes() for n in range(4)
    ]
    masks = [(pairs / "masks" / f"{n}.png").read_bytes() for n in range(4)]
    assert [record.extras for record in records(reader)] == [
        (Extra("mask.png", mask),) for mask in masks
    ]
    assert reader.beside.tolist() == list(map(len, masks))


def test_masks_come_back_from_parquet(tools, pairs, tmp_path):
    tools.convert_to(pairs, tmp_path / "tables", "parquet", shard_bytes=2048)
    tools.convert_to(tmp_path / "tables", tmp_path / "folder", "folder")
    assert tools.contents(tmp_path / "folder/masks/unlabelled") == tools.contents(pairs / "masks")
    assert tools.contents(tmp_path / "folder/images/unlabelled") == tools.contents(pairs / "images")


@pytest.mark.parametrize("text", [None, "detection.json"])
def test_a_file_that_none_had_of_those_looked_at_is_an_error(tools, tmp_path, monkeypatch, text):
    """The columns of Parquet files are those of some samples: nothing is left out in silence."""
    monkeypatch.setattr(parquet_writer, "LOOKED_AT", 2)
    source, late = tmp_path / "in.tar", text or "txt"
    with tarfile.open(source, "w") as archive:
        for n in range(3):
            files = {f"{n}.jpg": tools.encode(8, 13, n), f"{n}.json": b'{"label":0}'}
            for name, data in (files | ({f"1.{late}": b"{}"} if n == 1 else {})).items():
                one = tarfile.TarInfo(name)
                one.size = len(data)
                archive.addfile(one, io.BytesIO(data))
    with pytest.raises(ConversionError) as error:
        tools.convert_to(source, tmp_path / "out", "parquet")
    assert str(error.value) == (
        f"{tmp_path}/out: 1: has {late} beside it (want of json, which 2 samples of the data set "
        "have); convert to shards, which keep any file, or pass --extras drop"
    )
    assert not (tmp_path / "out").exists()
    tools.convert_to(source, tmp_path / "shards", "shards")
    assert [len(one.extras) for one in records(open_reader(str(tmp_path / "shards")))] == [1, 2, 1]


def test_a_row_without_a_mask_and_bytes_that_are_none(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["a"]},
        "annotation": {"_type": "Image"},
                "sound": {"_type": "Audio"}}  # fmt: skip
    kinds = [("image", picture), ("label", pa.int64()), ("annotation", picture), ("sound", picture)]
    held = [{"bytes": b"x", "path": None}] * 2
    rows = {
        "image": held,
        "label": [0, 0],
        "annotation": [{"bytes": PNG, "path": "m.png"}, None],
        "sound": held,
    }
    schema = pa.schema(
        kinds, metadata={b"huggingface": json.dumps({"info": {"features": features}})}
    )
    pq.write_table(pa.table(rows, schema), tmp_path / "x.parquet")
    reader = open_reader(str(tmp_path / "x.parquet"))
    assert [reader.extras(sample) for sample in range(2)] == [(Extra("annotation.png", PNG),), ()]
    assert reader.beside.tolist() == [len(PNG), 0]


def test_extras_can_be_dropped_and_ffcv_cannot_hold_them(tools, pairs, tmp_path):
    with pytest.raises(ConversionError) as refused:
        tools.convert_to(pairs, tmp_path / "out.beton", "beton")
    text = "FFCV's files hold images and labels, and 4 samples have other files; pass --extras drop"
    assert str(refused.value) == f"{tmp_path}/out.beton: {text}"
    tools.convert_to(pairs, tmp_path / "out.beton", "beton", extras="drop")
    tools.convert_to(pairs, tmp_path / "out", "shards", extras="drop")
    assert open_source(tmp_path / "out").index.extras is None


def test_indexing_shards_keeps_their_extras(tools, pairs, tmp_path):
    from fastload.conversion import indexing, verify

    tools.convert_to(pairs, tmp_path / "out", "shards", seek_step=None)
    tools.convert_to(pairs, tmp_path / "want", "shards")
    indexing.run(indexing.prepare(str(tmp_path / "out")))
    assert tools.contents(tmp_path / "out") == tools.contents(tmp_path / "want")
    assert verify.verify(verify.prepare(str(tmp_path / "out")), 1).damages == ()
