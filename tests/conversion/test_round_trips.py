"""Through every writer and every reader: the same bytes, labels and keys."""

import csv
import io
import json
import os
import shutil
import tarfile
import zipfile

import pytest

from fastload.conversion import job, options
from fastload.conversion.readers import Choice, Extra, Record, from_iterable, open_reader, records
from fastload.errors import SourceError, UsageError

FORMATS = ("shards", "webdataset", "parquet", "folder")
# A header: 1x1 px, grey
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010800000000")


def name_of(to):
    return "out.beton" if to == "beton" else "out"


@pytest.mark.parametrize("to", FORMATS)
def test_through_each_format_and_back_to_the_same_shards(tools, small, tmp_path, to):
    tools.convert_to(small, tmp_path / "direct", "shards", shard_bytes=6000)
    tools.convert_to(small, tmp_path / "out", to, shard_bytes=4000)
    assert tools.samples(tmp_path / "out") == tools.samples(small)
    tools.convert_to(tmp_path / "out", tmp_path / "back", "shards", shard_bytes=6000)
    assert tools.contents(tmp_path / "back") == tools.contents(tmp_path / "direct")


def test_through_an_ffcv_file(tools, small, tmp_path):
    tools.convert_to(small, tmp_path / "out.beton", "beton")
    before, after = tools.samples(small), tools.samples(tmp_path / "out.beton")
    assert [data for _, data, _ in after] == [data for _, data, _ in before]
    assert [label for *_, label in after] == ["0"] * 3 + [
        "1"
    ] * 4  # FFCV keeps no names, and no keys


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("seed", [None, 5])
def test_the_same_bytes_for_any_number_of_workers(tools, small, tmp_path, to, seed):
    for workers in (1, 3):
        tools.convert_to(
            small, tmp_path / f"w{workers}", to, workers=workers, shard_bytes=3000, shuffle=seed
        )
    assert tools.contents(tmp_path / "w1") == tools.contents(tmp_path / "w3")


def packed(root, target, mode=None):
    """The folder as an archive: tar, tar.gz (mode "gz") or zip."""
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(root.rglob("*")):
                archive.write(path, f"top/{path.relative_to(root)}")
        return target
    with tarfile.open(target, f"w:{mode or ''}") as archive:
        archive.add(root, "top")
    return target


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", ""), ("a.tar.gz", "gz"), ("a.tgz", "gz"), ("a.zip", None)]
)
def test_archives_of_a_folder(tools, small, tmp_path, name, mode):
    archive = packed(small, tmp_path / name, mode)
    assert tools.samples(archive) == tools.samples(small)
    tools.convert_to(archive, tmp_path / "out", "shards", shuffle=4, shard_bytes=5000, workers=2)
    assert tools.samples(tmp_path / "out") == tools.samples(small)


@pytest.mark.parametrize("compressed", [False, True])
def test_webdataset_shards(tools, small, tmp_path, compressed):
    """As other programs write them: text labels, several files per sample, compressed or not."""
    (tmp_path / "in").mkdir()
    expected = tools.samples(small)
    for part in range(2):
        with tarfile.open(
            tmp_path / "in" / f"s-{part}.tar{'.gz' * compressed}", f"w:{'gz' * compressed}"
        ) as archive:
            for key, data, label in expected[part * 4 : part * 4 + 4]:
                for extension, content in (
                    ("JPEG", data),
                    ("cls", label.encode()),
                    ("json", b'{"text": 1}'),
                ):
                    member = tarfile.TarInfo(f"{key}.{extension}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    assert tools.samples(tmp_path / "in") == expected
    reader = open_reader(str(tmp_path / "in"))
    assert reader.extras(3) == (Extra("json", b'{"text": 1}'),)
    tools.convert_to(tmp_path / "in", tmp_path / "out", "webdataset")
    again = open_reader(str(tmp_path / "out"))
    assert [r.extras for r in records(again)] == [(Extra("json", b'{"text": 1}'),)] * 7
    assert tools.samples(tmp_path / "out") == expected


def test_labels_in_json(tools, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for n, label in enumerate((2, 0)):
            for extension, content in (
                ("png", tools.encode(3, 5, n, format="PNG")),
                ("json", json.dumps({"label": label}).encode()),
            ):
                member = tarfile.TarInfo(f"k{n}.{extension}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    reader = open_reader(str(tmp_path / "a.tar"))
    assert (list(reader.labels), reader.classes, list(reader.keys)) == (
        [2, 0],
        ("0", "1", "2"),
        ["k0", "k1"],
    )


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_lists(tools, small, tmp_path, kind):
    rows = [
        {"path": str(path.relative_to(small)), "label": path.parent.name}
        for path in sorted(small.rglob("*.JPEG"))
    ]
    where = tmp_path / f"list.{kind}"
    with where.open("w") as file:
        if kind == "csv":
            writer = csv.DictWriter(file, ["path", "label"])
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    assert tools.samples(where, Choice(root=str(small))) == tools.samples(small)


def test_samples_of_a_program(tools, small, tmp_path):
    made = [(key, data, 1 if label == "dog" else 0) for key, data, label in tools.samples(small)]
    reader = from_iterable(iter(made), ["cat", "dog"])
    job.run(
        job.prepare_reader(
            reader, str(tmp_path / "out"), options.Options(workers=2, shard_bytes=6000, shuffle=1)
        )
    )
    assert tools.samples(tmp_path / "out") == tools.samples(small)
    extra = Record("a", tools.encode(3, 5), 0, (Extra("txt", b"words"),))
    assert next(records(from_iterable([extra], ["only"]))) == extra


@pytest.mark.parametrize(
    ("items", "text"),
    [
        (
            [("a", b"x", 0), ("a", b"y", 0)],
            "samples: key 'a' is there twice; give each sample its own",
        ),
        ([("a", b"x", 3)], "samples, sample 0: label 3 (want 0 to 1); name all classes"),
        (
            [("a", b"x", 1.7)],
            "samples, sample 0: label is 1.7, want a whole number, of a class",
        ),
        (
            [("a", b"x", "x")],
            "samples, sample 0: label is 'x', want a whole number, of a class",
        ),
        ([("a", b"x")], "samples, sample 0: is a tuple, want (key, encoded image, label)"),
        ([("a", "x", 0)], "samples, sample 0: image is str, want the encoded bytes; encode it"),
        (
            [("a.b", b"x", 0)],
            (
                "samples, sample 0: key 'a.b' cannot stand in a tar (want text without dots in its "
                "last part); rename it"
            ),
        ),
    ],
)
def test_samples_of_a_program_that_are_wrong(items, text):
    with pytest.raises(SourceError) as refused:
        from_iterable(items, ["x", "y"])
    assert str(refused.value) == text


def test_hugging_face_arrow_and_parquet(tools, small, tmp_path):
    datasets = pytest.importorskip("datasets", reason="what people have is written by it")
    rows = tools.samples(small)
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["cat", "dog"]),
            "key": datasets.Value("string"),
        }
    )
    data = datasets.Dataset.from_dict(
        {
            "image": [{"bytes": d, "path": None} for _, d, _ in rows],
            "label": [int(c == "dog") for *_, c in rows],
            "key": [k for k, *_ in rows],
        },
        features=features,
    )
    data.save_to_disk(tmp_path / "disk", num_shards=2)
    data.to_parquet(tmp_path / "one.parquet")
    for where in (tmp_path / "disk", tmp_path / "one.parquet"):
        assert tools.samples(where) == rows
    tools.convert_to(tmp_path / "one.parquet", tmp_path / "out", "shards", shuffle=2)
    assert tools.samples(tmp_path / "out") == rows


