"""The thread that is ahead of the caller: the GPU gets the next batch before anybody waits for the
one before.
"""

import queue
import threading
import time

import pytest

from fastload.engine.pace import Pace
from fastload.engine.sending import Sender
from tests.waiting import HANGS


def sender(items):
    started, told = queue.SimpleQueue(), []
    for item in items:
        started.put(item)

    def note(what):
        return lambda item: told.append((what, item)) or item

    return Sender(started, note("launch"), note("settle"), lambda: None, Pace()), started, told


def test_the_next_batch_is_launched_before_one_is_settled():
    made, _, told = sender([0, 1, 2, None])
    assert [made.finished.get(timeout=HANGS), made.finished.get(timeout=HANGS)] == [
        0,
        1,
    ]  # there is room for no more, until one is taken
    made.took()
    assert made.finished.get(timeout=HANGS) == 2
    made.thread.join(HANGS)
    assert told == [
        ("launch", 0),
        ("launch", 1),
        ("settle", 0),
        ("settle", 1),
        ("launch", 2),
        ("settle", 2),
    ]


def test_before_it_waits_for_room_it_settles_what_it_has():
    made, _, told = sender([0, 1, 2])
    assert [made.finished.get(timeout=HANGS), made.finished.get(timeout=HANGS)] == [
        0,
        1,
    ]  # nobody has taken one yet
    assert told == [("launch", 0), ("launch", 1), ("settle", 0), ("settle", 1)]
    made.stop()
    made.thread.join(HANGS)


def test_a_batch_with_none_behind_it_is_settled_at_once():
    made, started, told = sender([0])
    assert made.finished.get(timeout=HANGS) == 0
    assert told == [("launch", 0), ("settle", 0)]
    started.put(None)
    made.thread.join(HANGS)
    assert not made.thread.is_alive()


@pytest.mark.parametrize("waiting", ["for its turn", "for room"])
def test_a_collection_in_its_own_thread_may_end_it(monkeypatch, waiting):
    """A lock that is made there may begin a collection, and that may find the iterator."""
    plain, pace, started, ended = threading._allocate_lock, Pace(), queue.SimpleQueue(), []
    made = Sender(started, lambda item: item, lambda item: item, lambda: None, pace)

    def allocating():
        if threading.current_thread() is made.thread and not ended:
            ended.append(made.stop())
        return plain()

    monkeypatch.setattr(threading, "_allocate_lock", allocating)
    if waiting == "for its turn":
        pace.until = time.monotonic() + 0.2
    for item in range(3):
        started.put(item)
    assert made.finished.get(timeout=HANGS) == 0
    ending = threading.Thread(target=made.stop, daemon=True)
    ending.start()
    for thread in (ending, made.thread):
        thread.join(HANGS)
        assert not thread.is_alive()
