"""Workers as processes of this machine. Each is a new Python, since a store's client does not
survive a fork, and talks by lines of JSON over its two pipes.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

import fastload
from fastload.conversion.cluster import fleet
from fastload.conversion.cluster.fleet import Event, Order
from fastload.conversion.cluster.work import Work
from fastload.errors import ConversionError
from fastload.spec import Json
from fastload.system.hearing import unheard
from fastload.system.machine import usable_cores

STILLBORN = 3  # workers in a row that end before they are ready: then no other will be
PATIENCE = 10.0  # s for a process that was killed to be gone
READ = 1 << 20  # bytes that are taken from a pipe at once


@dataclass
class Child:
    """A process and its two pipes."""

    name: str
    pid: int
    to: IO[bytes]
    of: IO[bytes]
    wait: Callable[[], int]  # for its end: as subprocess says it, a signal as a negative number
    number: int = fleet.NOBODY
    ready: bool = False
    text: bytearray = field(default_factory=bytearray)

    def tell(self, said: Json) -> None:
        """One that has ended is noticed by its other pipe."""
        with contextlib.suppress(BrokenPipeError):
            self.to.write(json.dumps(said).encode() + b"\n")
            self.to.flush()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.to.close()
        self.of.close()


def start(name: str) -> Child:
    """A new Python that imports this very fastload."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(fastload.__file__)))
    # Not the current folder, which may hold anything; last, so that it hides nothing
    code = (
        f"import sys; sys.path[:1] = []; sys.path.append({root!r}); "
        "from fastload.conversion.cluster.worker import main; main()"
    )
    try:
        with unheard():
            process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
    except OSError as error:
        raise ConversionError(
            f"workers: no process can be started ({error.strerror or error}); give fewer, by "
            "--workers, or leave --on out"
        ) from error
    if process.stdin is None or process.stdout is None:
        raise ConversionError("workers: a process was started without pipes; try again")

    def wait() -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):  # it hangs in a file system
            return process.wait(PATIENCE)
        return -signal.SIGKILL

    return Child(name, process.pid, process.stdin, process.stdout, wait)


class Processes:
    """A fleet of `count` processes. start: how one is started."""

    name = "processes"

    def __init__(self, count: int | None = None, start: Callable[[str], Child] = start) -> None:
        self.count, self.start = count or usable_cores(), start
        self.children: dict[str, Child] = {}
        self.selector = selectors.DefaultSelector()
        self.work: Work | None = None
        self.begun = self.stillborn = 0
        self.waiting: deque[Event] = deque()

    @property
    def size(self) -> int:
        return len(self.children)

    def begin(self, work: Work, units: int) -> None:
        self.work = work
        for _ in range(min(self.count, units)):
            self._start()

    def _start(self) -> None:
        child = self.start(str(self.begun))
        self.begun += 1
        os.set_blocking(child.of.fileno(), False)
        self.children[child.name] = child
        self.selector.register(child.of, selectors.EVENT_READ, child)
        child.tell({"work": self.work})

    def give(self, worker: str, order: Order) -> None:
        child = self.children[worker]
        child.number = order.number
        child.tell({"make": order._asdict()})

    def stop(self, worker: str) -> None:
        if child := self.children.get(worker):
            child.tell({"stop": child.number})

    def end(self, worker: str) -> None:
        self._remove(self.children[worker])
        self._start()

    def wait(self, seconds: float) -> list[Event]:
        events = []
        for key, _ in self.selector.select(seconds):
            child: Child = key.data
            try:
                said = os.read(child.of.fileno(), READ)
            except BlockingIOError:
                continue
            child.text += said
            *lines, rest = child.text.split(b"\n")
            child.text = bytearray(rest)
            events += [self._event(child, json.loads(line)) for line in lines]
            if not said:
                events.append(self._ended(child))
        return events

    def _event(self, child: Child, said: Json) -> Event:
        child.ready, self.stillborn = True, 0
        return Event(said.pop("kind"), child.name, said.pop("number", fleet.NOBODY), said)

    def _ended(self, child: Child) -> Event:
        """Raises ConversionError if the next ones would end as well."""
        self.stillborn += not child.ready
        how = self._remove(child)
        if self.stillborn >= STILLBORN:
            raise ConversionError(
                f"workers: {STILLBORN} processes {how} before they were ready; read what they "
                "have printed, and leave --on out if it cannot be mended"
            )
        self._start()
        return Event(fleet.GONE, child.name, child.number, {"error": how})

    def _remove(self, child: Child) -> str:
        """How it has ended."""
        self.selector.unregister(child.of)
        del self.children[child.name]
        child.kill()
        child.close()
        return ended(child.wait())

    def close(self) -> None:
        for child in self.children.values():
            child.kill()
        for child in list(self.children.values()):
            self._remove(child)
        self.selector.close()
        self.selector, self.stillborn = selectors.DefaultSelector(), 0


def ended(status: int) -> str:
    """ "was killed by SIGKILL", "ended with status 1"."""
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in list(signal.Signals) else str(-status)
    hint = ", perhaps for lack of memory" if -status == signal.SIGKILL else ""
    return f"was killed by {name}{hint}"