def test_subset_split_and_labels(tools, small, tmp_path):
    chosen = open_reader(str(small), Choice(subset="3"))
    assert len(chosen) == 3
    assert set(chosen.keys) < set(open_reader(str(small)).keys)
    assert len(open_reader(str(small), Choice(subset="50%", seed=1))) == 4
    assert open_reader(str(small), Choice(subset="3", seed=9)).keys != chosen.keys
    for text in ("0", "-1", "x", "120%", "2.5"):
        with pytest.raises(UsageError) as refused:
            open_reader(str(small), Choice(subset=text))
        assert (
            str(refused.value)
            == f"subset: {text!r} is no number of samples; write it like 1000, 10% or 0.1"
        )
    shutil.copytree(small, tmp_path / "both" / "val")
    assert tools.samples(tmp_path / "both", Choice(split="val")) == tools.samples(small)
    (tmp_path / "names.txt").write_text("Katze\nHund\n")
    assert open_reader(str(small), Choice(labels=str(tmp_path / "names.txt"))).classes == (
        "Katze",
        "Hund",
    )
    (tmp_path / "l.jsonl").write_text(
        "".join(json.dumps({"key": k, "label": c[::-1]}) + "\n" for k, _, c in tools.samples(small))
    )
    assert [c for *_, c in tools.samples(small, Choice(labels=str(tmp_path / "l.jsonl")))] == [
        "tac"
    ] * 3 + ["god"] * 4


def test_many_compressed_shards_take_one_spool_and_bad_rows_of_tables_stay_bad_samples(
    tools, small, tmp_path
):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "in").mkdir()
    for number, (key, data, label) in enumerate(tools.samples(small)):
        with tarfile.open(tmp_path / "in" / f"{number}.tar.gz", "w:gz") as archive:
            for extension, content in (("jpg", data), ("cls", label.encode())):
                member = tarfile.TarInfo(f"{key}.{extension}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    before = len(os.listdir("/proc/self/fd"))
    reader = open_reader(str(tmp_path / "in"))
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert sorted(
        (r.key, r.data, reader.classes[r.label]) for r in records(reader)
    ) == tools.samples(small)
    pq.write_table(
        pa.table({"image": [tools.encode(3, 5), None], "label": [1, 0]}), tmp_path / "a.parquet"
    )
    summary = tools.convert_to(
        tmp_path / "a.parquet", tmp_path / "out", "shards", shuffle=1, on_error="skip"
    )
    assert (summary.samples, [bad.reason for bad in summary.bad]) == (
        1,
        ["is empty (0 bytes); mend or remove the file"],
    )


def test_many_workers_read_each_row_group_once(tools, tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fastload.conversion.readers.table_files import ParquetFile

    images = [tools.encode(9, 15, n) for n in range(24)]
    pq.write_table(
        pa.table({"image": images, "label": [0] * 24}), tmp_path / "a.parquet", row_group_size=4
    )
    reads, real = [], ParquetFile.images
    monkeypatch.setattr(
        ParquetFile,
        "images",
        lambda table, group, column: (reads.append(group), real(table, group, column))[1],
    )
    size = 4 * (len(images[0]) // 512 + 4) * 512
    tools.convert_to(
        tmp_path / "a.parquet", tmp_path / "out", "shards", workers=6, shard_bytes=size
    )
    assert len(reads) <= 2 * 6 + 6  # a shard may begin within a group
    assert [data for _, data, _ in tools.samples(tmp_path / "out")] == images
