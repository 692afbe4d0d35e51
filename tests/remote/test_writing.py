"""Conversions to a store: the same bytes as on the local disk, whatever goes wrong."""

import contextlib
import os
import random
import threading
import time

import pytest

import fastload
from fastload.conversion import job, verify
from fastload.errors import (
    ConversionError,
    SourceError,
    StoreAccessError,
    StoreTimeoutError,
)
from fastload.remote import by_obstore
from tests.remote import s3
from tests.remote.written import PLAIN, files


@pytest.fixture
def faulty(bucket):
    with s3.faulty(bucket) as server:
        yield server


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(by_obstore, "PART", 20_000)


def write(source, bucket, prefix, endpoint="", **options):
    options = {**PLAIN, "storage_options": bucket.options(endpoint), **options}
    return job.run(job.prepare(str(source), f"s3://{bucket.name}/{prefix}", job.Options(**options)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seek_step": None, "shuffle": None, "workers": 5},
        {"shard_bytes": 1 << 30, "transcode": True, "on_error": "substitute"},
    ],
)
def test_the_same_bytes_as_on_the_local_disk(
    bucket, prefix, images, tmp_path, monkeypatch, options
):
    local = job.run(job.prepare(images, str(tmp_path / "local"), job.Options(**PLAIN | options)))
    stored = write(images, bucket, prefix, scratch=str(tmp_path / "scratch"), **options)
    assert stored == local
    assert bucket.contents(prefix) == files(tmp_path / "local")
    assert (bucket.uploads(), os.listdir(tmp_path / "scratch")) == ([], [])
    for name, value in bucket.environment().items():
        monkeypatch.setenv(name, value)
    url = f"s3://{bucket.name}/{prefix}"
    assert verify.verify(verify.prepare(url)).damages == ()
    assert len(fastload.open(url)) == local.samples


def test_bad_images_and_a_shard_without_any(bucket, prefix, tmp_path, encode, make_image):
    """The shards behind it get other names at the end."""
    for number in range(40):
        path = tmp_path / "in" / "class" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        good = encode(make_image(60, 80, number), quality=92)
        path.write_bytes(bytes(len(good)) if 8 <= number < 24 or number == 30 else good)
    options = {"shard_bytes": 20_000, "on_error": "skip", "shuffle": None}
    how = job.Options(**PLAIN | options)
    local = job.run(job.prepare(str(tmp_path / "in"), str(tmp_path / "local"), how))
    stored = write(tmp_path / "in", bucket, prefix, **options)
    assert stored == local
    assert 0 < local.shards < job.prepare(str(tmp_path / "in"), "none", how).plan.shards
    want = files(tmp_path / "local")
    assert "bad_samples.jsonl" in want
    assert bucket.contents(prefix) == want


