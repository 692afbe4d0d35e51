"""The thread that is ahead of the caller: the GPU gets the next batch before anybody waits for the
one before.
"""

import queue

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
