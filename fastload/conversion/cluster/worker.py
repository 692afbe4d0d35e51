"""A worker: makes the units that it is told to, and says how far it is.

Lines of JSON come by its standard input and go by its standard output. It ends with whoever
started it.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

from fastload.conversion.cluster import fleet
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.work import Telling, Work
from fastload.conversion.cluster.works import KINDS
from fastload.conversion.workers import Stop, StoppedError
from fastload.errors import FastloadError, StoreError, UsageError
from fastload.spec import Json

SIGN = 0.5  # s between two signs of progress


class Signs:
    """What a unit has done since it was last said. tell: is given images, bytes, sample."""

    def __init__(self, tell: Callable[[Json], None], *, careful: bool) -> None:
        self.tell, self.careful = tell, careful
        self.images = self.bytes = 0
        self.last = time.monotonic()

    def advance(self, images: int, size: int) -> None:
        self.images += images
        self.bytes += size
        if time.monotonic() - self.last >= SIGN:
            self.flush()

    def flush(self, **more: int) -> None:
        self.tell({"images": self.images, "bytes": self.bytes, **more})
        self.images = self.bytes = 0
        self.last = time.monotonic()

    def ask(self, sample: int) -> None:
        if self.careful:
            self.flush(sample=sample)


def opened(work: Work) -> None:
    """Whatever takes long, and is no part of a unit. Raises FastloadError, OSError."""
    KINDS[work.kind].opened(work.text)


def made(work: Work, order: Order, tell: Callable[[Json], None], stop: Stop) -> Json:
    """A unit, or what became of it, as an event. tell: is given signs of progress."""
    signs = Signs(tell, careful=order.careful)
    try:
        telling = Telling(signs.advance, stop, signs.ask)
        said = KINDS[work.kind].make(work.text, order, telling)
    except StoppedError:
        return {"kind": fleet.READY}
    except FastloadError as error:
        typed = not isinstance(error, StoreError)
        return failed(error, typed=typed, usage=isinstance(error, UsageError))
    except Exception as error:  # noqa: BLE001  of this machine: its disk, its memory
        return failed(error, typed=False)
    signs.flush()
    return {"kind": fleet.MADE, **said}


def failed(error: Exception, *, typed: bool, usage: bool = False) -> Json:
    """What a worker says of an error.

    typed: whether others would fail as well; usage: it is a UsageError.
    """
    text = " ".join((str(error) or type(error).__name__).split())
    return {"kind": fleet.FAILED, "error": text, "typed": typed, "usage": usage}


class Worker:
    """The two ends of its pipes."""

    def __init__(self, of: IO[bytes], to: IO[bytes]) -> None:
        self.of, self.to = of, to
        self.orders: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self.writing = threading.Lock()
        self.stop, self.number = Stop(), fleet.NOBODY

    def run(self) -> None:
        """Until the other end is closed."""
        threading.Thread(target=self._listen, daemon=True).start()
        work = Work(*self.orders.get()["work"])
        try:
            opened(work)
        except (FastloadError, OSError) as error:
            self.say(failed(error, typed=not isinstance(error, StoreError)))
        self.say({"kind": fleet.READY})
        while True:
            order = Order(**self.orders.get()["make"])
            self.say({"number": order.number, **made(work, order, self._sign, self.stop)})

    def _sign(self, said: Json) -> None:
        self.say({"kind": fleet.SIGN, "number": self.number, **said})

    def say(self, said: Json) -> None:
        with self.writing:
            self.to.write(json.dumps(said).encode() + b"\n")
            self.to.flush()

    def _listen(self) -> None:
        for line in self.of:
            said = json.loads(line)
            if "make" in said:
                self.stop, self.number = Stop(), said["make"]["number"]
            if "stop" not in said:
                self.orders.put(said)
            elif said["stop"] == self.number:
                self.stop.ask()
        os._exit(0)  # in the middle of a unit too: nobody takes it any more


def main() -> None:
    """Of a process: its output is the pipe, and what prints goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver is told, and ends its workers
    to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        Worker(sys.stdin.buffer, to).run()
    except BrokenPipeError:
        os._exit(0)