def test_the_local_disk_holds_two_shards_of_each_worker(bucket, faulty, prefix, images, tmp_path):
    """One is made while one is uploaded, however slow the store is."""
    faulty.seen = lambda method, _: time.sleep(0.01 * (method == "PUT"))
    most, done = [0], threading.Event()

    def watch():
        while not done.is_set():
            with contextlib.suppress(OSError):
                most[0] = max(most[0], len(list((tmp_path / "scratch").rglob("*.tar"))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        said = write(
            images, bucket, prefix, faulty.url, scratch=str(tmp_path / "scratch"),
            shard_bytes=32 << 10,
        )  # fmt: skip
    finally:
        done.set()
        watcher.join()
    assert said.shards > 12
    assert 2 <= most[0] <= 4


@pytest.mark.parametrize("seed", [1, pytest.param(0, marks=pytest.mark.long)])
def test_what_passes_is_tried_again(bucket, faulty, prefix, images, shards, seed):
    chance = random.Random(seed)
    kinds = ("503", "429", "reset", "late", *[""] * 6)
    faulty.faults = lambda *_: chance.choice(kinds)
    said = write(images, bucket, prefix, faulty.url)
    assert sum(faulty.injected.values()) > 20
    assert bucket.contents(prefix) == files(shards)
    assert not bucket.uploads() or said.notes  # what could not be ended, is said


def test_a_store_that_fails_for_ever_and_resume(bucket, faulty, prefix, images, shards, tmp_path):
    def fault(method, key, _):
        return "503" if method in ("PUT", "POST") and key == "shard-000003.tar" else ""

    faulty.faults, begin = fault, time.monotonic()
    how = {"scratch": str(tmp_path / "scratch"), "workers": 1}
    with pytest.raises(StoreTimeoutError) as raised:
        write(images, bucket, prefix, faulty.url, deadline=0.5, **how)
    assert str(raised.value).startswith(
        f"s3://images/{prefix}/shard-000003.tar: was not taken within 0.5 s ("
    )
    assert str(raised.value).endswith(
        "the last: 503 Service Unavailable SlowDown); check the store, and go on with --resume"
    )
    assert time.monotonic() - begin < 30
    with pytest.raises(SourceError) as raised:
        fastload.open(f"s3://images/{prefix}", storage_options=bucket.options())
    assert str(raised.value) == (
        f"s3://images/{prefix}: shards without index.arrow.xxh3, so a conversion did not finish; "
        "run fastload convert again"
    )
    faulty.faults = lambda *_: ""
    faulty.counts.clear()
    said = write(images, bucket, prefix, faulty.url, resume=True, **how)
    assert said.resumed > 0
    assert faulty.counts["PUT", "shard-000000.tar"] == 0
    assert bucket.contents(prefix) == files(shards)
    again = write(images, bucket, prefix, faulty.url, resume=True, **how)
    assert (again.whole, again.samples) == (True, said.samples)


def test_what_was_changed_meanwhile_is_made_again(bucket, faulty, prefix, images, shards, tmp_path):
    faulty.faults = lambda _, key, __: "403" if key == "index.arrow" else ""
    with pytest.raises(StoreAccessError) as raised:
        write(images, bucket, prefix, faulty.url)
    assert str(raised.value) == (
        f"s3://images/{prefix}/index.arrow: access is denied (403 Forbidden AccessDenied); check "
        "the rights of the credentials"
    )
    first = bucket.read(f"{prefix}/shard-000000.tar")
    bucket.put(f"{prefix}/shard-000000.tar", first[::-1])
    bucket.client.delete_object(Bucket="images", Key=f"{prefix}/shard-000001.seek")
    faulty.faults = lambda *_: ""
    said = write(images, bucket, prefix, faulty.url, resume=True)
    assert 0 < said.resumed < said.samples
    assert bucket.contents(prefix) == files(shards)


def test_the_old_data_set_is_whole_until_the_new_one_is_there(
    bucket, faulty, prefix, images, shards, tmp_path
):
    old = {"shuffle": None, "shard_bytes": 64 << 10}
    write(images, bucket, prefix, **old)
    before, states = bucket.contents(prefix), []

    def seen(method, key):
        """Before anything is removed or copied, all of both is there."""
        if not states and (method == "COPY" or (method == "POST" and not key.startswith("."))):
            there = bucket.contents(prefix)
            states.append((before.items() <= there.items(), set(there.values())))

    with pytest.raises(ConversionError) as raised:
        write(images, bucket, prefix)
    assert str(raised.value) == (
        f"s3://images/{prefix}: holds a data set already; give another prefix, or --overwrite to "
        "replace it"
    )
    assert bucket.contents(prefix) == before
    faulty.seen = seen
    write(images, bucket, prefix, faulty.url, overwrite=True)
    shard_bytes = {data for name, data in files(shards).items() if name.startswith("shard-")}
    assert states[0][0]
    assert shard_bytes <= states[0][1]
    assert bucket.contents(prefix) == files(shards)


def test_bad_samples_leave_nothing(bucket, prefix, shards, tmp_path):
    """Of what was uploaded before the first of them was found."""
    source = tmp_path / "in"
    for path in (shards.parent / "images").rglob("*.jpg"):
        (source / path.parent.name).mkdir(parents=True, exist_ok=True)
        (source / path.parent.name / path.name).write_bytes(path.read_bytes())
    last = sorted(source.rglob("*.jpg"))[-1]
    last.write_bytes(last.read_bytes()[:500])
    how = {"workers": 1, "shuffle": None, "scratch": str(tmp_path / "scratch")}
    with pytest.raises(ConversionError, match=f"^s3://images/{prefix}: 1 of 60 samples are bad"):
        write(source, bucket, prefix, **how)
    assert bucket.contents(prefix) == {}
    assert not (tmp_path / "scratch").exists()


def test_another_conversion_to_the_same_place(bucket, prefix, images, shards, tmp_path):
    """The first one notices it before it would put its index there."""
    others, alone = [], threading.Lock()

    def advance(*_):
        with alone:
            if not others:
                others.append(write(images, bucket, prefix, scratch=str(tmp_path / "other")))

    how = job.Options(**PLAIN, storage_options=bucket.options())
    with pytest.raises(ConversionError) as raised:
        job.run(job.prepare(images, f"s3://images/{prefix}", how), advance)
    assert str(raised.value) == (
        f"s3://images/{prefix}: another conversion has begun to write there; wait for it or give "
        "another prefix"
    )
    assert bucket.contents(prefix) == files(shards)
