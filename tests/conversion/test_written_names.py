"""Names of what is written: none falls on another, none leads out of the folder."""

import tarfile

import pytest

from fastload.conversion import job, options
from fastload.conversion.readers import Extra, Record, from_iterable, open_reader
from fastload.errors import UsageError


def test_files_of_a_folder_never_fall_on_each_other(tools, tmp_path):
    """Keys that differ only by the class, that lead out of the folder, that are too long: each
    sample is a file of its own.
    """
    keys = ["cat/a", "a", "cat/cat/a", "x" * 300, "x" * 299 + "y", "dog/a"]
    made = [
        Record(key, tools.encode(3, 5, n), 0, (Extra("image.png", b"%d" % n),))
        for n, key in enumerate(keys)
    ]
    reader = from_iterable(made, ["cat", "dog"])
    job.run(job.prepare_reader(reader, str(tmp_path / "out"), options.Options(to="folder")))
    files = tools.contents(tmp_path / "out")
    assert sorted(files.values()) == sorted(
        [item.data for item in made] + [b"%d" % n for n in range(len(keys))]
    )
    assert {
        "images/cat/a.jpg",
        "images/cat/a_2.jpg",
        "images/cat/cat/a.jpg",
        "images/cat/dog/a.jpg",
        "image_files/cat/a.png",
    } <= set(files)


def test_keys_that_lead_out_of_a_folder_are_made_plain(tools, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = ["../../up", "/etc/passwd", "a//b", "./c", "..", ""]
    table = pa.table(
        {"image": [tools.encode(3, 5, n) for n in range(6)], "label": [0] * 6, "key": keys}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert open_reader(str(tmp_path / "a.parquet")).keys == [
        "_/_/up",
        "_/etc/passwd",
        "a/b",
        "_/c",
        "___x",
        "_x",
    ]
    tools.convert_to(tmp_path / "a.parquet", tmp_path / "out", "shards")
    with tarfile.open(tmp_path / "out" / "shard-000000.tar") as archive:
        assert not [
            name for name in archive.getnames() if name.startswith("/") or ".." in name.split("/")
        ]


def test_a_split_is_a_plain_name():
    with pytest.raises(UsageError) as refused:
        options.Options(split="../up")
    assert (
        str(refused.value)
        == "split: '../up' is no name of files; write it with letters, digits and _.- only"
    )
