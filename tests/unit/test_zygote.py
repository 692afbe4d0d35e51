"""A program of a test may take as long as a busy machine makes it; only what hangs is ended."""

import os
import signal
import time

from tests import zygote


def test_only_what_neither_ends_nor_computes_hangs():
    slow, waiting = zygote.Progress(0.0), zygote.Progress(0.0)
    for minute in range(1, 1000):
        assert not slow.hangs(60.0 * minute, 0.2 * minute)  # 1/300 of a core
    ended = [waiting.hangs(60.0 * minute, 0.001 * minute) for minute in range(1, 7)]
    assert ended == [False] * 5 + [True]


def test_cpu_time_is_that_of_all_below():
    before = zygote.cpu_time(os.getpid())
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.3:
            pass
        os._exit(0)
    os.waitpid(child, 0)
    assert zygote.cpu_time(os.getpid()) - before >= 0.25


def test_what_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(zygote, "WINDOW", 0.0)
    monkeypatch.setattr(zygote, "LOOK", 0.0)
    child = os.fork()
    if child == 0:
        signal.pause()
    assert zygote.status_of(child) == -signal.SIGALRM


def test_a_program_ends_with_the_tests_that_started_it(monkeypatch):
    parents = iter([7, 7, 1])
    monkeypatch.setattr(zygote, "LOOK", 0.0)
    monkeypatch.setattr(zygote.os, "getppid", lambda: next(parents, 1))
    child = os.fork()
    if child == 0:
        while True:
            signal.pause()
    assert zygote.status_of(child) == -signal.SIGALRM
