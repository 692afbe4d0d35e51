"""Processes that tests fork end with the process that runs the tests.

A test that hangs ends its process (`faulthandler_exit_on_timeout`). Its workers would live on, and
hold the pipe by which pytest-xdist would see that: the run would never end.
"""

import ctypes
import os
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1  # prctl(2): the signal that comes when the thread ends that forked
_tests = os.getpid()  # it runs the tests
_by_main = False


def _before() -> None:
    global _by_main  # noqa: PLW0603  a hook has no other place
    _by_main = threading.current_thread() is threading.main_thread()


def _in_child() -> None:
    # Other threads end long before their process, and what children fork is their own affair
    if _by_main and os.getppid() == _tests:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_with_parent() -> None:
    if sys.platform == "linux":
        os.register_at_fork(before=_before, after_in_child=_in_child)
