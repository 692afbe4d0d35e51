"""Which worker did what."""

from collections.abc import Callable
from dataclasses import dataclass, field

Say = Callable[[str], None]  # one line for the user, as it happens


def silent(line: str) -> None:
    """A Say that shows nothing."""


@dataclass
class Worker:
    """One worker. busy: s in which it had a unit."""

    name: str
    units: int = 0
    images: int = 0
    bytes: int = 0
    busy: float = 0.0

    @property
    def images_per_s(self) -> float:
        return self.images / self.busy if self.busy else 0.0


@dataclass
class Spread:
    """How a conversion was spread over workers.

    on: what --on called it; doubled: units that a second worker was given, because the first was
    slow; again: units that were made once more, because a worker ended, hung or failed; lost: what
    became of workers, in the order of their ends.
    """

    on: str
    workers: dict[str, Worker] = field(default_factory=dict)
    doubled: int = 0
    again: int = 0
    lost: list[str] = field(default_factory=list)

    def of(self, name: str) -> Worker:
        return self.workers.setdefault(name, Worker(name))

    def slowest(self) -> Worker | None:
        """The one with the least images per second, of those that made a unit."""
        return min(
            (worker for worker in self.workers.values() if worker.units),
            key=lambda worker: worker.images_per_s,
            default=None,
        )
