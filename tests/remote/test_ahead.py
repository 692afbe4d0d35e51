"""What a batch asks for, and who waits for it."""

import shutil
import threading
import time

import numpy as np
import pytest

import fastload
from fastload import DataLoader, ShuffleSampler
from fastload.remote.fetching import Fetcher
from tests.remote.conftest import IMAGES, OPS


@pytest.fixture
def far(web, tmp_path):
    return lambda: fastload.open(f"{web.url}/shards", OPS, cache=tmp_path / "disk")


def test_the_first_batch_asks_for_its_own_samples_before_whole_groups(far, monkeypatch):
    planned = []
    monkeypatch.setattr(Fetcher, "plan", lambda _, stretches: planned.extend(stretches))
    data = far()
    _, target = next(iter(DataLoader(data, 4, shuffle=True, seed=1, num_workers=1)))
    access = data.pipeline.source.remote.access
    cells = np.array(list(ShuffleSampler(data, 1))[:4])
    assert [data.targets[cell] for cell in cells] == target.tolist()
    own = access.layout.stretches(cells)
    assert planned[: len(own)] == own
    groups = planned[len(own) :]
    assert max(last - begin for begin, last in groups) > 1


def test_who_waits_goes_on_with_the_entry_that_was_opened_anew(far, web):
    data = far()
    access, cells = data.pipeline.source.remote.access, np.arange(3)
    held, answers = access.hold(cells), []
    web.faults = lambda path, _: "hang" if path.endswith(".tar") else ""
    waiting = threading.Thread(target=lambda: answers.append(access.wait(cells)))
    waiting.start()
    while not access.fetcher.state.active:
        time.sleep(0.01)
    web.faults = lambda *_: ""
    shutil.rmtree(access.entry.folder)
    access.look()
    waiting.join(60)
    assert answers == [True]
    access.release(held)
    assert not access.fetcher.need(np.arange(IMAGES), 0.0)
    access.fetcher.close()
    assert not access.fetcher.need(np.arange(IMAGES), 60.0)  # at once: nobody brings them


def test_who_waits_opens_anew_what_was_removed(far):
    access, cells = far().pipeline.source.remote.access, np.arange(3)
    held, before = access.hold(cells), access.entry
    shutil.rmtree(access.entry.folder)
    assert access.wait(cells)
    assert access.entry is not before
    assert not len(access.entry.missing(cells))
    access.release(held)


def test_a_finalizer_releases_while_its_thread_leases(far):
    access = far().pipeline.source.remote.access
    first, second = (access.hold(np.array([cell])) for cell in (0, IMAGES - 1))
    with access.entry._lock:
        access.release(first)
        assert sorted(access.entry.leased) == sorted({*first.groups, *second.groups})
    access.release(second)
    assert not access.entry.leased


def test_finalizers_wait_for_nothing(far):
    """Garbage may be collected in a thread that another one waits for, with the lock."""
    fetcher = far().pipeline.source.remote.access.fetcher

    def finalize():
        fetcher.forget()
        fetcher.close()

    with fetcher.state.changed:
        thread = threading.Thread(target=finalize)
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
    assert fetcher.state.stopped
    assert not fetcher.state.plan
