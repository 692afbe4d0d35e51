"""Objects of any name and objects that change, in data sets that come in parts."""

import gc
import pickle
import shutil
import tarfile
import threading
from pathlib import Path

import pytest

import fastload
from fastload import DataLoader
from fastload.errors import ObjectChangedError, SourceError
from fastload.remote.stores import Store
from fastload.sources import first_look, read
from tests.remote.conftest import CACHE, OPS, PIECE, batches
from tests.sources import span_helpers
from tests.sources.tar_helpers import put

pytestmark = pytest.mark.usefixtures("pieces")
ALL = range(span_helpers.COUNT)


@pytest.fixture
def tars(tmp_path):
    return Path(span_helpers.lay(tmp_path / "local", "tars", span_helpers.images()))


def samples(data):
    return [read(data.pipeline.source, n) for n in ALL]


@pytest.mark.parametrize("cache_bytes", [CACHE, 1 << 30])
@pytest.mark.parametrize("key", ["cells", "groups", "about", "cells/of blood.txt"])
def test_objects_that_are_called_as_the_cache_calls_its_own(
    key, cache_bytes, bucket, prefix, stored, opened, tars
):
    url = stored(tars) + ("/*.tar" if "/" in key else "")
    bucket.put(f"{prefix}/{key}", b"\1" * 200_000)
    for _ in range(2):
        assert samples(opened(url, cache_bytes=cache_bytes)) == span_helpers.images()


@pytest.mark.parametrize("cache_bytes", [CACHE, 1 << 30])
def test_a_star_alone_is_all_objects_and_nothing_of_the_cache(stored, opened, tars, cache_bytes):
    data = opened(stored(tars) + "/*", cache_bytes=cache_bytes)
    assert samples(data) == span_helpers.images()


def test_a_key_that_is_a_folder_of_others(bucket, prefix, stored, opened, tars):
    url = stored(tars)
    bucket.put(f"{prefix}/0.tar/some/more", b"x")
    with pytest.raises(SourceError) as error:
        opened(url)
    assert str(error.value) == (
        f"{url}: key '0.tar' is a folder of others, too, and cannot be a file; rename it"
    )


@pytest.mark.parametrize("again", ["pickled", "removed"])
def test_an_object_that_changes_under_way_is_never_mixed_in(
    again, bucket, prefix, stored, opened, tars
):
    """Of the same size; asked for by somebody who has seen nothing of it before."""
    url = stored(tars)
    data = opened(url)
    access = data.pipeline.source.remote.access
    for n in range(4):
        other = bytes(byte ^ 1 for byte in (tars / f"{n}.tar").read_bytes())
        bucket.put(f"{prefix}/{n}.tar", other)
    shutil.rmtree(access.entry.folder)
    if again == "pickled":
        data = pickle.loads(pickle.dumps(data))
    with pytest.raises(ObjectChangedError) as error:
        samples(data)
    assert str(error.value) == (
        f"{url}/0.tar: has changed since the data set was opened (another ETag); open it again"
    )


def test_an_object_that_changes_before_the_first_look(
    bucket, prefix, stored, opened, tars, monkeypatch
):
    url, look = stored(tars), first_look.parts

    def changed(*given, **more):
        bucket.put(f"{prefix}/2.tar", bytes((tars / "2.tar").stat().st_size))
        return look(*given, **more)

    monkeypatch.setattr(first_look, "parts", changed)
    with pytest.raises(ObjectChangedError, match=f"^{url}/2.tar: has changed since"):
        opened(url)


def test_who_has_it_open_too_may_end_during_a_first_look(stored, opened, tmp_path, monkeypatch):
    images, part, other_ended = span_helpers.images(), first_look.part, threading.Event()
    (tmp_path / "local").mkdir()
    for n, image in enumerate(images):
        members = [(f"{n}.jpg", image), (f"{n}.cls", b"1")]
        put(tmp_path / "local" / f"{n:02}.tar", members, tarfile.GNU_FORMAT)
    url, first = stored(tmp_path / "local"), threading.Lock()

    def looked(*given):
        if first.acquire(blocking=False):
            with pytest.raises(SourceError):
                opened(url, format="parquet")
            gc.collect()
            other_ended.set()
        assert other_ended.wait(30)
        return part(*given)

    monkeypatch.setattr(first_look, "part", looked)
    assert samples(opened(url)) == images


