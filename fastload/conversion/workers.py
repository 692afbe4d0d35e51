"""Threads for reading, checking and hashing: all of it runs outside Python's lock."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from fastload.system.machine import memory_limit, memory_total

Task = TypeVar("Task")
Result = TypeVar("Result")
Advance = Callable[[int, int], None]  # images, bytes done since the last call; from any thread
MEMORY_SHARE = 0.5  # of the machine's memory that shards under construction may take


class StoppedError(Exception):
    """Another task has failed, or the user has interrupted: this one gives up."""


class Stop:
    """Asked between two samples, so that an interrupt is obeyed at once."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def ask(self) -> None:
        self._event.set()

    @property
    def asked(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        if self.asked:
            raise StoppedError


def fitting(count: int, task_bytes: int) -> int:
    """At most `count` workers, so many that each can hold task_bytes."""
    memory = min(memory_total(), memory_limit() or memory_total())
    return max(1, min(count, int(memory * MEMORY_SHARE) // max(1, task_bytes)))


def run(tasks: Iterable[Task], work: Callable[[Task, Stop], Result], count: int) -> list[Result]:
    """`work` on every task; results in the order of the tasks.

    The first error stops all and is raised.
    """
    stop = Stop()
    with ThreadPoolExecutor(count, thread_name_prefix="fastload-convert") as pool:
        futures = [pool.submit(work, task, stop) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:  # KeyboardInterrupt too: the pool's end waits for its threads
            stop.ask()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def ignore(images: int, count: int) -> None:
    """An Advance that shows nothing."""
