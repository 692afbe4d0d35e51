"""Ctrl-C is held back for a moment, and never lost, in whatever order those who hold it end."""

import signal

import pytest

from fastload.processes import Hold

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
