"""Threads for Python calls that may hang in a read. The end of the program waits one second for
them, no longer.

`concurrent.futures` joins its threads there, however long that takes.
"""

import atexit
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

# Seconds that the end of the program waits for calls under way. A thread that came back later would
# find no interpreter.
END = 1.0
In = TypeVar("In")
Out = TypeVar("Out")
Call = tuple[Future[Any], Callable[[Any], Any], Any, str]
_all = weakref.WeakSet["Threads"]()


class Threads:
    """`count` threads; they end when nobody holds this any more and all calls are done."""

    def __init__(self, count: int, name: str, enter: Callable[[], object] = bool) -> None:
        """enter: is called in each thread when it begins."""
        self.calls, self.busy = queue.SimpleQueue[Call | None](), dict[str, tuple[str, float]]()
        self.crew = [
            threading.Thread(
                target=_run,
                args=(self.calls, self.busy, enter),
                name=f"{name}-{number}",
                daemon=True,
            )
            for number in range(count)
        ]
        for thread in self.crew:
            thread.start()
        weakref.finalize(self, _end, self.calls, count).atexit = False
        _all.add(self)

    def begin(self, call: Callable[[In], Out], each: Iterable[tuple[In, str]]) -> list[Future[Out]]:
        """Start `call` for each of these. The text is what `running` calls it."""
        futures = []
        for item, what in each:
            futures.append(Future[Out]())
            self.calls.put((futures[-1], call, item, what))
        return futures

    def running(self) -> list[tuple[str, str, float]]:
        """What each busy thread does: its name, what it was told, and for how many seconds; as
        `_native.Pool.running`.
        """
        now = time.monotonic()
        return [
            (name, what, now - since) for name, (what, since) in sorted(self.busy.copy().items())
        ]

    def close(self) -> None:
        """What has not begun is dropped. Waits for nothing."""
        while not self.calls.empty():
            self.calls.get()
        _end(self.calls, len(self.crew))


def _run(
    calls: "queue.SimpleQueue[Call | None]",
    busy: dict[str, tuple[str, float]],
    enter: Callable[[], object],
) -> None:
    """A thread. It knows no Threads, so that dropping that ends it."""
    name = threading.current_thread().name
    enter()
    while (call := calls.get()) is not None:
        future, function, item, what = call
        try:
            busy[name] = what, time.monotonic()
            future.set_result(function(item))
        except BaseException as error:  # noqa: BLE001  raised where the result is asked for
            future.set_exception(error)
        busy.pop(name, None)
        del call, future, function, item  # what they hold goes back


def _end(calls: "queue.SimpleQueue[Call | None]", count: int) -> None:
    for _ in range(count):
        calls.put(None)


@atexit.register
def _end_all() -> None:
    crews = list(_all)
    for one in crews:
        one.close()
    until = time.monotonic() + END
    for thread in (thread for one in crews for thread in one.crew):
        thread.join(max(0.0, until - time.monotonic()))
