"""An epoch that fastload's engines run: `Native` is what `iter(loader)` gives."""

import functools
import time
from typing import cast

import numpy as np
import torch
from torch.utils.data import dataloader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from fastload import rng
from fastload.backends.base import Batch, Engine
from fastload.errors import BadSamplesError, FastloadError, SampleError
from fastload.loader import telling, works
from fastload.loader.base import BaseLoader
from fastload.loader.collated import collated, prepare
from fastload.loader.reseeded import Reseeded
from fastload.order import distributed
from fastload.plan import forms
from fastload.plan.bad_samples import BadSamples
from fastload.plan.plan import Plan
from fastload.sources.base import remote
from fastload.system import devices, room


class Native(Reseeded):
    """One epoch (with persistent_workers one after the other) that fastload's engines run.

    Opened with the sampler's iterator and the seed that PyTorch's class has drawn, in its order.
    """

    def __init__(self, loader: BaseLoader[object]) -> None:
        super().__init__(loader)
        self._in_order, self._prefetch_factor = True, loader.prefetch_factor
        self._workers: list[object] = []  # processes; there are none
        self._shutdown, self._stacks = False, loader._stacks
        self._open(loader)

    def _reset(self, loader: BaseLoader[object], first_iter: bool = False) -> None:
        self._batches.close()
        super()._reset(loader, first_iter)
        self._open(loader)

    def _open(self, loader: BaseLoader[object]) -> None:
        self._meter, self._progress = loader._meter, loader._progress
        self._last = time.perf_counter()
        self._as_torchs = _as_torch_wrote_it(_BaseDataLoaderIter.__next__)
        self._split = distributed.split(loader)[0] > 1
        room.check("an epoch")
        with room.Told():
            engine, plan, self._bad = _ready(loader)
            self._plan = plan
            self._done_with_bad = "left out" if loader._own.on_error == "skip" else "substituted"
            if plan.joint is not None:
                prepare(engine, self._collate_fn)
            engine.on_bad = functools.partial(self._bad.take, self._meter, self._progress)
            key = seed(loader, int(self._base_seed))
            ordered = works.works(loader, plan, self._progress, key, self._sampler_iter)
            if (far := remote(plan.source)) is not None:
                ordered = works.ahead(loader, far, self._progress, ordered)
            self._batches = engine.epoch(ordered, loader.timeout)

    @property
    def depth(self) -> int | None:
        """Batches under way at most; None where the engine does not say."""
        return getattr(self._batches, "depth", None)

    def __next__(self) -> Batch:
        # What PyTorch's does, which asks its profiler even where none runs: that takes as long as
        # all the rest.
        profiled = not self._as_torchs or torch._C._autograd._profiler_enabled()
        if profiled or self._sampler_iter is None:
            batch: Batch = super().__next__()
            return batch
        formed = self._next_data()
        self._num_yielded += 1
        return cast("Batch", formed)

    def _next_data(self) -> object:  # type: ignore[override]  # the base class's never returns
        asked, ready = time.perf_counter(), self._batches.ready
        while not (length := _length(batch := self._batch())):  # nothing is left of it
            if self._split:
                raise BadSamplesError(
                    "on_error='skip': nothing is left of a batch, and other ranks have theirs; use "
                    "'substitute'"
                )
        formed, now = self._formed(batch), time.perf_counter()
        self._meter.count(length, ready, asked, self._last, now)
        self._last = now
        return formed

    def _formed(self, batch: Batch) -> object:
        """As the data set's samples are made into batches."""
        plan = self._plan
        if plan.joint is not None:
            return collated(batch, self._collate_fn, pin=self._pin_memory)
        if plan.target is not None:
            images, numbers, *valid = batch
            try:
                values = plan.target.of_batch(plan.source, np.asarray(numbers))
            except SampleError as error:
                raise self._bad.failed(self._meter, self._progress, error) from error.__cause__
            return [images, values, *valid]
        if plan.form is None:
            return batch
        images, labels, *valid = batch
        pictures = images if isinstance(images, list) else [images]
        with room.Told():
            out = forms.formed(plan.form, pictures, cast("torch.Tensor", labels), self._stacks)
        if not valid:
            return out
        return [*out, *valid] if isinstance(out, list) else [out, *valid]

    def _batch(self) -> Batch:
        try:
            batch = next(self._batches)
        except StopIteration:
            # Of an epoch that was ended early, the rest is still to come
            self._progress.done |= not self._shutdown
            telling.of_bad(self._bad, self._progress, self._done_with_bad)
            raise
        except Exception as error:
            told = room.typed(error) if isinstance(error, MemoryError | RuntimeError) else error
            # The last two: not an index
            if not isinstance(told, FastloadError | IndexError | TypeError):
                raise
            self._progress.step += 1
            failure = self._bad.failed(self._meter, self._progress, told)
            if failure is error:
                raise
            raise failure from told.__cause__
        self._progress.step += 1
        return batch

    def _shutdown_workers(self) -> None:
        """Ends what is under way, as frameworks ask PyTorch's iterators to."""
        self._shutdown = True
        self._batches.close()


def _length(batch: Batch) -> int:
    """How many samples it has. A tensor's len() takes longer."""
    target = batch[1]
    return target.shape[0] if isinstance(target, torch.Tensor) else len(target)


def _ready(loader: BaseLoader[object]) -> tuple[Engine, Plan, BadSamples]:
    """What an epoch runs with: the engine is made once, and again in a child of fork.

    Raises BackendError and DeviceError.
    """
    devices.check_process(loader._own.device)
    plan = loader._route.plan
    assert plan is not None  # else PyTorch's own engine runs the data set
    if loader._engine is None or loader._engine.forked:
        loader._engine = loader._make_engine(loader._route)
        loader._bad = BadSamples(plan.source, loader._own.bad_samples, loader._own.max_bad)
    return loader._engine, plan, loader._bad


def _as_torch_wrote_it(method: object) -> bool:
    """Not where a profiler, or somebody else, has put a function of its own in that place."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_filename == dataloader.__file__


def seed(loader: BaseLoader[object], base_seed: int) -> int:
    """Of the epoch's draws: a resumed epoch's own, the loader's, or what was drawn for this epoch
    (by rank 0, where ranks share it).
    """
    progress = loader._progress
    if progress.seed is None and loader._own.seed is not None:
        progress.seed = int(loader._own.seed)
    elif progress.seed is None:
        drawn = distributed.shared(base_seed, loader)
        before = not progress.fresh or progress.base_seed is not None  # for an earlier epoch
        progress.seed = rng.next_seed(drawn, progress.epoch) if before else drawn
    return progress.seed
