"""A thread that finishes batches ahead of the caller, so that what their copies and kernels take is hidden behind training."""

import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from fastload import room
from fastload.pace import Pace

AHEAD = 2  # batches that lie finished on the GPU
JOIN = 5.0  # s that the end of an epoch waits for it


class Sender:
    """Takes what is put into `started`, in order, until None; `made` has what `launch` and then `settle` make of it, which raise nothing.

    `settle` waits for the GPU: a batch that stands ready is launched first, so that the GPU has work meanwhile.
    """

    def __init__(
        self, started: "queue.SimpleQueue[Any]", launch: Callable[[Any], Any], settle: Callable[[Any], Any], enter: Callable[[], object],
        pace: Pace,
    ) -> None:  # fmt: skip
        self.started, self.made = started, queue.SimpleQueue[Any]()
        self.ahead = threading.Semaphore(AHEAD)
        self.stopped = threading.Event()
        how = (started, launch, settle, enter, pace, self.made, self.ahead, self.stopped)
        room.check("a thread", room.THREAD)  # Python waits for ever for one that ends before it has begun
        self.thread = threading.Thread(target=_run, args=how, name="fastload-sender", daemon=True)
        self.thread.start()

    def took(self) -> None:
        """The caller has one batch more."""
        self.ahead.release()

    def stop(self) -> None:
        """The thread is to end; what it has not begun is dropped. Waits for nothing."""
        self.stopped.set()
        self.ahead.release()
        self.started.put(None)

    def join(self) -> None:
        if self.thread is not threading.current_thread():  # the collector may run in it
            self.thread.join(JOIN)


def _run(
    started: Any, launch: Callable[[Any], Any], settle: Callable[[Any], Any], enter: Callable[[], object], pace: Pace, made: Any,
    ahead: Any, stopped: threading.Event,
) -> None:  # fmt: skip
    """The thread. It knows no iterator, so that dropping the iterator ends it."""
    failed: Exception | None = None
    try:
        enter()
    except Exception as error:  # noqa: BLE001  handed to the caller, in every batch's place: it would wait for ever
        failed = error
    under_way: deque[Any] = deque()  # launched

    def settle_all() -> None:
        while under_way:
            made.put(settle(under_way.popleft()))

    for item in iter(started.get, None):
        if not ahead.acquire(blocking=False):
            settle_all()
            ahead.acquire()
        pace.wait(stopped)
        if stopped.is_set():
            return
        under_way.append(failed or launch(item))
        del item  # its slots go back
        if len(under_way) > 1:
            made.put(settle(under_way.popleft()))
        if started.empty():
            settle_all()
    settle_all()  # None came right behind the last
