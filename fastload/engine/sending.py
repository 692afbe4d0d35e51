"""A thread that finishes batches ahead of the caller, so that what their copies and kernels take is
hidden behind training.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable

from fastload.attach import taken
from fastload.engine.flight import LaunchedOrError, ReadyOrError, StartedOrError, StartedQueue
from fastload.engine.pace import Pace, Stopped
from fastload.system import room

AHEAD = 2  # batches that lie finished on the GPU


class Sender:
    """Takes what is put into `started`, in order, until None; `finished` has what `launch` and then
    `settle` make of it, which raise nothing.

    `settle` waits for the GPU: a batch that stands ready is launched first, so that the GPU has
    work meanwhile.
    """

    def __init__(
        self,
        started: StartedQueue,
        launch: Callable[[StartedOrError], LaunchedOrError],
        settle: Callable[[LaunchedOrError], ReadyOrError],
        enter: Callable[[], object],
        pace: Pace,
    ) -> None:
        self.started, self.finished = started, queue.SimpleQueue[ReadyOrError]()
        # Finalizers stop it, even in its own thread: nothing here has a lock that they wait for
        self.ahead, self.stopped = queue.SimpleQueue[None](), Stopped()
        for _ in range(AHEAD):
            self.ahead.put(None)
        # Python waits for ever for a thread that ends before it has begun.
        room.check("a thread", room.THREAD)
        self.thread = threading.Thread(
            target=_run,
            args=(started, launch, settle, enter, pace, self.finished, self.ahead, self.stopped),
            name="fastload-sender",
            daemon=True,
        )
        self.thread.start()

    def took(self) -> None:
        """The caller has one batch more."""
        self.ahead.put(None)

    def stop(self) -> None:
        """The thread is to end; what it has not begun is dropped. Waits for nothing."""
        self.stopped.set()
        self.ahead.put(None)
        self.started.put(None)


def _run(
    started: StartedQueue,
    launch: Callable[[StartedOrError], LaunchedOrError],
    settle: Callable[[LaunchedOrError], ReadyOrError],
    enter: Callable[[], object],
    pace: Pace,
    finished: "queue.SimpleQueue[ReadyOrError]",
    ahead: "queue.SimpleQueue[None]",
    stopped: Stopped,
) -> None:
    """The thread. It knows no iterator, so that dropping the iterator ends it."""
    try:
        _send(started, launch, settle, _entered(enter), pace, finished, ahead, stopped)
    finally:
        taken.ended()


def _entered(enter: Callable[[], object]) -> Exception | None:
    """Why this thread cannot send; handed to the caller in every batch's place, who would wait for
    ever.
    """
    try:
        enter()
    except Exception as error:  # noqa: BLE001
        return error
    return None


def _send(
    started: StartedQueue,
    launch: Callable[[StartedOrError], LaunchedOrError],
    settle: Callable[[LaunchedOrError], ReadyOrError],
    failed: Exception | None,
    pace: Pace,
    finished: "queue.SimpleQueue[ReadyOrError]",
    ahead: "queue.SimpleQueue[None]",
    stopped: Stopped,
) -> None:
    under_way: deque[LaunchedOrError] = deque()  # launched

    def settle_all() -> None:
        while under_way:
            finished.put(settle(under_way.popleft()))

    while (item := started.get()) is not None:
        if ahead.empty():
            settle_all()
        ahead.get()
        pace.wait(stopped)
        if stopped.is_set():
            return
        under_way.append(failed or launch(item))
        del item  # its slots go back
        if len(under_way) > 1:
            finished.put(settle(under_way.popleft()))
        if started.empty():
            settle_all()
    settle_all()  # None came right after the last
