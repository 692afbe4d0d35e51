"""Loaders over data in a store give what they give over the same data on the local disk."""

import gc
import pickle
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fastload
from fastload import DataLoader, DistributedSampler, ShuffleSampler
from fastload.conversion.seek_writer import COEFFICIENTS
from fastload.errors import ObjectChangedError, SourceError, StoreError, StoreTimeoutError
from fastload.sources import read
from tests.remote.conftest import IMAGES, OPS, batches, descriptors
from tests.remote.kill_release import converted
from tests.remote.web import serving

SMALL = 256 << 10  # bytes of a cache that holds a third of the data set


@pytest.fixture
def far(web, tmp_path):
    def opened(**options):
        url = f"{web.url}/shards?signature=hidden"
        return fastload.open(url, OPS, **({"cache": tmp_path / "disk"} | options))

    return opened


def labels(epoch):
    return [label for part, _ in epoch for label in part]


def asked_for(web) -> int:
    return sum(end - first for path, first, end in web.asked if path.endswith((".tar", ".seek")))


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": True},
        {"shuffle": True, "seed": None},
        {"shuffle": False},
        {"shuffle": True, "workers": 0},
        {"shuffle": None, "sampler": [5, 59, 5, 0, 33, 7, 8, 9]},
        {"shuffle": True, "backend": "torch", "workers": 0},
    ],
)
def test_the_same_batches(shards, far, web, options):
    import torch

    torch.manual_seed(11)
    want = batches(fastload.open(shards, OPS), **options)
    torch.manual_seed(11)
    data = far()
    assert batches(data, **options) == want
    if options["shuffle"]:
        # Each byte comes once: all of the shards and their sidecars, and no more.
        index = data.pipeline.source.index
        whole = sum(file.bytes for file in index.shards)
        assert whole <= asked_for(web) <= whole + sum(file.bytes for file in index.sidecars)
    before = len(web.asked)
    torch.manual_seed(11)
    assert batches(data, **options) == want
    assert not [path for path, _, _ in web.asked[before:] if path.endswith(".tar")]


def test_a_second_process_and_a_second_run_ask_for_nothing(far, web, shards, tmp_path):
    data = far()
    want = batches(data)
    # What the epoch has planned beyond its samples, such as sidecars, comes after its end
    end = time.monotonic() + 30
    while time.monotonic() < end and data.pipeline.source.remote.access.share_there() < 1:
        time.sleep(0.01)
    before = len(web.asked)
    assert batches(far()) == want
    assert [path for path, _, _ in web.asked[before:]] == ["shards/index.arrow.xxh3"]
    again = pickle.loads(pickle.dumps(far()))
    assert batches(again) == want


def test_coefficient_layers(tmp_path):
    converted(tmp_path, 12, COEFFICIENTS)
    with serving(tmp_path) as web:
        data = fastload.open(f"{web.url}/shards", OPS, cache=tmp_path / "disk")
        assert batches(data) == batches(fastload.open(tmp_path / "shards", OPS))


def test_a_local_folder_through_the_cache(shards, tmp_path):
    data = fastload.open(shards, OPS, cache=tmp_path / "disk")
    assert data.pipeline.source.name(0).startswith(f"{shards}/shard-000000.tar:")
    assert batches(data) == batches(fastload.open(shards, OPS))


def test_a_cache_that_is_too_small_for_the_data(far, web):
    data = far(cache_bytes=SMALL)
    loader = DataLoader(data, 4, shuffle=True, seed=1, num_workers=2)
    assert loader.sampler.window == SMALL // 4
    for _ in range(2):
        assert sorted(labels(batches(data))) == sorted(data.targets)
    access = data.pipeline.source.remote.access
    assert 0 < access.share_there() < 1
    # What batches under way need may be beyond the limit, for a moment.
    assert asked_for(web) > 1.2 * access.layout.bytes
    assert access.entry.leased == {} or gc.collect() >= 0


def test_blocks_are_the_same_for_all_ranks_and_batch_sizes(far):
    data = far(cache_bytes=SMALL)
    orders = []
    for world in (1, 2, 3, 4):
        samplers = [ShuffleSampler(data, 5, num_replicas=world, rank=rank) for rank in range(world)]
        shares = [list(sampler) for sampler in samplers]
        assert len({len(share) for share in shares}) == 1
        order = [share[step] for step in range(len(shares[0])) for share in shares]
        orders.append(order[:IMAGES])
        parts = [
            [
                int(sample)
                for part in DistributedSampler(data, world, rank, seed=5).batches(4)
                for sample in part.samples
            ]
            for rank in range(world)
        ]
        assert parts == shares
    assert all(order == orders[0] for order in orders)
    assert sorted(orders[0]) == list(range(IMAGES))
    one, two = ShuffleSampler(data, 5), ShuffleSampler(data, 5)
    two.set_epoch(1)
    assert list(one) != list(two)
    assert list(ShuffleSampler(data, 5, window=0)) == list(ShuffleSampler(IMAGES, 5))


def test_exact_resume_with_a_small_cache_and_another_world(far, tmp_path):
    data = far(cache_bytes=SMALL)

    def epoch(world, rank, batch, state=None, take=None):
        sampler = DistributedSampler(data, world, rank, seed=9)
        loader = DataLoader(data, batch, sampler=sampler, num_workers=2, seed=4)
        if state is not None:
            loader.load_state_dict(state)
        out = []
        for images, target in loader:
            out.append((images.numpy().copy(), target.tolist()))
            if take is not None and len(out) == take:
                return out, loader.state_dict()
        return out, None

    whole, _ = epoch(1, 0, 12)
    for take in (1, 3):
        _head, state = epoch(1, 0, 12, take=take)
        shares = [epoch(2, rank, 6, state)[0] for rank in (0, 1)]
        for step, (images, target) in enumerate(whole[take:]):
            for rank in (0, 1):
                got = shares[rank][step]
                assert got[1] == target[rank::2]
                assert np.array_equal(got[0], images[rank::2])


