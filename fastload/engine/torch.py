"""The torch backend on PyTorch's own engine: its worker processes make whole batches."""

import errno
from collections.abc import Callable, Iterator
from multiprocessing.context import BaseContext
from typing import TypeAlias

import torch
import torch.utils.data
from torch.utils.data import DataLoader as Torchs  # programs may put fastload's in its place
from torch.utils.data.dataloader import _BaseDataLoaderIter

from fastload.backends import torch as reference
from fastload.backends.base import Batch, Engine, WorkOrError
from fastload.engine.feeding import attempt
from fastload.errors import BackendError
from fastload.plan.bad_samples import Report
from fastload.system.processes import Workers


class TorchEngine(Engine):
    """The torch backend on PyTorch's own engine: each of its workers makes whole batches, as it
    does for any data set.
    """

    def __init__(
        self,
        runner: reference.Runner,
        workers: int,
        depth: int,
        *,
        pinned: bool,
        context: str | BaseContext | None = None,
    ) -> None:
        self.runner, self.workers, self.pinned, self.context = runner, workers, pinned, context
        self.per_worker = max(1, depth // max(1, workers))
        # Made before workers are forked, which share it; each would make its own and touch every
        # path
        _ = runner.plan.source.files
        self.on_bad: Callable[[Report], object] = bool

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> "_Fetched":
        """Batches of `works`, in order."""
        return _Fetched(
            _Loader(
                _Works(self.runner),
                batch_size=None,
                sampler=_Once(works),
                num_workers=self.workers,
                prefetch_factor=self.per_worker if self.workers else None,
                pin_memory=self.pinned,
                timeout=timeout,
                multiprocessing_context=self.context if self.workers else None,
                generator=torch.Generator(),  # the inner loader draws nothing from the user's
            ),
            self.on_bad,
        )


_Result: TypeAlias = tuple[Batch, Report] | Exception  # of one work


class _Loader(Torchs[object]):
    def _get_iterator(self) -> _BaseDataLoaderIter:
        if not self.num_workers:
            return super()._get_iterator()
        try:
            return Workers(self)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.EAGAIN):
                raise  # of a sampler of the user's
            what = f"worker processes cannot be started ({error.strerror})"
            raise BackendError(
                f"backend torch: {what}; take fewer workers, make room in /dev/shm, or use "
                "backend='native'"
            ) from error


class _Fetched:
    """The batches of PyTorch's engine, errors raised with their own types."""

    ready = 0  # not known

    def __init__(self, loader: "Torchs[object]", on_bad: Callable[[Report], object]) -> None:
        self.batches: Iterator[_Result] = iter(loader)
        self.on_bad = on_bad

    def __iter__(self) -> "_Fetched":
        return self

    def __next__(self) -> Batch:
        try:
            batch = next(self.batches)
        except RuntimeError as error:
            if not str(error).startswith("DataLoader worker (pid"):
                raise
            text = (
                "it was killed, or ran out of memory (also in /dev/shm); take fewer workers, "
                "or backend='native', which has none"
            )
            raise BackendError(f"backend torch: {error}: {text}") from error
        if isinstance(batch, Exception):
            raise batch
        tensors, report = batch
        self.on_bad(report)
        return list(tensors)

    def close(self) -> None:
        """Workers end when the iterator is dropped."""
        self.batches = iter(())


class _Works(torch.utils.data.Dataset[object]):
    """A data set whose items are batches, indexed by works; an error travels as a value, since
    workers lose its type.
    """

    def __init__(self, runner: reference.Runner) -> None:
        self.runner = runner

    def __getitem__(self, work: WorkOrError) -> _Result:
        if isinstance(work, Exception):
            return work
        result = attempt(self.runner.tolerant, work)
        return result if isinstance(result, Exception) else (result[0], result[1].report())


class _Once(torch.utils.data.Sampler[WorkOrError]):
    """An iterator as a sampler."""

    def __init__(self, works: Iterator[WorkOrError]) -> None:
        self.works = works

    def __iter__(self) -> Iterator[WorkOrError]:
        return self.works
