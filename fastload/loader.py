"""`DataLoader`, the drop-in: PyTorch's class, with the native engine inside for what fastload recognises."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from fastload import _native, backends, lowering, progressive, rng
from fastload.batches import PixelBatchSampler
from fastload.dataset import Dataset, place
from fastload.engine import NativeEngine, TorchEngine
from fastload.errors import BackendError, FastloadError, PipelineError, UsageError
from fastload.lowering import loaders
from fastload.pipeline import Pipeline
from fastload.plan import Plan, plan
from fastload.samplers import ShuffleSampler
from fastload.sources import collect
from fastload.spec import Work

DEVICES = (None, "cpu", "cuda")
DECODE_SCALES = ("exact", "fast")


@dataclass(frozen=True)
class _Route:
    """Who runs a data set, and why."""

    backend: str | None  # None: PyTorch's own engine
    plan: Plan | None
    reasons: tuple[str, ...]  # why not natively
    fingerprint: tuple[Any, ...]


class DataLoader(torch.utils.data.DataLoader[Any]):
    """torch.utils.data.DataLoader with every argument of it, plus, keyword-only:

    backend: "auto" (native where it can, else PyTorch's own engine), "native", "torch" (the reference), "dali" (NVIDIA DALI, the
             same draws) or "dali-own" (DALI's own draws); all but the first raise where they cannot run the data set.
    device:  None or "cpu"; "cuda" fills batches on the current GPU, normalised there.
    seed:    fixes order and augmentation for good; None draws one from `generator` at each iter(), as torch does.
    seek_index: "auto" uses the index of where JPEG decoding can begin, and collects in the first epoch what is missing of a
             folder's, in the user's cache; "use" only uses what is there; "off" decodes from each image's first tile.
    decode_scale: "exact"; "fast" decodes a JPEG at 1/2, 1/4 or 1/8 of its size where the crop's box is at least that much larger
             than what it is resized to. Faster, and the pixels differ a little from torchvision's.
    size_schedule: images of another size, batch by batch: ProgressiveResize, progressive.Ramp, a list of sizes per epoch (the last
             stays) or a function of the epoch; px. Epochs count from 0, as in set_epoch.

    Natively num_workers counts threads, and 0 runs in the caller's thread.
    Raises what torch raises, and PipelineError, BackendError and UsageError.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        *args: Any,
        backend: str = "auto",
        device: str | None = None,
        seed: int | None = None,
        seek_index: str = "auto",
        decode_scale: str = "exact",
        size_schedule: Any = None,
        **kwargs: Any,
    ) -> None:
        _check(device, seed, seek_index, decode_scale, backend)
        if seed is not None and shuffle and sampler is None and not isinstance(dataset, torch.utils.data.IterableDataset):
            sampler, shuffle = ShuffleSampler(len(dataset), seed), None
        super().__init__(dataset, batch_size, shuffle, sampler, *args, **kwargs)
        self.backend, self.device, self.seed, self.seek_index = backend, device, seed, seek_index
        self.decode_scale, self.size_schedule = decode_scale, progressive.schedule(size_schedule)
        self._epoch = 0
        self._sizes: set[int] = set()  # found possible
        self._steps = self._count_steps()
        self._engine: Any = None
        self._route = self._find_route()
        self.check_worker_number_rationality()

    def __iter__(self) -> Any:
        if lowering.fingerprint(self.dataset) != self._route.fingerprint:
            self._route, self._engine, self._sizes = self._find_route(), None, set()
        epoch, self._epoch = self._epoch, self._epoch + 1
        if self._route.backend is None:
            return super().__iter__()
        # Drawn here and once, as torch draws its base seed, so that torch.manual_seed governs a run.
        seed = rng.draw_seed(self.generator) if self.seed is None else self.seed
        if self._engine is None:
            self._engine = self._make_engine(self._route)
        return self._engine.epoch(self._works(self._route.plan, seed, epoch))

    def check_worker_number_rationality(self) -> None:
        """torch's warning about too many worker processes, where there are any: native workers are threads."""
        route = self.__dict__.get("_route")
        if route is not None and route.backend in (None, "torch"):
            super().check_worker_number_rationality()

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is epoch `epoch`, from 0: reaches the random keys, the samplers and the data set. Raises UsageError."""
        self._epoch = epoch = rng.checked_epoch("DataLoader.set_epoch", epoch)
        for part in {id(p): p for p in (self.sampler, self.batch_sampler, self.dataset)}.values():
            tell = getattr(part, "set_epoch", None)
            if tell is not None:
                tell(epoch)

    def explain(self) -> str:
        """Who runs this loader, and why what is not native is not: one line each."""
        route = self._route
        if route.backend is None:
            lines = ["PyTorch's own engine, unchanged:", *(f"  {reason}" for reason in route.reasons)]
            return "\n".join(lines + ["  decode_scale 'fast' changes nothing there"] * (self.decode_scale == "fast"))
        unit = "worker processes" if route.backend == "torch" else "threads"
        workers = f"{self.num_workers} {unit}" if self.num_workers else "the caller's thread"
        lines = [f"backend {route.backend}, {workers}, device {self.device or 'cpu'}"]
        if route.plan:
            lines += backends.explain_steps(route.plan) + backends.explain_scale(route.plan) + self._explain_sizes(route.plan)
        if route.plan and route.backend == "native":
            engine = self._engine
            made = engine.seek if isinstance(engine, NativeEngine) else None
            lines.append(f"  {collect.describe(self.seek_index, route.plan.source, made)}")
        return "\n".join([*lines, *(f"  {reason}" for reason in route.reasons)])

    def stats(self) -> dict[str, Any]:
        """Per native stage, summed over threads since the loader was made: samples, wall and CPU seconds."""
        if not isinstance(self._engine, NativeEngine):
            return {}
        return {
            stage: {"samples": samples, "wall_s": wall / 1e9, "cpu_s": cpu / 1e9}
            for stage, (samples, wall, cpu) in self._engine.pool.stats().items()
        }

    def decodes(self) -> dict[str, int]:
        """How JPEGs were decoded since the loader was made: "indexed" (only the tiles under the crop), "whole" (from the
        first tile on), "library" (libjpeg-turbo). Besides: "refused" counts seek indexes that did not fit their file, "scaled" images that
        decode_scale="fast" decoded at less than their size."""
        return self._engine.pool.ways() if isinstance(self._engine, NativeEngine) else {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None}  # threads stay here; a copy starts its own

    def _find_route(self) -> _Route:
        mark = lowering.fingerprint(self.dataset)
        pipeline, reasons = lowering.lower(self.dataset)
        ours = type(self.dataset) is Dataset
        reasons = [*reasons, *self._loader_reasons(pipeline)]
        if pipeline is None or reasons:
            return self._own_engine(reasons, mark)
        try:
            found = plan(pipeline, self.decode_scale, self.size_schedule)
            # A foreign data set that is not native is best left to the engine that its author knows.
            name = "native" if self.backend == "auto" and not ours else self.backend
            backend, why_not = backends.choose(name, found, self.device or "cpu")
        except (PipelineError, BackendError) as error:
            if ours or self._insists():
                raise
            return self._own_engine(str(error).splitlines(), mark)
        return _Route(backend, found, tuple(why_not), mark)

    def _own_engine(self, reasons: list[str], mark: tuple[Any, ...]) -> _Route:
        if what := self._insists():
            raise BackendError("\n".join(f"loader: {what} cannot run this data set: {reason}" for reason in reasons))
        return _Route(None, None, tuple(reasons), mark)

    def _insists(self) -> str:
        """The argument that PyTorch's own engine cannot honour, so that it is no way out; "" if there is none."""
        if self.backend != "auto":
            return f"backend={self.backend!r}"
        return "device='cuda'" if self.device == "cuda" else "size_schedule" if self.size_schedule else ""

    def _count_steps(self) -> int:
        """Batches in an epoch, where the size schedule must know; else 0."""
        try:
            return len(self) if self.size_schedule and self.size_schedule.counts_steps else 0
        except TypeError:
            raise UsageError("size_schedule: total_steps needs a sampler with a length; add __len__, or give total_epochs") from None

    def _explain_sizes(self, plan: Plan) -> list[str]:
        if self.size_schedule is None:
            return []
        first = self._size(plan, self._epoch, 0) or plan.full
        return [f"  sizes   {self.size_schedule}: {first} px at the start of epoch {self._epoch}, {plan.full} px in the pipeline"]

    def _size(self, plan: Plan, epoch: int, step: int) -> int | None:
        """Of a batch, px; None for the pipeline's own."""
        if self.size_schedule is None:
            return None
        size = progressive.checked_size(self.size_schedule, plan.full, epoch, step, self._steps)
        if size is not None and size not in self._sizes:
            plan.at(size)  # raises here, in the user's thread, what a function's size makes impossible
            self._sizes.add(size)
        return size

    def _loader_reasons(self, pipeline: Pipeline | None) -> list[str]:
        """Arguments that only PyTorch's own engine honours."""
        reasons = []
        if not self._auto_collation:
            reasons.append("batch_size=None: there are no batches to make")
        elif not loaders.stacks(self.collate_fn, pipeline):
            reasons.append(f"collate_fn is {self.collate_fn!r}")
        if self.worker_init_fn is not None and not loaders.only_seeds(self.worker_init_fn):
            reasons.append(f"worker_init_fn is {self.worker_init_fn!r}, and there are no worker processes")
        if self.timeout:
            reasons.append(f"timeout is {self.timeout} s")
        return reasons

    def _make_engine(self, route: _Route) -> Any:
        runner = backends.module(route.backend or "").compile(route.plan, self.device or "cpu")
        depth = (self.prefetch_factor or 2) * max(1, self.num_workers)
        pinned = (self.pin_memory or self.device == "cuda") and torch.cuda.is_available()
        if hasattr(runner, "engine"):  # a library with threads and queues of its own
            return runner.engine(self.num_workers, depth, pinned=pinned)
        if route.backend == "torch":
            return TorchEngine(runner, self.num_workers, depth, pinned=pinned, context=self.multiprocessing_context)
        # Threads share every batch, so a few batches under way keep all of them busy.
        return NativeEngine(runner, self.num_workers, min(depth, 8), collect.make(self.seek_index, runner.plan.source), pinned=pinned)

    def _works(self, plan: Any, seed: int, epoch: int) -> Iterator[Work]:
        """The epoch's batches in order. Runs in the consumer's thread: samplers are the user's."""
        length = len(self.dataset)  # type: ignore[arg-type]  # what is lowered has a length
        seen = None if _unique(self.batch_sampler, length) else np.zeros(length, np.int64)
        for step, indices in enumerate(self._index_sampler):
            samples = np.array([place(index, length) for index in indices], np.int64)
            yield Work(samples, _occurrences(samples, seen), seed, epoch, step, size=self._size(plan, epoch, step))


