"""The interface between a job and what runs its units: processes here, or an engine of many
machines.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fastload.conversion.cluster.work import Work
from fastload.spec import Json

NOBODY = -1  # in the place of a unit's number

READY = "ready"  # the worker can be given a unit
SIGN = "sign"  # it goes on: said has "images", "bytes" since the last one, perhaps "sample"
MADE = "made"  # said is what the unit returned
FAILED = "failed"  # said has "error", "typed" (all workers would fail), "path"
GONE = "gone"  # it has ended; said has "error": how. Another one takes its place


@dataclass(frozen=True)
class Event:
    """What a worker says, or what is said of it."""

    kind: str
    worker: str
    number: int = NOBODY
    said: Json = field(default_factory=dict)


class Order(NamedTuple):
    """A unit that a worker is to make.

    write: whether to write it, or only to check its samples; careful: whether to say each sample
    before it is made, because the unit has ended a worker before.
    """

    number: int
    write: bool = True
    careful: bool = False


class Fleet(Protocol):
    """Workers, each of which makes one unit at a time. For one thread.

    A fleet keeps as many workers as it was asked for: one that ends is replaced, as long as units
    are left. What its workers have begun is lost with it, and nothing else.
    """

    @property
    def name(self) -> str:
        """What --on calls it."""

    @property
    def size(self) -> int:
        """How many workers there are, or are being started."""

    def begin(self, work: Work, units: int) -> None:
        """Start workers, at most one for each unit; once more after `close`, too.

        Raises ConversionError.
        """

    def give(self, worker: str, order: Order) -> None:
        """To a worker that is ready; one that has just ended says so by an event."""

    def stop(self, worker: str) -> None:
        """It need not finish its unit; it is ready afterwards, unless it has just ended."""

    def end(self, worker: str) -> None:
        """Kill it: it hangs. No event follows; another one takes its place."""

    def wait(self, seconds: float) -> list[Event]:
        """What has happened, as soon as anything has, or after this time. Raises
        ConversionError if there can be no more workers.
        """

    def close(self) -> None:
        """End all workers at once. May be called twice."""
