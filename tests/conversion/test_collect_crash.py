"""Collecting seek indexes: whatever is killed, full or done twice at once, pixels and what is in
the cache are right.
"""

import itertools
import os
import shutil
import signal
import threading

import pytest

from fastload import _native
from fastload.conversion import verify
from fastload.sources import seek_merge
from tests.ways import ways_taken

from .collect_helpers import MERGED, cache_of, epochs, make, photographs, pixels, stored


@pytest.fixture
def data(tools, tmp_path):
    return photographs(tools, tmp_path)


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_in_the_middle_of_an_epoch(tools, data, workers):
    def work():
        for number, _ in enumerate(make(data, workers=workers)):
            if number == 2:
                os.kill(os.getpid(), signal.SIGKILL)

    assert tools.in_child(work) == -signal.SIGKILL
    (log,) = os.listdir(cache_of(data))
    kept = len(_native.read_seek_log(f"{cache_of(data)}/{log}", 0)[2])
    assert 12 <= kept <= 24
    with open(f"{cache_of(data)}/{log}", "r+b") as file:  # the kill came in the middle of a write
        file.truncate(os.fstat(file.fileno()).st_size - 9)
    loader = make(data)
    assert pixels(loader) == pixels(make(data, "off"))
    assert loader.decodes() == ways_taken(indexed=kept - 1, whole=25 - kept)
    assert stored(data) == kept - 1
    del loader
    assert epochs(data, 1)[1:] == (24, 0)
    assert sorted(os.listdir(cache_of(data))) == MERGED


def stored_after_every_kill(tools, data, monkeypatch, most):
    """Numbers of indexes that are stored when an epoch that merges is killed before each of its
    system calls in turn; `most`: at its end.

    The next run finds all images, and nothing stays that nobody reads.
    """
    want = pixels(make(data, "off"))
    before = shutil.copytree(cache_of(data), f"{cache_of(data)}-before")
    seen = set()
    for k in itertools.count(1):
        shutil.rmtree(cache_of(data))
        shutil.copytree(before, cache_of(data))

        def work(k=k):
            with monkeypatch.context() as patch:
                tools.kill_at(patch, k)
                return epochs(data, 1)[1]

        said = tools.in_child(work)
        seen.add(stored(data))
        assert epochs(data, 1) == (want, most, 0)
        assert sorted(os.listdir(cache_of(data))) == MERGED
        assert verify.verify(verify.prepare(str(data)), 1).damages == ()
        if said == most:
            return seen
        assert said == -signal.SIGKILL
    raise AssertionError


@pytest.mark.long
def test_killed_at_every_call_of_a_merge(tools, data, monkeypatch):
    """What is stored only grows."""
    assert tools.in_child(lambda: len(pixels(make(data)))) == 6
    assert stored_after_every_kill(tools, data, monkeypatch, 24) == {0, 24}


@pytest.mark.long
def test_killed_at_every_call_of_a_second_merge(tools, data, monkeypatch):
    """The old index holds until the new one is there."""
    extra = {f"c/{n}.jpg": tools.encode(30 + n, 33, n, quality=70) for n in range(12)}
    assert tools.in_child(lambda: epochs(data, 2)[1]) == 24
    tools.write_tree(data, extra)
    assert tools.in_child(lambda: len(pixels(make(data)))) == 9
    assert len(os.listdir(cache_of(data))) == 4
    assert stored_after_every_kill(tools, data, monkeypatch, 36) == {24, 36}


def test_processes_at_once(tools, data):
    """Four processes, three epochs each, start together: all see the same pixels, and the cache
    ends whole.
    """
    off = make(data, "off")
    want = [pixels(off) for _ in range(3)][-1]
    found = [None] * 4

    def run(number):
        found[number] = tools.in_child(lambda: epochs(data, 3, workers=number % 2))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one[0] == want, one[2]) for one in found] == [(True, 0)] * 4
    assert all(one[1] >= 24 for one in found)
    assert stored(data) == 24
    assert epochs(data, 1)[1:] == (24, 0)
    assert sorted(os.listdir(cache_of(data))) == MERGED


def test_replaced_indexes_do_not_pile_up(tools, data, monkeypatch):
    monkeypatch.setattr(seek_merge, "GARBAGE", 500)
    sizes = []
    for round_ in range(8):
        tools.write_tree(
            data,
            {
                f"{'ab'[n % 2]}/{n:02d}.jpg": tools.encode(20 + n, 41 + round_ % 2, n, quality=70)
                for n in range(24)
            },
        )
        assert epochs(data, 2)[1] >= 24
        assert stored(data) == 24
        sizes.append(os.path.getsize(f"{cache_of(data)}/fastload.seek"))
    assert max(sizes) < 3 * sizes[0]
    assert verify.verify(verify.prepare(str(data)), 1).damages == ()