def test_first_batch_needs_four_round_trips(far, web):
    web.latency = 0.15
    begin = time.monotonic()
    data = far(cache_bytes=SMALL)
    next(iter(DataLoader(data, 4, shuffle=True, seed=1, num_workers=1)))
    # Sum, index, samples: three, and a machine that is busy
    assert web.counts["shards/index.arrow"] == web.counts["shards/index.arrow.xxh3"] == 1
    assert time.monotonic() - begin < 30


def test_what_passes_is_not_seen(shards, far, web):
    kinds = ("503", "reset", "short", "wrong", "flip", "429", "")
    web.faults = lambda path, number: kinds[(number + len(path)) % 7] if number < 9 else ""
    assert batches(far()) == batches(fastload.open(shards, OPS))


def test_a_batch_that_cannot_come_is_an_error_and_the_epoch_goes_on(far, web):
    data = far()
    web.faults = lambda path, _: "404" if path.endswith("000001.tar") else ""
    loader = DataLoader(data, 1, num_workers=2)
    good, errors, iterator = [], [], iter(loader)
    for _ in range(IMAGES):
        try:
            good.append(next(iterator)[1].tolist())
        except StoreError as error:
            errors.append(str(error))
    with pytest.raises(StopIteration):
        next(iterator)
    location = data.pipeline.source.locate(np.arange(IMAGES))
    bad = int((location.file == 1).sum())
    assert (len(errors), len(good)) == (bad, IMAGES - bad)
    assert set(errors) == {
        (
            f"{web.url}/shards/shard-000001.tar: is not there (404 Not Found); check the URL, or "
            "restore the object"
        )
    }
    web.faults = lambda *_: ""
    assert sorted(labels(batches(data))) == sorted(data.targets)


def test_bytes_that_are_not_what_the_index_says(far, web):
    data = far()
    web.faults = lambda path, _: "flip" if path.endswith(".tar") else ""
    with pytest.raises(
        StoreError, match=r"is not what its index says \(bytes \d+ to \d+ have "
    ) as one:
        batches(data)
    assert str(one.value).endswith("); convert again, or restore the object")
    assert data.pipeline.source.remote.access.share_there() < 0.5


def test_a_shard_of_another_size(far, web):
    data = far()
    web.faults = lambda path, _: "longer" if path.endswith(".tar") else ""
    with pytest.raises(ObjectChangedError, match="has another size than its index says"):
        batches(data)


def test_an_object_that_changes_during_an_epoch(shards, web, far, tmp_path):
    shutil.copytree(shards, tmp_path / "served" / "shards")
    web.folder = tmp_path / "served"
    data = far()
    read(data.pipeline.source, 0)
    name = Path(data.pipeline.source.files.path(0)).name
    (web.folder / "shards" / name).touch()
    with pytest.raises(ObjectChangedError) as raised:
        batches(data, shuffle=False)
    assert str(raised.value) == (
        f"{web.url}/shards/{name}: has changed since the data set was opened (412 Precondition "
        "Failed); open it again"
    )


def test_an_index_that_is_damaged_or_gone(web, far):
    web.faults = lambda path, _: "flip" if path.endswith("index.arrow") else ""
    with pytest.raises(SourceError, match=r"/shards/index.arrow: is damaged \(checksum got "):
        far()
    web.faults = lambda path, _: "404" if path.endswith("index.arrow") else ""
    with pytest.raises(StoreError, match=r"index\.arrow: is not there"):
        far()


def test_a_store_that_hangs_ends_at_the_deadline(far, web):
    data = far(deadline=1.0)
    web.faults = lambda path, _: "hang" if path.endswith(".tar") else ""
    with pytest.raises(StoreTimeoutError, match="nothing whole came within 1 s"):
        batches(data)


def test_a_timeout_of_the_loader(far, web):
    data = far()
    web.faults = lambda path, _: "hang" if path.endswith(".tar") else ""
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        batches(data, timeout=1)


def test_a_slow_request_is_sent_again(far, web, monkeypatch):
    from fastload.remote import crew

    monkeypatch.setattr(crew, "SLOW_S", 0.1)
    monkeypatch.setattr(crew, "SLOW", 0.0)  # a busy machine makes the usual time long
    web.faults = lambda path, number: "hang" if path.endswith("2.tar") and not number else ""
    data = far()
    assert sorted(labels(batches(data))) == sorted(data.targets)
    assert data.pipeline.source.remote.access.store.traffic.hedged >= 1


def test_nothing_is_left(far, web):
    batches(far())
    gc.collect()
    before, threads = descriptors(), threading.active_count()
    for _ in range(3):
        iterator = iter(DataLoader(far(), 4, shuffle=True, seed=1, num_workers=2))
        next(iterator)
        del iterator
        gc.collect()
    end = time.monotonic() + 20
    while time.monotonic() < end and not (
        threading.active_count() <= threads and descriptors() <= before
    ):
        time.sleep(0.05)  # threads that fetch end after their requests
    assert threading.active_count() <= threads
    assert descriptors() <= before


def test_local_arguments_that_make_no_sense(shards):
    with pytest.raises(fastload.UsageError) as raised:
        fastload.open(shards, cache_bytes=1, deadline=2)
    assert str(raised.value) == (
        "open: cache_bytes and deadline given for a local path; leave it out, or give cache="
    )
    with pytest.raises(SourceError) as missing:
        fastload.open(shards / "none", cache="x")
    assert str(missing.value) == f"{shards / 'none'}: does not exist; check the path"
