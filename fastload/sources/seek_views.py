"""Which seek indexes one epoch uses, and where those go that it makes."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fastload import _native
from fastload.sources.base import Seek
from fastload.spec import Longs

New = tuple[_native.Collector, Longs, Longs]  # as Pool.fetch takes it


@runtime_checkable
class Counted(Protocol):
    """A source that knows how many of its images have a seek index of its own."""

    def indexed(self) -> int: ...


class View(Protocol):
    """The seek indexes of one epoch."""

    # own: the indexes that came with the source
    def locate(self, samples: Longs, own: Seek | None) -> Seek | None: ...
    def collect(self, samples: Longs) -> New | None: ...


class Off:
    """None is used and none is made."""

    def locate(self, samples: Longs, own: Seek | None) -> Seek | None:
        return None

    def collect(self, samples: Longs) -> New | None:
        return None


class Found(Off):
    """Those that came with the source."""

    def locate(self, samples: Longs, own: Seek | None) -> Seek | None:
        return own


@dataclass(frozen=True)
class Picked:
    """Of some of the samples."""

    view: View
    indices: Longs

    def locate(self, samples: Longs, own: Seek | None) -> Seek | None:
        return self.view.locate(self.indices[samples], own)

    def collect(self, samples: Longs) -> New | None:
        return self.view.collect(self.indices[samples])


@dataclass(frozen=True)
class ReadOnly:
    """In a child of fork, which leaves its parent's new indexes alone."""

    view: View

    def locate(self, samples: Longs, own: Seek | None) -> Seek | None:
        return self.view.locate(samples, own)

    def collect(self, samples: Longs) -> New | None:
        return None
