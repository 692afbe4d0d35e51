"""A conversion keeps every byte, and gives the same files whatever the number of workers."""

import itertools
import json
import os
import pickle
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from fastload import _native
from fastload.conversion import job
from fastload.errors import ConversionError, SourceError
from fastload.sources import arrow, open_source


def contents(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def payloads(source):
    file, offset, size, checksum, *_ = source.locate(np.arange(len(source)))
    data = [
        source.files.read(f, o, n)
        for f, o, n in zip(file.tolist(), offset.tolist(), size.tolist(), strict=True)
    ]
    assert [_native.xxh3(d) for d in data] == checksum.tolist()
    return data


def test_round_trip_is_byte_for_byte(tools, small, tmp_path):
    summary = tools.convert(small, tmp_path / "out", shard_bytes=6000)
    folder, source = open_source(small), open_source(tmp_path / "out")
    assert payloads(source) == [Path(path).read_bytes() for path in folder.paths]
    assert source.labels.tolist() == folder.labels.tolist() == [0] * 3 + [1] * 4
    assert source.classes == folder.classes == ("cat", "dog")
    assert [source.index.key(n) for n in range(7)] == [
        "cat/1",
        "cat/3",
        "cat/5",
        "dog/0",
        "dog/2",
        "dog/4",
        "dog/6",
    ]
    assert source.name(3) == f"{tmp_path}/out/shard-000001.tar:dog/0"
    assert source.index.columns["height"].all().tolist() == [12, 14, 16, 11, 13, 15, 17]
    assert source.index.columns["width"].all().tolist() == [19, 23, 27, 17, 21, 25, 29]
    assert {source.index.format(n) for n in range(7)} == {"jpeg 4:2:0"}
    assert (summary.samples, summary.classes, summary.shards, summary.bad) == (7, 2, 4, ())
    assert summary.bytes == sum(
        len(data) for name, data in contents(tmp_path / "out").items() if name.endswith(".tar")
    )


def test_tarfile_and_the_webdataset_layout_read_it(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out", shard_bytes=6000)
    folder, samples = open_source(small), []
    for name in sorted(path.name for path in (tmp_path / "out").glob("*.tar")):
        with tarfile.open(tmp_path / "out" / name) as archive:
            members = [
                (
                    re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", m.name).groups(),
                    archive.extractfile(m).read(),
                )
                for m in archive
            ]
        for key, group in itertools.groupby(members, lambda member: member[0][0]):
            samples.append((key, {extension: data for (_, extension), data in group}))
    assert [key for key, _ in samples] == [
        "cat/1",
        "cat/3",
        "cat/5",
        "dog/0",
        "dog/2",
        "dog/4",
        "dog/6",
    ]
    assert [s["jpg"] for _, s in samples] == [Path(path).read_bytes() for path in folder.paths]
    assert [int(s["cls"]) for _, s in samples] == folder.labels.tolist()


@pytest.mark.parametrize("seed", [None, 7])
def test_same_bytes_for_any_number_of_workers(tools, small, tmp_path, seed):
    for workers in (1, 2, 4):
        tools.convert(
            small, tmp_path / f"w{workers}", workers=workers, shard_bytes=4000, shuffle=seed
        )
    assert contents(tmp_path / "w1") == contents(tmp_path / "w2") == contents(tmp_path / "w4")


def test_shuffle_moves_samples_with_their_labels(tools, small, tmp_path):
    tools.convert(small, tmp_path / "plain")
    tools.convert(small, tmp_path / "mixed", shuffle=3)
    plain, mixed = open_source(tmp_path / "plain"), open_source(tmp_path / "mixed")
    pairs = [list(zip(payloads(s), s.labels.tolist(), strict=True)) for s in (plain, mixed)]
    assert pairs[0] != pairs[1]
    assert sorted(pairs[0]) == sorted(pairs[1])


def test_shards_are_a_source_too(tools, small, tmp_path):
    tools.convert(small, tmp_path / "a", shard_bytes=3000)
    tools.convert(tmp_path / "a", tmp_path / "b", shard_bytes=6000)
    tools.convert(small, tmp_path / "c", shard_bytes=6000)
    assert contents(tmp_path / "b") == contents(tmp_path / "c")


def test_damaged_shard_as_source_names_the_sample(tools, small, tmp_path):
    tools.convert(small, tmp_path / "a")
    path = tmp_path / "a" / "shard-000000.tar"
    data = bytearray(path.read_bytes())
    data[600] ^= 1
    path.write_bytes(data)
    with pytest.raises(ConversionError) as refused:
        tools.convert(tmp_path / "a", tmp_path / "b")
    first, second = str(refused.value).splitlines()
    assert first == f"{tmp_path}/b: 1 of 7 samples are bad; mend them, or pass --on-error skip"
    assert re.fullmatch(
        re.escape(f"{path}:cat/1: is damaged (checksum got ")
        + "[0-9a-f]{16}, want [0-9a-f]{16}"
        + re.escape(f"); run fastload verify {tmp_path}/a"),
        second,
    )


def test_pickled_source_opens_again(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out")
    source = open_source(tmp_path / "out")
    text = pickle.dumps(source)
    assert len(text) < 300
    assert payloads(pickle.loads(text)) == payloads(source)
    before = source.index.checksum
    tools.convert(small, tmp_path / "out", overwrite=True, shuffle=1)
    with pytest.raises(SourceError) as refused:
        pickle.loads(text)
    after = open_source(tmp_path / "out").index.checksum
    assert (
        str(refused.value)
        == f"{tmp_path}/out: was replaced while in use (index {after:016x}, want {before:016x}); "
        "open it again"
    )


def test_rows_beyond_a_batch(tools, tmp_path, monkeypatch):
    """Fixed-length record batches: row arithmetic at the seams."""
    monkeypatch.setattr(arrow, "BATCH", 4)
    image = tools.encode(5, 9)
    for count in (1, 3, 4, 5, 8, 9):
        root = tools.write_tree(
            tmp_path / f"in{count}", {f"c/{n:02}.jpg": image + bytes(n) for n in range(count)}
        )
        tools.convert(root, tmp_path / f"out{count}", check="none")
        source = open_source(tmp_path / f"out{count}")
        assert (
            source.locate(np.arange(count)[::-1]).size.tolist()
            == [len(image) + n for n in range(count)][::-1]
        )
        assert source.name(count - 1).endswith(f":c/{count - 1:02}")
        with pytest.raises(IndexError):
            source.locate(np.array([count]))
        with pytest.raises(IndexError):
            source.locate(np.array([-1]))


def test_overwrite_replaces_all(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out", shard_bytes=2048)
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, tmp_path / "out")
    assert (
        str(refused.value)
        == f"{tmp_path}/out: holds a data set already; give another folder, or --overwrite to "
        "replace it"
    )
    tools.convert(small, tmp_path / "out", overwrite=True)
    tools.convert(small, tmp_path / "new")
    assert contents(tmp_path / "out") == contents(tmp_path / "new")


def test_a_failing_overwrite_keeps_the_old_data_set(tools, small, tmp_path):
    tools.convert(small, tmp_path / "out")
    before = contents(tmp_path / "out")
    bad = tools.write_tree(tmp_path / "bad", {"c/a.jpg": b""})
    with pytest.raises(ConversionError):
        tools.convert(bad, tmp_path / "out", overwrite=True)
    assert contents(tmp_path / "out") == before


def test_an_interrupt_leaves_nothing(small, tmp_path):
    def interrupt(images, count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(
            job.prepare(
                str(small), str(tmp_path / "a" / "out"), job.Options(workers=2, shard_bytes=2048)
            ),
            interrupt,
        )
    assert os.listdir(tmp_path) == ["small"]


def test_index_metadata_is_plain_json(tools, small, tmp_path):
    import pyarrow as pa

    tools.convert(small, tmp_path / "out", shard_bytes=6000)
    with pa.memory_map(str(tmp_path / "out" / "index.arrow")) as file:
        said = json.loads(pa.ipc.open_file(file).schema.metadata[b"fastload"])
    sizes = [
        {"name": s.name, "bytes": s.bytes, "xxh3": f"{s.checksum:016x}"}
        for s in open_source(tmp_path / "out").index.shards
    ]
    sidecars = [
        {"name": s.name, "bytes": s.bytes, "xxh3": f"{s.checksum:016x}"}
        for s in open_source(tmp_path / "out").index.sidecars
    ]
    assert said == {
        "version": 1,
        "samples": 7,
        "classes": ["cat", "dog"],
        "shards": sizes,
        "sidecars": sidecars,
    }
    for shard in sizes + sidecars:
        assert _native.xxh3((tmp_path / "out" / shard["name"]).read_bytes()) == int(
            shard["xxh3"], 16
        )
