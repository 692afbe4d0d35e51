"""wids' index of tars: samples of the tars it lists, in its order; hostile lists are refused."""

import json
import os
import tarfile

import numpy as np
import pytest

import fastload
from fastload.conversion import job
from fastload.errors import SourceError
from fastload.sources import open_source, read
from tests.sources.tar_helpers import OPS, batches, put, same, sample

ANEW = "make the index anew with widsindex"
NUMBER = f"want a number; {ANEW}"
STORE = "lies in a store; copy the tars beside the index, and list their names"


@pytest.fixture(scope="module")
def tars(tmp_path_factory):
    """Three tars of 4, 3 and 5 samples with captions, one of them in a folder."""
    root, number = tmp_path_factory.mktemp("wids"), 0
    (root / "more").mkdir()
    for name, count in (("b.tar", 4), ("a.tar", 3), ("more/c.tar", 5)):
        members = []
        for _ in range(count):
            members += sample(f"{number:04}", number, str(number % 3))
            members.append((f"{number:04}.txt", f"no. {number}".encode()))
            number += 1
        put(root / name, members, tarfile.USTAR_FORMAT)
    return root


SHARDS = [{"url": "b.tar", "nsamples": 4}, {"url": "a.tar", "nsamples": 3}]
MORE = {"url": "more/c.tar", "nsamples": 5}


def index(folder, shards=SHARDS, **said):
    path = folder / "index.json"
    path.write_text(json.dumps({"wids_version": 1, "shardlist": shards} | said))
    return str(path)


def refused(where):
    with pytest.raises(SourceError) as error:
        open_source(where)
    return str(error.value)


def test_samples_have_the_order_of_the_list(tars):
    where = index(tars, name="some", datasets=[{"base": "more", "shardlist": [
        {"url": "c.tar", "nsamples": 5, "weight": 2}]}])  # fmt: skip
    source = open_source(where, target=["txt"])
    assert len(source) == 12
    assert [source.name(n).rpartition(":")[2][:4] for n in range(12)] == [
        f"{n:04}" for n in range(12)
    ]
    assert np.asarray(source.labels).tolist() == [n % 3 for n in range(12)]
    assert read(source, 7) == sample("x", 7)[0][1]
    data = fastload.open(where, OPS, target="txt")
    _, texts = next(iter(fastload.DataLoader(data, 12)))
    assert texts == [f"no. {n}" for n in range(12)]


def test_batches_are_those_of_a_pattern(tars):
    wanted = batches(f"{tars}/{{b,a}}.tar")
    assert same(batches(index(tars)), wanted)
    assert same(batches(index(tars), num_workers=0), wanted)


def test_it_can_be_converted(tars, tmp_path):
    where = index(tars, [*SHARDS, MORE | {"filesize": os.path.getsize(tars / "more" / "c.tar")}])
    job.run(job.prepare(where, str(tmp_path / "out"), job.Options(workers=1)))
    first, second = open_source(where), open_source(tmp_path / "out")
    assert [read(first, n) for n in range(12)] == [read(second, n) for n in range(12)]


# Which leaves files open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_the_library_writes_is_read_as_it_reads(tars, monkeypatch, tmp_path):
    wids = pytest.importorskip("wids", reason="wids is not installed; it wants webdataset below 1")
    from wids import wids_index

    monkeypatch.chdir(tars)
    monkeypatch.setenv("WIDS_CACHE", str(tmp_path))
    words = ["create", "b.tar", "a.tar", "more/c.tar", "--output", "written.json", "--name", "x"]
    monkeypatch.setattr("sys.argv", ["widsindex", *words])
    wids_index.main()
    where = str(tars / "written.json")
    theirs = wids.ShardListDataset(where, transformations=[])
    ours = open_source(where)
    assert len(ours) == len(theirs) == 12
    for n in range(12):
        image = next(theirs[n][f".{e}"] for e in ("jpg", "jpeg", "png", "JPG", "webp")
                     if f".{e}" in theirs[n])  # fmt: skip
        assert read(ours, n) == image.read()
        assert theirs[n]["__key__"] == ours.name(n).rpartition(":")[2].partition(".")[0]


@pytest.mark.parametrize(
    ("shards", "said", "text"),
    [
        ([], {}, f"lists no shards; {ANEW}"),
        ("x", {}, f"shardlist is 'x', want a list; {ANEW}"),
        ([5], {}, f"shard 0 is 5, want an object; {ANEW}"),
        (SHARDS, {"wids_version": 2}, f"wids_version is 2, this fastload reads 1; {ANEW}"),
        ([{"url": "a.tar"}], {}, f"shard 0: nsamples is None, want a number; {ANEW}"),
        ([{"url": "a.tar", "nsamples": True}], {}, f"shard 0: nsamples is True, {NUMBER}"),
        ([{"url": "a.tar", "nsamples": 3, "filesize": -1}], {},
         f"shard 0: filesize is -1, want a number; {ANEW}"),
        ([{"url": 3, "nsamples": 3}], {}, f"shard 0: url is 3, want text; {ANEW}"),
        ([{"url": "../a.tar", "nsamples": 3}], {},
         "shard 0: '../a.tar' leads out of the index's folder; list tars below it"),
        ([{"url": "/etc/a.tar", "nsamples": 3}], {},
         "shard 0: '/etc/a.tar' leads out of the index's folder; list tars below it"),
        ([{"url": "a\n.tar", "nsamples": 3}], {},
         "shard 0: 'a\\n.tar' has a control character; list tars below it"),
        ([{"url": "a.tar.gz", "nsamples": 3}], {},
         "shard 0: 'a.tar.gz' is no plain tar (.tar); list plain ones"),
        ([{"url": "gs://x/a.tar", "nsamples": 3}], {},
         f"shard 0: 'gs://x/a.tar' {STORE}"),
        (SHARDS, {"datasets": [{"source_url": "b.json"}]},
         "data set 0 is another index ('b.json'); open that one, and mix or join them"),
        (SHARDS, {"datasets": [5]}, f"data set 0 is 5, want an object; {ANEW}"),
    ],
)  # fmt: skip
def test_lists_that_are_refused(tars, shards, said, text):
    where = index(tars, shards, **said)
    assert refused(where) == f"{where}: {text}"


def test_lists_that_say_otherwise(tars):
    where = index(tars, [{"url": "b.tar", "nsamples": 4}, {"url": "a.tar", "nsamples": 4}])
    assert (
        refused(where) == f"{tars}/a.tar: holds 3 samples ({where} says 4); restore it, or {ANEW}"
    )
    where = index(tars, [SHARDS[0] | {"filesize": 7}, {"url": "none.tar", "nsamples": 4}])
    size = os.path.getsize(tars / "b.tar")
    assert refused(where).splitlines() == [
        f"{tars}/b.tar: size differs (got {size} bytes, want 7); restore it, or {ANEW}",
        f"{tars}/none.tar: cannot be opened (No such file or directory); restore it, or {ANEW}",
    ]


def test_json_of_something_else(tars, tmp_path):
    other = tmp_path / "x.json"
    for content, text in (
        ('{"version": 2, "shards": []}', "is JSON of something else (want an index of wids: "),
        ("[1", f"is no JSON; {ANEW}"),
        ("[" * 100_000, f"is no JSON; {ANEW}"),
    ):
        other.write_text(content)
        assert refused(str(other)).startswith(f"{other}: {text}")