def _check(device: str | None, seed: int | None, seek_index: str, decode_scale: str, backend: str) -> None:
    if device not in DEVICES:
        raise UsageError(f"DataLoader: device is {device!r}, want None, 'cpu' or 'cuda'")
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("DataLoader: device='cuda', but torch sees no GPU; leave device out")
    if device == "cuda" and not _native.cuda_built and not backend.startswith("dali"):
        raise UsageError(
            "DataLoader: device='cuda', but fastload was built without CUDA kernels; build it where nvcc is, or leave device out"
        )
    if seed is not None and not 0 <= seed < 1 << 64:
        raise UsageError(f"DataLoader: seed is {seed}, want 0 to 2**64 - 1")
    if decode_scale not in DECODE_SCALES:
        raise UsageError(f"DataLoader: decode_scale is {decode_scale!r}, want 'exact' or 'fast'")
    if seek_index not in collect.MODES:
        raise UsageError(f"DataLoader: seek_index is {seek_index!r}, want 'auto', 'use' or 'off'")


def _unique(sampler: Any, length: int) -> bool:
    """Whether the sampler, or batch sampler, is known to give each sample at most once."""
    if type(sampler) in (BatchSampler, PixelBatchSampler):
        return _unique(sampler.sampler, length)
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples <= length
    return type(sampler) in (SequentialSampler, ShuffleSampler, DistributedSampler)


