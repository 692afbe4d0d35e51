"""The batches of an epoch whose samples come from a store: while one is made, what later ones need
is brought.

The order says what comes when, for all ranks. Of a group of neighbours in the store, all is brought
at once if most of it is wanted soon, by whichever rank. Else only this rank's own samples are.
"""

import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator

import numpy as np

from fastload.backends.base import WorkOrError
from fastload.order.future import Future
from fastload.remote.access import Access, Held
from fastload.sources.base import Parts, Remote
from fastload.spec import Longs, Work

# Positions that are looked at together: at most so many, and a part of what is fetched ahead
CHUNK, PART = 1024, 32
MOST = 0.5  # of a group's bytes that are wanted soon: the whole group is brought
LATER = 2  # batches beyond the engine's depth after which one is not read any more


class Ahead:
    """An iterator of works, that looks ahead."""

    def __init__(
        self,
        works: Iterator[WorkOrError],
        far: Remote,
        future: Callable[[], Future | None],
        first: int,
        depth: int,
    ) -> None:
        """first: the step that the epoch begins with; future: asked after the first work."""
        self.works, self.far, self.access = works, far, far.access
        self._find: Callable[[], Future | None] | None = future
        self.step, self.depth = first, depth
        self._soon: _Soon | None = None
        self.batches: deque[Held] = deque()
        self._end = weakref.finalize(self, _drop, self.access, self.batches)
        self._end.atexit = False

    def __iter__(self) -> "Ahead":
        return self

    def __next__(self) -> WorkOrError:
        try:
            work = next(self.works)
        except StopIteration:
            self._finish()
            raise
        self.step += 1
        if isinstance(work, Work):
            self._keep(work)  # of the first batch: its own samples come before whole groups
        if self._find is not None:
            found = self._find()
            self._soon = _Soon(self.far, found, self.step - 1) if found else None
            self._find = None
        if self._soon:
            self._soon.look(self.step)
        return work

    def _finish(self) -> None:
        """The epoch ends by itself: what is planned still comes, such as the rest of groups."""
        if self._end.detach():
            self._end = weakref.finalize(self, _release, self.access, self.batches)
            self._end.atexit = False

    def _keep(self, work: Work) -> None:
        cells = self.far.cells(work.samples)
        self.batches.append(self.access.hold(cells))
        if not self._soon:
            self.access.fetcher.plan(self.access.layout.stretches(self.access.entry.missing(cells)))
        while len(self.batches) > self.depth + LATER:
            self.access.release(self.batches.popleft())


class _Soon:
    """What is counted and what is planned of an epoch's order."""

    def __init__(self, far: Remote, future: Future, step: int) -> None:
        self.far, self.access, self.future = far, far.access, future
        self.weights = self.access.layout.weights()
        mean = max(1, self.access.layout.bytes // max(1, future.length))
        self.chunk = min(CHUNK, max(1, self.access.ahead_bytes // PART // mean))
        begin = step * future.batch * future.world
        self.counted = self.planned = begin  # positions
        self.counted_bytes = self.planned_bytes = self.passed_bytes = 0
        self.wanted: Counter[int] = Counter()  # bytes by group, of what is counted and not passed
        self.chunks: deque[_Chunk] = deque()  # counted, to be planned
        self.held: deque[tuple[_Chunk, Held]] = deque()  # planned, to be passed
        self.whole: set[int] = set()  # groups that this epoch has planned as a whole
        self._end = weakref.finalize(self, _end, self.access, _Handles(self.held), self.whole)
        self._end.atexit = False

    def look(self, step: int) -> None:
        """The batch before this step was asked for."""
        position = step * self.future.batch * self.future.world
        while self.held and self.held[0][0].end <= position:
            self._pass(*self.held.popleft())
        ahead = self.access.ahead_bytes
        while self.counted < self.future.length and self.counted_bytes - self.passed_bytes < ahead:
            self._count()
        while self.chunks and self.planned_bytes - self.passed_bytes < ahead // 2:
            self._plan(self.chunks.popleft())

    def _count(self) -> None:
        end = min(self.counted + self.chunk, self.future.length)
        parts = self.far.parts(self.future.at(np.arange(self.counted, end)))
        groups = self.access.layout.groups_of(parts.cell)
        chunk = _Chunk(self.counted, end, parts, groups)
        for group, size in chunk.by_group():
            self.wanted[group] += size
        self.chunks.append(chunk)
        self.counted, self.counted_bytes = end, self.counted_bytes + chunk.bytes

    def _plan(self, chunk: "_Chunk") -> None:
        access, entry = self.access, self.access.entry
        access.look()
        held = access.hold_groups(np.unique(chunk.groups).tolist())
        self.held.append((chunk, held))
        self.planned_bytes += chunk.bytes
        absent = entry.marks[chunk.parts.cell] != 1
        access.store.traffic.count(found=int(chunk.parts.size[~absent].sum()))
        plan: list[tuple[int, int]] = []
        groups = chunk.groups[absent]
        for group in groups[np.sort(np.unique(groups, return_index=True)[1])].tolist():
            if group in access.whole:
                continue
            if self.wanted[group] >= MOST * self.weights[group]:
                access.whole.add(group)
                self.whole.add(group)
                plan += entry.missing_in(group)
            else:
                plan += access.layout.stretches(chunk.of_rank(group, self.future))
        access.fetcher.plan(plan)

    def _pass(self, chunk: "_Chunk", held: Held) -> None:
        self.passed_bytes += chunk.bytes
        for group, size in chunk.by_group():
            self.wanted[group] -= size
            if self.wanted[group] <= 0:
                del self.wanted[group]
                self.access.whole.discard(group)
                self.whole.discard(group)
        self.access.release(held)


class _Chunk:
    """Positions of the order that follow each other. groups: of each part."""

    def __init__(self, begin: int, end: int, parts: Parts, groups: Longs) -> None:
        self.begin, self.end, self.parts, self.groups = begin, end, parts, groups
        self.bytes = int(parts.size.sum())

    def by_group(self) -> list[tuple[int, int]]:
        """Groups, and bytes of them."""
        groups, inverse = np.unique(self.groups, return_inverse=True)
        return list(
            zip(
                groups.tolist(),
                np.bincount(inverse, self.parts.size).astype(int).tolist(),
                strict=True,
            )
        )

    def of_rank(self, group: int, future: Future) -> Longs:
        """This rank's cells in a group."""
        position = self.begin + self.parts.owner
        mine = (position % future.world == future.rank) & (self.groups == group)
        cells: Longs = self.parts.cell[mine]
        return cells


class _Handles:
    """What is held, without the chunks."""

    def __init__(self, held: "deque[tuple[_Chunk, Held]]") -> None:
        self.held = held

    def __iter__(self) -> Iterator[Held]:
        return (each for _, each in self.held)

    def clear(self) -> None:
        self.held.clear()


def _drop(access: Access, held: "deque[Held]") -> None:
    """The epoch was dropped before its end."""
    access.fetcher.forget()
    _release(access, held)


def _end(access: Access, held: "_Handles", whole: set[int]) -> None:
    """What was planned and is not passed may be dropped, and is another epoch's to plan."""
    access.whole.difference_update(whole)
    _release(access, held)


def _release(access: Access, held: "deque[Held] | _Handles") -> None:
    for each in held:
        access.release(each)
    held.clear()