def test_a_look_that_was_interrupted_goes_on_with_captions(stored, opened, tmp_path, monkeypatch):
    (tmp_path / "local").mkdir()
    for n, image in enumerate(span_helpers.images()[:4]):
        members = [(f"{n}.jpg", image), (f"{n}.txt", b"no. %d" % n)]
        put(tmp_path / "local" / f"{n}.tar", members, tarfile.GNU_FORMAT)
    url, part, looked = stored(tmp_path / "local"), first_look.part, []

    def interrupted(path, *given):
        if path.endswith("2.tar"):
            raise KeyboardInterrupt
        return part(path, *given)

    def counted(path, *given):
        looked.append(Path(path).name)
        return part(path, *given)

    small = {"cache_bytes": PIECE, "target": "txt"}
    monkeypatch.setattr(first_look, "part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        opened(url, **small)
    monkeypatch.setattr(first_look, "part", counted)
    data = opened(url, **small)
    assert sorted(looked) == ["2.tar", "2.tar", "3.tar", "3.tar"]  # the images, and the captions
    assert [data[n][1] for n in range(4)] == [f"no. {n}" for n in range(4)]


def test_an_object_may_be_called_as_a_pattern(bucket, prefix, opened, tars):
    bucket.put(f"{prefix}/{{0..1}}.tar", (tars / "3.tar").read_bytes())
    source = opened(f"s3://{bucket.name}/{prefix}/{{0..1}}.tar").pipeline.source
    assert read(source, 0) == span_helpers.images()[15]


def test_another_process_may_be_in_another_folder(stored, opened, tars, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    kept = pickle.dumps(opened(stored(tars), cache="disk"))
    monkeypatch.chdir(tmp_path)
    data = pickle.loads(kept)
    assert samples(data) == span_helpers.images()
    stored_as = DataLoader(data).stats()["store"]
    assert stored_as["data_images"] == span_helpers.COUNT


def test_an_epoch_that_was_dropped_leaves_nothing_planned(stored, opened, tars):
    data = opened(stored(tars), cache_bytes=100_000)
    access = data.pipeline.source.remote.access
    shutil.rmtree(access.entry.folder)  # of what the first look has left
    epoch = iter(DataLoader(data, 2, num_workers=1))
    next(epoch)
    whole = access.whole
    assert whole
    del epoch
    gc.collect()
    assert not whole


def test_a_store_that_lists_other_etags_than_it_answers_with(stored, opened, tmp_path, monkeypatch):
    listed = Store.list

    def others(store, *arguments, **options):
        objects = listed(store, *arguments, **options)
        return [each._replace(etag=f"listed {each.etag}") for each in objects]

    monkeypatch.setattr(Store, "list", others)
    where = span_helpers.lay(tmp_path / "local", "tars", span_helpers.images())
    want = batches(fastload.open(where, OPS), shuffle=False)
    assert batches(opened(stored(where)), shuffle=False) == want


def test_a_folder_around_a_data_set_is_told_before_it_is_brought(
    bucket, prefix, shards, opened, tmp_path
):
    for file in shards.iterdir():
        bucket.put(f"{prefix}/train/{file.name}", file.read_bytes())
    url = f"s3://{bucket.name}/{prefix}"
    with pytest.raises(SourceError) as error:
        opened(url)
    assert str(error.value) == (
        f"{url}: holds no images in folders of classes (got fastload's shards in train); give "
        f"{url}/train"
    )
    assert not (tmp_path / "disk").exists()
    bucket.put(f"{prefix}/train/0.jpg", b"x")  # a class may have other files, too
    assert len(opened(url, cache_bytes=1 << 30)) == 1
