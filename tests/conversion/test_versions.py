"""Data sets that grow: new shards, a new index, and the old ones as they were."""

import json
import pickle

import numpy as np
import pytest

import fastload
from fastload.conversion import indexing, inspect, readers, subset_columns, subsets, target, verify
from fastload.conversion.cluster import recipe
from fastload.conversion.readers import Choice
from fastload.conversion.versions import job
from fastload.conversion.versions.listing import listing
from fastload.errors import ConversionError, SourceError, UsageError
from fastload.sources import arrow, open_source, read, shard_rows, shard_versions
from tests.conversion.conftest import convert, encode, samples, write_tree

from .version_helpers import append, folder, keys, options, parts, prints


@pytest.fixture(params=["small", "large"])
def size(request, monkeypatch, tmp_path):
    """Of an index: a large one is read some rows at a time, and its rows are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if request.param == "large":
        monkeypatch.setattr(shard_rows, "SMALL", 0)


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def grown(tmp_path):
    """12 samples in three steps, each alone in its shard."""
    for number, some in enumerate(parts(12, 4)):
        source = folder(tmp_path / f"in{number}", some)
        if number:
            append(source, tmp_path / "out")
        else:
            convert(source, tmp_path / "out", shard_bytes=1024)
    return tmp_path / "out"


@pytest.mark.usefixtures("size")
def test_grown_is_made_at_once(grown, tmp_path):
    """Same rows, same bytes of index, shards and sidecars; older indexes lie beside them."""
    convert(folder(tmp_path / "all", range(12)), tmp_path / "once", shard_bytes=1024)
    once, got = prints(tmp_path / "once"), prints(grown)
    assert {name: got[name] for name in once} == once
    assert sorted(set(got) - set(once)) == [
        "version-000001.arrow", "version-000001.arrow.xxh3",
        "version-000002.arrow", "version-000002.arrow.xxh3", "versions.jsonl",
    ]  # fmt: skip
    assert verify.verify(verify.prepare(str(grown)), 1).damages == ()
    assert [one[0:1] + one[3:6] for one in listing(str(grown))] == [
        (1, 4, 4, 0), (2, 8, 4, 0), (3, 12, 4, 0)
    ]  # fmt: skip


@pytest.mark.usefixtures("size")
def test_who_has_it_open_goes_on(tmp_path):
    """This process, one that opens the same later, and what looks into the index later."""
    convert(folder(tmp_path / "in", range(4)), tmp_path / "out", shard_bytes=1024)
    before = open_source(tmp_path / "out")
    sent = pickle.dumps(before)
    want = [read(before, n) for n in range(4)]
    append(folder(tmp_path / "more", range(4, 9)), tmp_path / "out")
    job.delete(str(tmp_path / "out"), ["c/001", "c/005"])
    later = pickle.loads(sent)
    for source in (before, later):
        assert len(source) == 4
        assert [read(source, n) for n in range(4)] == want
        assert [source.index.key(n) for n in range(4)] == ["c/000", "c/001", "c/002", "c/003"]
    assert pickle.loads(pickle.dumps(later)).rows.index_checksum == before.rows.index_checksum
    assert keys(tmp_path / "out") == [f"c/{n:03d}" for n in (0, 2, 3, 4, 6, 7, 8)]


@pytest.mark.usefixtures("size")
def test_files_beside_images_of_an_older_version(tmp_path):
    rows = [readers.Record(f"{n}", encode(9, 13, n), 0, (readers.Extra("txt", b"%d" % n),))
            for n in range(6)]  # fmt: skip
    where = str(tmp_path / "out")
    first, then = (readers.from_iterable(some, ["c"]) for some in (rows[:4], rows[4:]))
    from fastload.conversion import job as conversions

    conversions.run(conversions.prepare_reader(first, where, options()))
    job.append(then, where, options())
    assert [fastload.open(where, version=v, target="txt")[2][1] for v in (1, 2)] == ["2", "2"]
    assert [len(fastload.open(where, version=v, target="txt")) for v in (1, 2)] == [4, 6]
    sent = pickle.dumps(fastload.open(where, version=1, target="txt").pipeline.source)
    assert len(pickle.loads(sent)) == 4


def test_replaced_while_it_is_opened(tmp_path, monkeypatch):
    """The checksum was read before the change, and the index after it."""
    convert(folder(tmp_path / "in", range(4)), tmp_path / "out", shard_bytes=1024)
    more, real = folder(tmp_path / "more", range(4, 6)), arrow._said_beside

    def said(*arguments):
        before = real(*arguments)
        monkeypatch.setattr(arrow, "_said_beside", real)
        append(more, tmp_path / "out")
        return before

    monkeypatch.setattr(arrow, "_said_beside", said)
    assert len(open_source(tmp_path / "out")) == 6


def test_new_classes_come_behind_the_others(tmp_path):
    write_tree(tmp_path / "a", {f"{name}/0.png": encode(9, 13, format="PNG") for name in "bd"})
    write_tree(tmp_path / "b", {f"{name}/1.png": encode(9, 13, format="PNG") for name in "abcd"})
    convert(tmp_path / "a", tmp_path / "out")
    append(tmp_path / "b", tmp_path / "out")
    source = open_source(tmp_path / "out")
    assert source.classes == ("b", "d", "a", "c")
    assert open_source(tmp_path / "out", version=1).classes == ("b", "d")
    assert [key[0] for key in keys(tmp_path / "out")] == [
        source.classes[label] for label in np.asarray(source.labels).tolist()
    ]
    assert {key: name for key, _, name in samples(tmp_path / "out")} == {
        key: key[0] for key in keys(tmp_path / "out")
    }


def test_only_what_is_lacking_is_added(grown, tmp_path):
    everything = folder(tmp_path / "all", range(12))
    done = append(everything, grown)
    assert (done.version, done.added, done.there, done.changed) == (3, 0, 12, 0)
    (everything / "c/003.jpg").write_bytes(encode(40, 50, 1))
    folder(everything, [12])
    before = prints(grown)
    done = append(everything, grown)
    assert (done.version, done.added, done.there, done.changed) == (4, 1, 12, 1)
    now = prints(grown)
    assert {name: now[name] for name in before if name.startswith("shard")} == {
        name: mark for name, mark in before.items() if name.startswith("shard")
    }
    assert not (tmp_path / ".fastload-out.append").exists()


def test_deleted_is_gone_for_every_reader(grown, tmp_path):
    before = {name: mark for name, mark in prints(grown).items() if name != "index.arrow"}
    done = job.delete(str(grown), ["c/001", "c/010"])
    assert (done.version, done.deleted, done.samples, done.shards) == (4, 2, 10, 12)
    now = prints(grown)
    assert {name: now[name] for name in before if name.startswith(("shard", "version-"))} == {
        name: mark for name, mark in before.items() if name.startswith(("shard", "version-"))
    }
    left = [f"c/{n:03d}" for n in range(12) if n not in (1, 10)]
    assert keys(grown) == left
    loader = fastload.DataLoader(fastload.open(grown), batch_size=None, num_workers=0)
    assert len(loader) == 10
    assert inspect.inspect(str(grown)).samples == 10
    report = verify.verify(verify.prepare(str(grown)), 1)
    assert (report.samples, report.damages) == (10, ())
    index = subsets.open_index(str(grown))
    every = subset_columns.Part(index, np.arange(len(index), dtype=np.int64))
    subsets.write(str(tmp_path / "merged"), [every])
    assert keys(tmp_path / "merged") == left
    assert [key for key, _, _ in samples(grown)] == left
    assert len(keys(grown, version=3)) == 12
    indexing.run(indexing.prepare(str(grown)), count=1)
    assert keys(grown) == left
    assert [one[0:1] + one[3:6] for one in listing(str(grown))][-1] == (4, 10, 0, 2)


def test_deleted_stays_deleted_until_it_is_replaced(grown, tmp_path):
    everything = folder(tmp_path / "all", range(12))
    job.delete(str(grown), ["c/001", "c/010"])
    done = append(everything, grown)
    assert (done.version, done.added, done.there, done.gone) == (4, 0, 10, 2)
    for number in (1, 5):
        (everything / f"c/{number:03d}.jpg").write_bytes(encode(40, 50, number))
    done = append(everything, grown, delete=["c/001", "c/005"])
    assert (done.version, done.added, done.deleted, done.gone) == (5, 2, 1, 1)
    source = open_source(grown)
    at = keys(grown).index("c/005")
    assert read(source, at) == (everything / "c/005.jpg").read_bytes()
    assert sorted(keys(grown)) == [f"c/{n:03d}" for n in range(12) if n != 10]


def test_two_at_once_and_one_is_refused(grown, tmp_path):
    more = folder(tmp_path / "more", range(12, 14))
    import contextlib

    refused = []

    @contextlib.contextmanager
    def meter(prepared):
        with pytest.raises(ConversionError, match="another conversion is writing there") as error:
            append(folder(tmp_path / "other", range(14, 16)), grown)
        refused.append(str(error.value))
        with pytest.raises(ConversionError, match="another conversion is writing there"):
            job.delete(str(grown), ["c/001"])
        yield lambda *_: None

    assert append(more, grown, meter=meter).added == 2
    assert refused == [
        f"{grown}: another conversion is writing there; wait for it or give another folder"
    ]
    with target.locked(str(grown)):
        assert len(open_source(grown)) == 14  # who reads needs no lock


def test_bad_images_are_listed_once(grown, tmp_path):
    more = folder(tmp_path / "more", range(12, 14))
    write_tree(more, {"c/bad.jpg": b"\xff\xd8 no image"})
    with pytest.raises(ConversionError, match="1 of 3 samples are bad"):
        append(more, grown)
    assert len(open_source(grown)) == 12
    for added in (2, 0):
        done = append(more, grown, on_error="skip")
        assert (done.added, len(done.bad), len(open_source(grown))) == (added, 1, 14)
    lines = (grown / "bad_samples.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == [str(more / "c/bad.jpg")]


def test_other_processes_find_the_same(grown, tmp_path):
    """What a worker of --on opens is what this process has planned."""
    more = folder(tmp_path / "more", range(8, 16))
    looked = job.look(str(more), str(grown), options(), Choice(), ["c/009"])
    assert len(looked.found.reader) == 5
    there = recipe.opened(recipe.recipe_of(looked.prepared))
    assert there.reader.keys == looked.found.reader.keys


ABSENT = "{0}: has no version {1} (has 1 to 3); fastload inspect {0} --versions lists them"
WRONG = (
    "version is {1!r}, want a whole number from 1 on; fastload inspect PATH --versions lists them"
)


@pytest.mark.parametrize("number", [0, 4, "1", 1.0, True])
def test_versions_that_are_not_there(grown, number):
    with pytest.raises(SourceError) as error:
        fastload.open(grown, version=number)
    text = ABSENT if type(number) is int else WRONG
    assert str(error.value) == text.format(grown, number)


def test_what_is_damaged_is_told(grown, tmp_path):
    (grown / "version-000001.arrow").unlink()
    with pytest.raises(SourceError, match="the index of version 1 is not as it was"):
        fastload.open(grown, version=1)
    assert len(fastload.open(grown, version=2)) == 8
    job.delete(str(grown), ["c/001"])
    (grown / "deleted-000004.txt").write_text("c/002\n")
    with pytest.raises(SourceError, match=r"deleted-000004\.txt: is damaged"):
        append(folder(tmp_path / "more", [20]), grown)
    said = (grown / "versions.jsonl").read_text()
    told = said.replace('Z"', 'Z\\u001b[2J"')  # what a terminal would obey
    for wrong in (said.replace('n": 2', 'n": 7'), said[:-9], "{}\n", '["a"]\n', told):
        (grown / "versions.jsonl").write_text(wrong)
        with pytest.raises(SourceError, match=r"versions\.jsonl: is damaged"):
            listing(str(grown))
        assert len(fastload.open(grown)) == 11


def test_an_index_that_keeps_no_history(grown):
    """As another program would make it anew: the number goes on, and the date is the file's."""
    (grown / "versions.jsonl").unlink()
    (only,) = listing(str(grown))
    assert (only.number, only.samples, only.added) == (1, 12, 12)
    assert shard_versions.time_of((grown / "index.arrow").stat().st_mtime) == only.at