def _occurrences(samples: Any, seen: Any) -> Any:
    """int64 [N]: how often each sample came before in this epoch; counts them in `seen`."""
    out = np.zeros_like(samples)
    if seen is not None:
        for position, sample in enumerate(samples):
            out[position] = seen[sample]
            seen[sample] += 1
    return out


def accelerate(loader: Any, **options: Any) -> Any:
    """A DataLoader with the same data set, samplers and arguments as `loader`; `options` are DataLoader's own keywords.

    Of timm's PrefetchLoader: the same with such a DataLoader inside.
    """
    if loaders.is_around(loader):
        return loaders.around(loader, accelerate(loader.loader, **options))
    if not isinstance(loader, torch.utils.data.DataLoader):
        raise UsageError(f"accelerate: got {type(loader).__name__}, want a torch.utils.data.DataLoader")
    if loaders.iterates_itself(loader):
        text = "which iterates in its own way; make it a plain DataLoader (timm: use_multi_epochs_loader=False)"
        raise UsageError(f"accelerate: got {type(loader).__name__}, {text}")
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator", "persistent_workers", "pin_memory_device"]
    if "in_order" in inspect.signature(torch.utils.data.DataLoader.__init__).parameters:  # torch 2.6 and newer
        names.append("in_order")
    arguments = {name: getattr(loader, name) for name in names}
    if loader.num_workers:
        arguments |= {"prefetch_factor": loader.prefetch_factor, "multiprocessing_context": loader.multiprocessing_context}
    if type(loader.batch_sampler) is BatchSampler and loader.batch_size is not None:
        arguments |= {"batch_size": loader.batch_size, "sampler": loader.sampler, "drop_last": loader.drop_last}
    elif loader.batch_sampler is not None:
        arguments["batch_sampler"] = loader.batch_sampler
    else:
        arguments |= {"batch_size": None, "sampler": loader.sampler}
    return DataLoader(loader.dataset, **arguments, **options)


__all__ = ["DataLoader", "FastloadError", "accelerate"]
