"""Threads of ours keep away from a caller that has batches enough, and never from one that
waits.
"""

import threading
import time

import pytest

from fastload.engine import pace


@pytest.fixture
def clock(monkeypatch):
    """Seconds, set by the test."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


class Stopped:
    """As threading.Event: how long it is waited for."""

    def __init__(self):
        self.waits = []

    def wait(self, seconds):
        self.waits.append(seconds)


def away(found, clock, seconds, ready):
    """The caller takes a batch, comes back after `seconds`, and finds `ready` batches."""
    found.gave(found.asked(), pace.READY)
    clock[0] += seconds
    found.gave(found.asked(), ready)


def waits(found):
    stopped = Stopped()
    found.wait(stopped)
    return stopped.waits


def test_the_first_half_of_a_step_is_the_callers(clock):
    found = pace.Pace()
    away(found, clock, 0.04, ready=2)
    assert waits(found) == [pytest.approx(0.02)]
    clock[0] += 0.015
    assert waits(found) == [pytest.approx(0.005)]
    clock[0] += 0.005
    assert waits(found) == []


@pytest.mark.parametrize("ready", [0, 1])
def test_nobody_keeps_away_from_a_caller_that_would_wait(clock, ready):
    found = pace.Pace()
    away(found, clock, 0.04, ready)
    assert waits(found) == []


def test_a_long_pause_is_no_step(clock):
    found = pace.Pace()
    away(found, clock, 100.0, ready=2)
    assert waits(found) == [pytest.approx(pace.LONGEST)]


def test_a_new_epoch_waits_for_nothing(clock):
    assert waits(pace.Pace()) == []


def test_the_end_of_an_epoch_ends_the_wait():
    found, stopped = pace.Pace(), pace.Stopped()
    found.until = time.monotonic() + 60
    stopped.set()
    start = time.monotonic()
    found.wait(stopped)
    assert time.monotonic() - start < 30


def test_whoever_waits_is_woken_at_the_end_of_an_epoch():
    stopped, woken = pace.Stopped(), []
    threads = [
        threading.Thread(target=lambda: woken.append(stopped.wait(60)), daemon=True)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert not stopped.wait(0.01)
    assert not stopped.is_set()
    stopped.set()
    stopped.set()
    for thread in threads:
        thread.join(30)
    assert woken == [True] * 3
    assert stopped.is_set()
    assert stopped.wait(60)
