"""What the units of a job are made by: plain values, which any engine can send."""

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from fastload.conversion.workers import Advance, Stop

Opened = TypeVar("Opened")


class Work(NamedTuple):
    """A job whose units other processes make.

    kind: of works.KINDS; text: what that kind knows it by; again: what to do when it has broken
    off.
    """

    kind: str
    text: str
    again: str = "run it again"


class Telling(NamedTuple):
    """How a unit says how far it is, and is told to give up.

    advance: is told images and bytes since the last call; ask: each sample before it is looked at.
    """

    advance: Advance
    stop: Stop
    ask: Callable[[int], None]

    def alive(self) -> None:
        """It goes on, and has no sample more. Raises StoppedError."""
        self.stop.check()
        self.advance(0, 0)


def once(open_it: Callable[[str], Opened]) -> Callable[[str], Opened]:
    """The same function, whose last answer is kept; of several threads one opens it."""
    lock, kept = threading.Lock(), dict[str, Opened]()

    def opened(text: str) -> Opened:
        with lock:
            if text not in kept:
                kept.clear()
                kept[text] = open_it(text)
            return kept[text]

    return opened
