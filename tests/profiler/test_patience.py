"""When a program that was told to stop has stayed too long: known clocks, known CPU times."""

import os
import time

import pytest

from fastload.attach import patience
from fastload.attach.patience import Patience


@pytest.fixture
def clocks(monkeypatch):
    """[wall, CPU of process 7, CPU of process 8], in s, which the test sets."""
    clocks = [0.0, 0.0, 0.0]
    monkeypatch.setattr(patience.time, "perf_counter", lambda: clocks[0])
    monkeypatch.setattr(patience, "cpu_seconds", lambda pid: clocks[pid - 6])
    return clocks


def test_a_program_that_works_slowly_may_go_on(clocks):
    wait = Patience([7, 8])
    for second in range(1, 600):  # a busy machine gives it a fiftieth of a core
        clocks[:] = [second, second / 100, second / 100]
        assert not wait.over()
    clocks[:] = [601.0, 6.0, 6.0]
    assert wait.over()


def test_a_program_that_works_on_is_ended(clocks):
    wait = Patience([7, 8])
    clocks[:] = [11.0, 10.0, 9.9]
    assert not wait.over()
    clocks[:] = [12.0, 10.0, 10.1]
    assert wait.over()


def test_a_program_that_does_nothing_is_ended(clocks):
    clocks[:] = [0.0, 5.0, 5.0]
    wait = Patience([7, 8])
    clocks[:] = [15.0, 5.1, 5.0]
    assert not wait.over()
    clocks[:] = [35.0, 5.1, 5.0]
    assert not wait.over()
    clocks[0] = 35.1
    assert wait.over()


def test_the_cpu_time_of_a_process():
    before = time.process_time()
    mine = patience.cpu_seconds(os.getpid())
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert before - 2 * tick <= mine <= time.process_time() + 2 * tick
    assert patience.cpu_seconds(2**22 + 1) == 0.0  # above the kernel's highest pid
