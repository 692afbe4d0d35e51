"""What a report says of a store: how it is said, and what is counted."""

from dataclasses import replace

import pytest

import fastload
from fastload.profiler import stored
from fastload.profiler.stored import GIB, MIB, FromStore
from fastload.transforms import RandomResizedCrop, ToImage
from tests.remote.kill_release import converted
from tests.remote.web import serving

FOUND = FromStore(
    "s3://bucket/data", 10.0, 8192, 200, 3, 800 * MIB, 6.0, 0.05, 1_000_000, 100 * GIB, 200 * GIB,
    0.25,
)  # fmt: skip


def test_the_lines_of_a_first_epoch():
    came, ahead, needed = stored.lines(FOUND, 2000.0)
    assert came == (
        "Store s3://bucket/data: 80 MiB/s in 200 requests of 4 MiB, 3 of them tried again; latency "
        "50 ms; batches waited 60 % of the time."
    )
    assert ahead == (
        "The first epoch asks for 75 GiB more of 100 GiB (25,600 requests); later ones for "
        "nothing, since the cache may hold all."
    )
    assert needed == (
        "The step takes 2,000 images/s, 205 MiB/s of 105 KiB each (computed), 2.6 times what came; "
        "a faster or nearer link, or smaller images (convert --max-side), would give more."
    )


def test_a_cache_that_is_too_small_is_priced():
    small = replace(FOUND, cache_bytes=10 * GIB)
    _, each = stored.lines(small, 100.0)
    assert each == (
        "Each epoch asks for up to 100 GiB (25,600 requests): the cache may take 10 GiB. With "
        "cache_bytes=107374182400 or more, epochs after the first ask for nothing."
    )
    assert stored.as_json(small)["requests_per_later_epoch"] == 25_600
    assert stored.as_json(FOUND)["bytes_per_later_epoch"] == 0


def test_small_requests_at_a_high_latency_are_named():
    slow = replace(FOUND, requests=8000, latency_s=0.075)  # 64 of 0.1 MiB in 75 ms: 85 MiB/s
    assert stored.lines(slow, 2000.0)[-1].endswith(
        "2.6 times what came; each of 64 connections waits 75 ms for each request: "
        "ShuffleSampler(..., window=2 << 30) asks for larger ones, and a nearer store answers "
        "sooner."
    )


def test_what_is_there_asks_for_nothing():
    there = replace(FOUND, cached_share=1.0, requests=0, bytes=0, waited_s=0.0, retries=0)
    assert stored.lines(there, 2000.0)[1:] == [
        "The cache has all 100 GiB: nothing more is asked for."
    ]
    assert stored.lines(None, 2000.0) == []
    assert stored.as_json(None) is None


@pytest.mark.long
def test_training_that_waits_for_a_store_is_told_so(tmp_path):
    converted(tmp_path)
    with serving(tmp_path) as web:
        data = fastload.open(
            f"{web.url}/shards", [RandomResizedCrop((24, 31)), ToImage()], cache=tmp_path / "disk",
            cache_bytes=1 << 16,
        )  # fmt: skip
        web.latency = 0.1
        loader = fastload.DataLoader(data, 4, shuffle=True, seed=0, num_workers=2)
        report = fastload.profile(loader, lambda _: None, seconds=6)
    assert report.verdict.headline == "READ-BOUND: store"
    text, found = str(report), report.to_json()["store"]
    assert "most of the loader's time is waiting for the store" in text
    assert f"Store {web.url}/shards: " in text
    assert found["requests"] > 0
    assert found["waited_share"] > 0.25
    assert found["bytes_per_later_epoch"] == found["data_bytes"] > found["cache_bytes"]


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_local_data_have_no_store(photos, backend):
    data = fastload.open(str(photos), [RandomResizedCrop((24, 31)), ToImage()])
    loader = fastload.DataLoader(data, 4, num_workers=0, backend=backend)
    counted = stored.Counted(loader)
    with counted:
        next(iter(loader))
    assert counted.found() is None