REFUSED = {
    "key": ({"delete": ["c/004", "c/x", "c/y"]}, ConversionError, "has no sample 'c/x', 'c/y';"),
    "all": ({"delete": "all"}, ConversionError, "no sample would be left"),
    "format": ({"to": "parquet"}, UsageError, "only shards are added to"),
    "overwrite": ({"overwrite": True}, UsageError, "leave --overwrite out"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_changes_nothing(grown, tmp_path, what):
    how, kind, text = REFUSED[what]
    before = prints(grown)
    with pytest.raises(kind, match=text):
        if how.get("delete") == "all":
            job.delete(str(grown), keys(grown))
        else:
            append(folder(tmp_path / "more", [20]), grown, **how)
    assert prints(grown) == before


def test_labels_of_another_kind_are_refused(grown, tmp_path):
    for classes in (["0", "1"], ["unlabelled"]):
        rows = [(f"x{n}", encode(9, 13, n), 0) for n in range(2)]
        with pytest.raises(SourceError, match=f"its classes are '{classes[0]}'"):
            job.append(readers.from_iterable(rows, classes), str(grown), options())


def test_what_is_no_shards_has_no_versions(tmp_path):
    with pytest.raises(SourceError, match="has no versions"):
        fastload.open(folder(tmp_path / "in", [1]), version=1)
