"""Requests: what is tried again, what is an error at once, and how each error reads."""

import re
import socket
import time

import pytest

from fastload.errors import (
    ObjectChangedError,
    SourceError,
    StoreAccessError,
    StoreError,
    StoreTimeoutError,
)
from fastload.remote.stores import GivenUpError, Store
from fastload.remote.traffic import Throttle
from fastload.remote.urls import of_path, parse

NAME = "shards/index.arrow"


@pytest.fixture
def store(web):
    return Store(parse(f"{web.url}/shards?signature=hidden"), deadline=0.6)


def test_ranges_and_whole_objects(store, shards):
    content = (shards / "index.arrow").read_bytes()
    whole = store.get("index.arrow")
    assert (bytes(whole.data), whole.size) == (content, len(content))
    part = store.get("index.arrow", (100, 300), whole.etag)
    assert (bytes(part.data), part.size, part.etag) == (content[100:300], len(content), whole.etag)
    assert bytes(store.get("index.arrow", (100, 1 << 40)).data) == content[100:]
    assert store.traffic.as_dict() | {"latency_s": 0} == {
        "requests": 3, "retries": 0, "hedged": 0, "bytes": 2 * len(content) + 100,
        "found": 0, "waited_s": 0.0, "latency_s": 0,
    }  # fmt: skip


@pytest.mark.parametrize("fault", ["503", "500", "429", "reset", "short", "wrong"])
def test_what_passes_is_tried_again(web, store, shards, fault):
    web.faults = lambda _, number: fault if number < 2 else ""
    got = store.get("index.arrow", (0, 500))
    assert bytes(got.data) == (shards / "index.arrow").read_bytes()[:500]
    assert (store.traffic.requests, store.traffic.retries) == (1, 2)


@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        (
            "403",
            StoreAccessError,
            "access is denied (403 Forbidden); check the rights of the credentials",
        ),
        (
            "401",
            StoreAccessError,
            "there are no credentials that the store takes (401 Unauthorized); renew or set them",
        ),
        (
            "404",
            StoreError,
            "is not there (404 Not Found); check the URL, or restore the object",
        ),
        (
            "412",
            ObjectChangedError,
            "has changed since the data set was opened (412 Precondition Failed); open it again",
        ),
        (
            "301",
            StoreAccessError,
            (
                "the bucket is in another region (Received redirect without LOCATION, this "
                "normally indicates an incorrectly configured region); set AWS_REGION to its own"
            ),
        ),
    ],
)
def test_what_stays_is_an_error_at_once(web, store, fault, error, text):
    web.faults = lambda *_: fault
    with pytest.raises(error) as raised:
        store.get("index.arrow", (0, 10))
    assert str(raised.value) == f"{web.url}/{NAME}: {text}"
    assert type(raised.value) is error
    assert web.counts[NAME] == 1


@pytest.mark.parametrize("fault", ["503", "hang", "short"])
def test_a_deadline_names_the_object(web, store, fault):
    web.faults = lambda *_: fault
    begin = time.monotonic()
    with pytest.raises(StoreTimeoutError) as raised:
        store.get("index.arrow", (0, 10))
    assert str(raised.value).startswith(f"{web.url}/{NAME}: nothing whole came within 0.6 s (")
    assert str(raised.value).endswith("); check the store, or give a longer deadline")
    assert "hidden" not in str(raised.value)
    assert time.monotonic() - begin < 30


def test_an_object_that_has_changed(web, store, tmp_path, shards):
    web.folder = tmp_path
    (tmp_path / "shards").mkdir()
    file = tmp_path / "shards" / "one"
    file.write_bytes(b"a" * 100)
    etag = store.get("one", (0, 10)).etag
    file.write_bytes(b"b" * 101)
    with pytest.raises(ObjectChangedError):
        store.get("one", (0, 10), etag)


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a"
    with pytest.raises(StoreTimeoutError) as raised:
        Store(parse(url), deadline=0.3).get("b")
    assert str(raised.value).startswith(f"{url}/b: nothing whole came within 0.3 s (")


def test_waiting_can_be_given_up(web, store):
    web.faults = lambda *_: "503"
    with pytest.raises(GivenUpError):
        store.get("index.arrow", given_up=lambda: web.counts[NAME] > 1)


def test_keys_of_any_characters(web, tmp_path):
    web.folder = tmp_path
    names = ("with space", "50%25 off", "ünïcode", "a+b&c=d", "#1")
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    for name in names:
        assert bytes(Store(parse(web.url)).get(name).data) == name.encode()


def test_local_files_and_memory(tmp_path):
    (tmp_path / "new").mkdir()
    for url in (of_path(str(tmp_path / "new")), "memory://box/new"):
        store = Store(parse(url))
        (tmp_path / "file").write_bytes(b"0123456789")
        store.put("a/b", str(tmp_path / "file"))
        got = store.get("a/b", (2, 5))
        assert (bytes(got.data), got.size) == (b"234", 10)
        assert [(each.key, each.size) for each in store.list()] == [("a/b", 10)]
        with pytest.raises(StoreError, match=r"is not there \("):
            store.get("a/c")
        with pytest.raises(StoreError) as raised:
            store.list(most=0)
        assert str(raised.value) == (
            f"{store.url.shown}: holds more than 0 objects; give a longer prefix, or convert them "
            "to shards where they lie"
        )


def test_a_limit_of_bytes_per_second(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("fastload.remote.traffic.time.monotonic", lambda: now[0])
    throttle = Throttle(1000.0)
    now[0] += 10  # what was not used is lost, but for a moment's
    assert throttle.delay(250) == 0.0
    assert throttle.delay(500) == 0.0
    assert throttle.delay(500) == pytest.approx(0.5)
    assert throttle.delay(500) == pytest.approx(1.0)
    now[0] += 1.5
    assert throttle.delay(100) == 0.0
    assert Throttle(0).delay(1 << 40) == 0.0


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(SourceError) as raised:
        Store(parse("s3://bucket/a")).get("b")
    assert str(raised.value) == (
        's3://bucket/a: needs obstore (not installed); pip install "fastload-torch[remote]"'
    )


def test_options_that_the_library_does_not_know():
    with pytest.raises(SourceError) as raised:
        Store(parse("s3://bucket/a"), {"colour": "blue"}).get("b")
    assert re.fullmatch(
        r"s3://bucket/a: obstore does not take the URL or its options \(.*\); check both",
        str(raised.value),
    )
