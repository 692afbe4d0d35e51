"""Bringing cells into the cache: what a batch waits for first, then what comes next.

A request that takes much longer than others like it is sent a second time. What another process
brings is waited for, not asked for again.
"""

import time
from collections.abc import Iterable, Sequence

from fastload.remote.cache import Cache
from fastload.remote.crew import LOOK, Job, State
from fastload.remote.entry import Entry
from fastload.remote.stores import Store
from fastload.spec import Longs

LATE = 5.0  # s after which what failed before is tried again


class Fetcher:
    """Brings cells of one data set into its entry, in this process."""

    def __init__(self, store: Store, cache: Cache, entry: Entry, etags: Sequence[str] = ()) -> None:
        """etags: of each file, that its object must have; nothing: as the first answer says."""
        self.state = State(store, cache, entry, etags)

    def close(self) -> None:
        """The threads end after their requests; nobody waits for them."""
        self.state.stop()

    def plan(self, stretches: Iterable[tuple[int, int]]) -> None:
        """Cells that will be wanted, in this order, behind what is planned already."""
        with self.state.changed:
            self.state.plan.extend(stretches)
            self.state.call()

    def forget(self) -> None:
        """Nothing more is planned. Never waits: finalizers call it."""
        self.state.plan.clear()

    def need(self, cells: Longs, seconds: float) -> bool:
        """Whether these cells are there within so long, and before `close`; what is missing is
        asked for first, and only that: of all that is planned, a batch waits for its own samples.

        The groups of all cells have to be leased. Raises StoreError and CacheError for what cannot
        be had.
        """
        state, begin = self.state, time.monotonic()
        missing = state.entry.missing(cells)
        if not len(missing):
            return True
        end = begin + seconds
        with state.changed:
            while len(missing := state.entry.missing(missing)):
                self._raise(missing, begin)
                if state.stopped:
                    return False
                self._ask(missing)  # also for who does not wait, but looks again later
                left = end - time.monotonic()
                if left <= 0:
                    return False
                state.changed.wait(min(left, LOOK))
        return True

    def _raise(self, missing: Longs, since: float) -> None:
        for (first, last), (error, when) in list(self.state.failed.items()):
            if ((missing >= first) & (missing < last)).any():
                del self.state.failed[first, last]
                if when > since - LATE:
                    raise error

    def _ask(self, missing: Longs) -> None:
        """Ask for what nobody brings yet, and a second time for what is slow."""
        state = self.state
        left = missing
        for job in list(state.active):
            inside = (left >= job.first) & (left < job.last)
            if not inside.any():
                continue
            left = left[~inside]
            if state.slow(job) and not job.hedged and not job.hedge:
                job.hedged = True
                state.store.traffic.count(hedged=1)
                state.start(Job(job.first, job.last, job.size, urgent=True, hedge=True))
        for stretch in state.entry.layout.stretches(left):
            if stretch not in state.urgent:
                state.urgent.append(stretch)
        state.call()
