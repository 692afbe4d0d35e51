"""The line on the terminal while the first bytes of a store are waited for."""

import io
import sys

import pytest

from fastload.remote.traffic import Traffic
from fastload.remote.waiting import MIB, Line
from fastload.system import terminal
from fastload.system.terminal import CLEAR


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def test_the_line(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    traffic = Traffic("s3://bucket/data", bytes=5 * MIB)
    line = Line("s3://bucket/data", traffic)
    line.tick(90 * MIB)
    clock[0] += 0.5
    line.tick(90 * MIB)
    assert screen.getvalue() == ""  # nothing flickers
    clock[0] += 1.5
    traffic.count(bytes=20 * MIB)
    line.tick(70 * MIB)
    traffic.count(retries=3)
    line.tick(70 * MIB)
    line.done()
    said = "fastload: waiting for s3://bucket/data: 20 MiB came, 70 to come, 10 MiB/s"
    assert screen.getvalue() == f"{CLEAR}{said}{CLEAR}{said}, 3 tried again{CLEAR}"
    clock[0] += 9
    line.tick(70 * MIB)
    assert screen.getvalue().endswith(f"again{CLEAR}")


@pytest.mark.parametrize(("screen", "rank"), [(io.StringIO, "0"), (Terminal, "1")])
def test_nothing_is_said_in_a_log_and_by_other_ranks(monkeypatch, clock, screen, rank):
    monkeypatch.setattr(sys, "stderr", screen := screen())
    monkeypatch.setenv("LOCAL_RANK", rank)
    line = Line("s3://bucket/data", Traffic("s3://bucket/data"))
    for _ in range(3):
        line.tick(MIB)
        clock[0] += 5
    line.done()
    assert screen.getvalue() == ""
