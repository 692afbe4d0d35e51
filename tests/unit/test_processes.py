"""Ctrl-C is held back for a moment, and never lost, in whatever order those who hold it end."""

import json
import multiprocessing
import multiprocessing.queues
import os
import signal
import time
from pathlib import Path

import pytest

from fastload.system.processes import Hold, Workers, _end_with_parent
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("ctrl_c")


def test_what_came_meanwhile_happens_at_the_end():
    before = signal.getsignal(signal.SIGINT)
    hold = Hold()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        hold.release()
    assert signal.getsignal(signal.SIGINT) is before


def test_the_first_may_end_before_the_second():
    before = signal.getsignal(signal.SIGINT)
    first, second = Hold(), Hold()
    first.release()
    second.release()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def late(go):
    """A worker that gets to it when its parent may have gone."""
    while not go.exists():
        time.sleep(0.01)
    _end_with_parent()
    time.sleep(600)


def parent(go, out):
    """A process with two workers; the one that is forked later holds the pipe by which the first
    would see that its parent has gone.
    """
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(target=late, args=(go,)),
        context.Process(target=time.sleep, args=(600,)),
    ]
    for worker in workers:
        worker.start()
    os.write(out, json.dumps([worker.pid for worker in workers]).encode())
    time.sleep(600)


def lives(pid):
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_worker_that_is_late_sees_that_its_parent_was_killed(tmp_path):
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        parent(tmp_path / "go", there)
    first, second = json.loads(os.read(here, 100))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    (tmp_path / "go").touch()
    until(lambda: not lives(first))
    left = [pid for pid in (first, second) if lives(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    os.close(here)
    os.close(there)
    assert left == [second]


def test_a_worker_that_is_killed_is_told_of_once_the_queues_threads_have_started(monkeypatch):
    held, start = [], multiprocessing.queues.Queue._start_thread

    def noted(queue):
        held.append(isinstance(getattr(signal.getsignal(signal.SIGCHLD), "__self__", None), Hold))
        if len(held) == 1:
            signal.raise_signal(signal.SIGCHLD)
        start(queue)

    def handler(number, frame):
        raise RuntimeError(f"after {len(held)}")

    before = signal.signal(signal.SIGCHLD, handler)
    monkeypatch.setattr(multiprocessing.queues.Queue, "_start_thread", noted)
    iterator = Workers.__new__(Workers)
    iterator._index_queues = [multiprocessing.get_context("fork").Queue() for _ in range(2)]
    try:
        with pytest.raises(RuntimeError, match=r"^after 2$"):
            iterator._start_feeders()
    finally:
        signal.signal(signal.SIGCHLD, before)
        for queue in iterator._index_queues:
            queue.close()
            queue.join_thread()
    assert held == [True, True]
