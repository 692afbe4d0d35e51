"""Workers of a fleet that are forks of the test: a new Python takes seconds to import torch. And
ones that die, hang or fail at a given unit.
"""

import contextlib
import os
import signal
import stat
import time
import warnings

from fastload.conversion.cluster import worker as workers
from fastload.conversion.cluster.processes import Child, Processes


def nothing(name, order):
    """What a worker does before a unit, unless told otherwise."""


def forked(name, act=nothing):
    """A worker that does `act` before each unit, and after it, without one, before it tells."""
    down, up = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork where there are threads
        pid = os.fork()
    if pid == 0:
        try:
            os.close(down[1])
            os.close(up[0])
            close_folders()
            real = workers.made

            def made(work, order, tell, stop):
                if said := act(name, order):
                    return said
                said = real(work, order, tell, stop)
                act(name, None)
                return said

            workers.made = made
            workers.Worker(os.fdopen(down[0], "rb"), os.fdopen(up[1], "wb")).run()
        finally:
            os._exit(1)
    os.close(down[0])
    os.close(up[1])
    to, of = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")
    return Child(name, pid, to, of, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def close_folders():
    """A new Python would not have the driver's lock, which is on an open folder."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.fstat(int(name)).st_mode):
                os.close(int(name))


def fleet(count=2, act=nothing):
    return Processes(count, lambda name: forked(name, act))


def die_untold(*names):
    """Workers of these names have made their unit, and nobody knows."""

    def act(name, order):
        if order is None and name in names:
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def die(number, *names):
    """Workers of these names (all of them, if none is given) end at unit `number`."""

    def act(name, order):
        if order and order.number == number and (not names or name in names):
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def first():
    """Says in each worker whether it is the one that has asked first: which one is, is chance."""
    token, end = os.pipe()
    os.set_blocking(token, False)
    os.write(end, b"1")
    mine = []

    def is_mine():
        if not mine:
            try:
                mine.append(os.read(token, 1) == b"1")
            except BlockingIOError:
                mine.append(False)
        return mine[0]

    return is_mine


def hang_first(number):
    """The worker that is given unit `number` first."""
    is_mine = first()

    def act(name, order):
        if order and order.number == number and is_mine():
            time.sleep(60)

    return act


def fail_first():
    """The worker that is given the first unit can write nothing."""
    is_mine = first()

    def act(name, order):
        if order and is_mine():
            return workers.failed(OSError(28, "No space left on device"), typed=False)
        return None

    return act


def hang(number, *names):
    def act(name, order):
        if order and order.number == number and name in names:
            time.sleep(60)

    return act


def fail(*names):
    """Workers of these names can write nothing."""

    def act(name, order):
        if order and name in names:
            return workers.failed(OSError(28, "No space left on device"), typed=False)
        return None

    return act
