"""An epoch of batches of patches: the parts of each are under way as batches of the native engine,
and are handed out as one.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import cast

import torch

from fastload._native import Job
from fastload.backends.base import Batch, WorkOrError
from fastload.backends.native import runner as native
from fastload.engine import parts
from fastload.engine.epoch import Threaded
from fastload.engine.inline import Inline
from fastload.engine.native import NativeEngine
from fastload.engine.pace import Pace
from fastload.engine.parts import Ordered, Part, Split
from fastload.sources.seek_views import View
from fastload.spec import Array, Ints, Work

# What is in a batch, in timm's words.
PATCHES, COORD, VALID = "patches", "patch_coord", "patch_valid"


class TokenEngine(NativeEngine):
    """Threads, slots and counters of one loader whose batches have patches."""

    def again(self) -> "TokenEngine":
        return TokenEngine(self.runner, 0, self.depth, self.seek, pinned=self.rings[0].pinned)

    def epoch(  # type: ignore[override]  # it has an epoch's methods
        self, works: Iterator[WorkOrError], timeout: float = 0
    ) -> "TokenBatches":
        """Batches of `works`, in order."""
        seek = self.view = self.seek.epoch()
        self.chooser.begin()
        return TokenBatches(self, works, seek, timeout)

    def _outs(self, runner: native.Runner, work: Work) -> native.Outs:
        return native.Outs(self._slots(runner, work), None)

    def _slots(self, runner: native.Runner, work: Work) -> list[Array]:
        assert isinstance(work, Part)
        assert work.memory is not None
        return [work.memory.rows(work.first, len(work))]


class TokenBatches:
    """An epoch under way: `depth` batches of several parts each."""

    def __init__(
        self, engine: TokenEngine, works: Iterator[WorkOrError], seek: View, timeout: float
    ) -> None:
        (picture,) = engine.runner.pictures
        self.pinned, self.bfloat16 = engine.rings[0].pinned, picture.plan.out.dtype == "bfloat16"
        dtype = picture.host_dtype
        batches = (parts.split(work, engine.rings[0], dtype) for work in works)
        self.inner: _Alone | _Threaded = (
            _Threaded(engine, batches, seek, timeout)
            if engine.pool.threads
            else _Alone(engine, batches, seek)
        )

    def __iter__(self) -> "TokenBatches":
        return self

    @property
    def ready(self) -> int:
        """Batches that are done before they are asked for."""
        done, count = self.inner.ready, 0
        for batch in list(self.inner.under_way):
            done -= batch.parts - len(batch.done)
            count += done >= 0
        return count

    def __next__(self) -> Batch:
        ready, away = self.ready, self.inner.asked()
        if not self.inner.under_way:
            self.close()
            raise StopIteration
        batch = self.inner.under_way[0]
        while len(batch.done) < batch.parts:
            self._take(batch)
        self.inner.under_way.popleft()
        self.inner.gave(away, ready)
        if batch.error is not None:
            if not isinstance(batch.error, Exception):
                return next(self)  # it was raised, and took the batch as it takes any
            try:
                raise batch.error
            finally:
                del batch  # a traceback holds this frame
        return self._whole(batch)

    def _take(self, batch: Ordered) -> None:
        """The next part of the batch; what is wrong with it is raised once all have come.

        Raises RuntimeError if that takes too long: then the part is still to come.
        """
        pending = self.inner.pending
        try:
            batch.done.append(next(self.inner))
        except BaseException as error:
            if self.inner.pending == pending:
                raise
            batch.error = batch.error or error
            batch.done.append([])
            if not isinstance(error, Exception):  # Ctrl-C, which is not kept for later
                raise

    def _whole(self, batch: Ordered) -> Batch:
        work, memory = batch.work, batch.memory
        assert isinstance(work, Work)
        assert work.tokens is not None
        assert memory is not None
        slots = [cast("torch.Tensor", part[0]) for part in batch.done]
        labels = [cast("torch.Tensor", part[1]) for part in batch.done]
        target = labels[0] if len(labels) == 1 else torch.cat(labels)
        counts = [len(slot) for slot in slots]
        if sum(counts) == len(work):
            patches = torch.from_numpy(memory.rows(0, len(work)))
            patches = patches.view(torch.bfloat16) if self.bfloat16 else patches
        else:  # some samples are left out
            patches = torch.cat(slots)
        coord, valid = _places(batch.grids, counts, work.tokens.length)
        if self.pinned:
            coord, valid, target = coord.pin_memory(), valid.pin_memory(), target.pin_memory()
        found = {PATCHES: patches, COORD: coord, VALID: valid}
        return [cast("torch.Tensor", found), target]

    def close(self) -> None:
        """Ends the epoch."""
        self.inner.close()


class _Alone(Inline):
    """The parts of one batch, in the caller's thread."""

    def __init__(self, engine: TokenEngine, batches: Iterator[Split], seek: View) -> None:
        self.batches, self.under_way = batches, deque[Ordered]()
        self.left: deque[WorkOrError] = deque()
        super().__init__(engine, iter(self.left.popleft, None), seek)

    @property
    def pending(self) -> int:
        """Parts that are to come."""
        return len(self.left)

    def asked(self) -> float:
        """The caller wants a batch."""
        if not self.under_way and (found := next(self.batches, None)) is not None:
            self.under_way.append(found[0])
            self.left.extend(found[1])
        return 0.0

    def gave(self, away: float, ready: int) -> None:
        """It goes with one."""


class _Threaded(Threaded):
    """Parts of `depth` batches are under way."""

    def __init__(
        self, engine: TokenEngine, batches: Iterator[Split], seek: View, timeout: float
    ) -> None:
        self.batches, self.under_way = batches, deque[Ordered]()
        super().__init__(engine, iter(()), seek, timeout)
        # Batches have a pace, their parts have none.
        self.pace, self.feed.pace = self.feed.pace, _Still()

    def asked(self) -> float:
        """The caller wants a batch: how long it has been away, s."""
        return self.pace.asked()

    def gave(self, away: float, ready: int) -> None:
        """It goes with one, which is under way no more."""
        self.pace.gave(away, ready)
        self.feed.pace.until = self.pace.until
        self._request()

    def _request(self, spent: Job | None = None) -> None:
        while len(self.under_way) < self.engine.depth:
            found = next(self.batches, None)
            if found is None:
                return
            self.under_way.append(found[0])
            for part in found[1]:
                self.feed.requests.put(part)
                self.pending += 1


class _Still(Pace):
    """That others set."""

    def gave(self, away: float, ready: int) -> None:
        return


def _places(
    grids: Sequence[Ints], counts: Sequence[int], length: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """int64 [N, length, 2] and bool [N, length]: of each patch its row and column, and whether it
    is one. counts: samples of each grid.
    """
    count = sum(counts)
    coord = torch.empty((count, length, 2), dtype=torch.int64)
    valid = torch.empty((count, length), dtype=torch.bool)
    first = 0
    for grid, some in zip(grids, counts, strict=True):
        mine = slice(first, first + some)
        coord[mine], valid[mine] = _numbers(*grid.tolist(), length)
        first += some
    return coord, valid


@lru_cache(maxsize=4096)
def _numbers(high: int, wide: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """int64 [length, 2] and bool [length], of one grid."""
    coord, valid = torch.zeros((length, 2), dtype=torch.int64), torch.arange(length) < high * wide
    coord[: high * wide] = torch.cartesian_prod(torch.arange(high), torch.arange(wide))
    return coord, valid
