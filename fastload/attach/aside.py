"""Work of ours in a child of the profiled program: what it changes there, or breaks, or hangs on,
is nothing to the program, which waits for it.

The child is forked, as workers of PyTorch's loader are: it has the program's objects as they are.
"""

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection

from fastload.attach.looking import Facts
from fastload.attach.patience import Patience

POLL_S = 0.05
SPARE_S = 20.0  # of CPU time, for imports and starting
# A program's own handlers may save or requeue: a child of it must not.
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def run(work: Callable[[], Iterator[Facts]], seconds: float) -> Facts:
    """Everything that `work` gave, the later keys over the earlier ones.

    seconds: that it is meant to take. What goes wrong is a "problem" beside what was given before.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_serve, args=(work, theirs))
    with warnings.catch_warnings():  # of a fork beside threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    theirs.close()
    work_s = (seconds + SPARE_S) * (os.cpu_count() or 1)
    patience = Patience((child.pid or 0,), work_s)
    facts: Facts = {}
    try:
        while not facts.pop("done", False):
            if ours.poll(POLL_S):
                facts |= ours.recv()
            elif patience.over():
                facts |= {"problem": "it did not come to its end", "done": True}
    except EOFError:
        child.join()
        facts["problem"] = f"it ended with status {child.exitcode}"
    except KeyboardInterrupt:
        facts["problem"] = "it was interrupted"
    finally:
        child.kill()
        child.join()
        ours.close()
    return facts


def _serve(work: Callable[[], Iterator[Facts]], to: Connection) -> None:
    """In the child: what the program's objects print there is not the program's output."""
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # its pool of threads is not there after a fork
    with suppress(OSError):  # nobody listens any more
        try:
            for part in work():
                to.send(part)
        except Exception as error:  # noqa: BLE001  somebody else's data set
            to.send({"problem": f"{type(error).__name__}: {error}"})
        to.send({"done": True})


def can() -> bool:
    """Whether the system forks processes."""
    return "fork" in multiprocessing.get_all_start_methods()
