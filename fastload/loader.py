"""`DataLoader`, the drop-in: PyTorch's class, with the native engine inside for what fastload recognises."""

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.utils.data

from fastload import arguments, backends, devices, engines, epochs, explaining, iterators, lowering, orders, progressive, rng, state
from fastload.bad_samples import BadSamples
from fastload.dataset import Dataset
from fastload.engine_base import Engine, Order
from fastload.errors import BackendError, FastloadError, PipelineError
from fastload.keeping import follows
from fastload.lowering import loaders
from fastload.meter import Meter
from fastload.opening import Opening
from fastload.plan import Plan, plan
from fastload.progress import Progress
from fastload.samplers import ShuffleSampler
from fastload.stateful import has_state
from fastload.transforms import Mix
from fastload.transforms.mix import as_mix

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class _Route:
    """Who runs a data set, and why."""

    backend: str | None  # None: PyTorch's own engine
    plan: Plan | None
    reasons: tuple[str, ...]  # why not natively
    marks: lowering.Marks  # what it was found for
    why: str = ""  # of the backends that can, why this one


class DataLoader(torch.utils.data.DataLoader[T_co]):
    """torch.utils.data.DataLoader with every argument of it, plus, keyword-only:

    backend: "auto" (native where it can, else PyTorch's own engine; of those with the same pixels the fastest, once `fastload profile
             --backend all` has measured them), "native", "torch" (the reference), "ffcv" (FFCV's loop over a .beton file), "dali"
             (NVIDIA DALI, the same draws) or "dali-own" (DALI's own draws); all but "auto" raise where they cannot.
    device:  None or "cpu"; "cuda" fills batches on the current GPU, normalised there, "cuda:1" on that one.
    decode, augment: "cpu", or with device="cuda" "gpu": where JPEGs are decoded and cropped, and where AUGMENT runs; the pixels are
             the same. "auto" tries what is possible in the first batches of each size, and stays with what leaves training fastest.
    seed:    fixes order and augmentation for good; None draws one from `generator` at each iter(), as torch does.
    seek_index: "auto" uses the index of where JPEG decoding can begin, and collects in the first epoch what is missing of a
             folder's, in the user's cache; "use" only uses what is there; "off" decodes from each image's first tile.
    decode_scale: "exact"; "fast" decodes a JPEG at 1/2, 1/4 or 1/8 of its size where the crop's box is at least that much larger
             than what it is resized to. Faster, and the pixels differ a little from torchvision's.
    size_schedule: images of another size, batch by batch: ProgressiveResize, progressive.Ramp, a list of sizes per epoch (the last
             stays) or a function of the epoch; px. Epochs count from 0, as in set_epoch.
    mix:     transforms.MixUp, CutMix, LabelSmoothing or RandomChoice of them; labels become float32 [N, classes].
    seed_samples: True seeds Python, NumPy and torch before each sample of a data set that PyTorch's own engine runs, so that its
             augmentation does not depend on the worker count.

    on_error: of an image that cannot be read or decoded: "raise"; "substitute" puts another sample with its own label in its place; "skip"
             hands out a shorter batch. max_bad: how many of an epoch's samples may be bad: a share, rounded up, or a count.
    bad_samples: a file for the list of them, one line of JSON each; None: in the user's cache. docs/bad-images.md.
    snapshot_every_n_steps: how often worker processes send a data set's own state; other states cost nothing. docs/resume.md.

    num_workers may be "auto": the cores that this process may use. Natively it counts threads, and 0 runs in the caller's thread.
    Several threads may iterate one loader, each its own iterator. FASTLOAD_STRICT=1 makes an error of what could not run natively.
    Raises what torch raises, and PipelineError, BackendError, DeviceError and UsageError. docs/differences.md: what differs from torch.
    """

    backend: str
    device: str | None
    seed: int | None
    seek_index: str
    decode_scale: str
    size_schedule: progressive.SizeSchedule | None
    mix: Mix | None
    decode: str
    augment: str
    seed_samples: bool
    on_error: str
    max_bad: float
    bad_samples: str | None
    snapshot_every_n_steps: int | None

    def __init__(
        self,
        dataset: torch.utils.data.Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int | str = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        backend: str = "auto",
        device: str | None = None,
        seed: int | None = None,
        seek_index: str = "auto",
        decode_scale: str = "exact",
        size_schedule: Any = None,
        mix: Any = None,
        decode: str = "auto",
        augment: str = "auto",
        seed_samples: bool = False,
        on_error: str = "raise",
        max_bad: float = 0.01,
        bad_samples: Any = None,
        snapshot_every_n_steps: int | None = 1,
    ) -> None:
        given = arguments.checked(locals())
        if seed is not None and shuffle and sampler is None and not isinstance(dataset, torch.utils.data.IterableDataset):
            given |= {"sampler": ShuffleSampler(dataset, seed), "shuffle": None}  # type: ignore[arg-type]  # it has a length
        super().__init__(**arguments.torchs(given))
        self._set_up({name: given[name] for name in arguments.OWN})

    def _set_up(self, own: dict[str, Any]) -> None:
        own |= {"size_schedule": progressive.schedule(own["size_schedule"]), "mix": as_mix(own["mix"])}
        own["bad_samples"] = None if own["bad_samples"] is None else os.fspath(own["bad_samples"])
        self.__dict__.update(own)
        self._epoch = 0  # of the next iter()
        self._progress = Progress(0, done=True)  # of the last iter()
        self._pending: Progress | None = None  # loaded, for the next iter()
        self._early: Any = None  # an iterator that state_dict() has begun, for the next iter()
        self._meter, self._opening = Meter(), Opening()
        self._sizes: set[int] = set()  # found possible
        self._steps = orders.count_steps(self)
        self._engine: Engine | None = None
        self._route = self._find_route()
        self.check_worker_number_rationality()

    def __iter__(self) -> Any:
        with self._opening.alone():
            self._look_again()
            early, self._early = self._early, None
            if early is not None and self._progress.epoch == self._epoch - 1:
                return early
            self._progress, self._pending = state.opened(self, self._pending), None
            self._epoch = self._progress.epoch + 1
            with self._progress.replaying():
                return super().__iter__()

    def _get_iterator(self) -> Any:
        if self._route.backend is not None:
            return iterators.Native(self)
        self.check_worker_number_rationality()
        return iterators.opened(self)

    def _batches(self, sampler: Iterator[Any], base_seed: int) -> Any:
        """The epoch that was opened last, on fastload's engines; base_seed: what PyTorch's class drew from `generator`."""
        devices.check_process(self.device)
        if self._engine is None or self._engine.forked:
            self._engine = self._make_engine(self._route)
            source = self._route.plan.source  # type: ignore[union-attr]  # who has a backend has a plan
            self._bad = BadSamples(source, self.bad_samples, self.max_bad)
        self._engine.on_bad = functools.partial(self._bad.take, self._meter, self._progress)
        seed, progress = orders.seed(self, base_seed), self._progress
        return self._engine.epoch(self._works(self._route.plan, seed, progress.epoch, sampler, progress), self.timeout)

    def check_worker_number_rationality(self) -> None:
        """torch's warning about too many worker processes, where there are any: native workers are threads."""
        route = self.__dict__.get("_route")
        if route is not None and route.backend in (None, "torch"):
            super().check_worker_number_rationality()

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is epoch `epoch`, from 0: reaches the random keys, the samplers and the data set. Raises UsageError."""
        self._epoch = rng.checked_epoch("DataLoader.set_epoch", epoch)
        epochs.set_epoch(self, self._epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer is, in numbers and texts: up to 1 KiB, 8 KiB with a generator. See docs/resume.md."""
        begun = self._pending is not None or self._engine is not None or self._progress.keeper is not None
        if self.num_workers and not begun and follows(self) and has_state(self.dataset):
            self._early = iter(self)  # the first state is the workers'
        return state.state_dict(self, self._progress, self._pending)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The next iter() goes on behind the last batch that the state knows. Raises UsageError for a state that is not this loader's."""
        self._look_again()
        self._pending, self._early = state.load(self, state_dict), None
        self._iterator = None  # its workers know another state

    def explain(self) -> str:
        """Who runs this loader, and why what is not native is not: one line each."""
        return "\n".join(explaining.lines(self))

    def stats(self) -> dict[str, Any]:
        """Counted since the loader was made, over all epochs: images and batches handed out, images_per_s (the consumer's own time
        included), elapsed_s, wait_s (inside next()), queue_depth (batches that were done when one was asked for, mean), bad_samples
        (errors raised), fallbacks (why not natively) and stages, of native threads: samples, wall_s and cpu_s of each."""
        pool = self._engine.stats() if self._engine else {}
        stages = {stage: {"samples": samples, "wall_s": wall / 1e9, "cpu_s": cpu / 1e9} for stage, (samples, wall, cpu) in pool.items()}
        return {**self._meter.as_dict(), "fallbacks": self._route.reasons, "stages": stages}

    def decodes(self) -> dict[str, int]:
        """How JPEGs were decoded since the loader was made: "indexed" (only the tiles under the crop), "whole" (from the
        first tile on), "library" (libjpeg-turbo). Besides: "refused" counts seek indexes that did not fit their file, "scaled" images that
        decode_scale="fast" decoded at less than their size."""
        return self._engine.ways() if self._engine else {}

    def __getstate__(self) -> dict[str, Any]:
        gone = dict.fromkeys(("_engine", "_iterator", "_early"))  # threads stay here; a copy starts its own
        return {**self.__dict__, **gone, "_meter": Meter(), "_opening": Opening()}

    def _watched(self) -> Iterator[Any]:
        """What the route and the engine depend on, and programs change after the loader was made."""
        yield from lowering.watched(self.dataset)
        yield lowering.Equal(loaders.patched(self.collate_fn))
        yield from (self.collate_fn, self.worker_init_fn, self.timeout, self.num_workers, self.prefetch_factor, self.pin_memory)

    def _look_again(self) -> None:
        """Find the route anew if what it was found for has changed."""
        if self._route.marks.fit(self._watched()):
            return
        before, self._route = self._route, self._find_route()
        self._engine, self._sizes, self._steps = None, set(), orders.count_steps(self)
        if before.backend is not None or self._route.backend is not None:
            self._iterator = None  # PyTorch's persistent workers stay, as they do in PyTorch

    def _find_route(self) -> _Route:
        marks = lowering.Marks(self._watched())
        pipeline, reasons = lowering.lower(self.dataset)
        ours = type(self.dataset) is Dataset
        reasons = [*reasons, *arguments.unlike(self, pipeline, ours=ours)]
        if pipeline is None or reasons:
            return self._own_engine(reasons, marks)
        try:
            found = plan(
                pipeline,
                self.decode_scale,
                self.size_schedule,
                mix=self.mix,
                decode=self.decode,
                augment=self.augment,
                device=self.device,
                on_error=self.on_error,
            )
            # A foreign data set that is not native is best left to the engine that its author knows, which mixes nothing.
            among = backends.AUTO if ours or self.mix else ("native",)
            backend, why_not, why = backends.choose(self.backend, found, devices.kind(self.device), among)
        except (PipelineError, BackendError) as error:
            if ours or self._insists():
                raise
            return self._own_engine(str(error).splitlines(), marks)
        if why_not and arguments.strict():
            raise BackendError("\n".join(f"loader: FASTLOAD_STRICT forbids the {backend} backend: {reason}" for reason in why_not))
        return _Route(backend, found, tuple(why_not), marks, why)

    def _own_engine(self, reasons: list[str], marks: lowering.Marks) -> _Route:
        if what := self._insists():
            instead = ["loader: leave mix out, and call it on the batches: images, labels = mix(images, labels)"] * (what == "mix")
            raise BackendError("\n".join([*(f"loader: {what} cannot run this data set: {reason}" for reason in reasons), *instead]))
        if arguments.strict():
            raise BackendError("\n".join(f"loader: FASTLOAD_STRICT forbids PyTorch's own engine: {reason}" for reason in reasons))
        return _Route(None, None, tuple(reasons), marks)

    def _insists(self) -> str:
        """The argument that PyTorch's own engine cannot honour, so that it is no way out; "" if there is none."""
        if self.backend != "auto":
            return f"backend={self.backend!r}"
        if devices.kind(self.device) == "cuda" or "gpu" in (self.decode, self.augment):
            return "decode='gpu'" if self.decode == "gpu" else "augment='gpu'" if self.augment == "gpu" else f"device={self.device!r}"
        if self.on_error != "raise":
            return f"on_error={self.on_error!r}"
        if epochs.is_exact(self):
            return "eval_exact"
        return "size_schedule" if self.size_schedule else "mix" if self.mix else ""

    def _make_engine(self, route: _Route) -> Engine:
        return engines.make(self, route.backend or "", route.plan)  # type: ignore[arg-type]  # who has a backend has a plan

    def _works(
        self, plan: Any, seed: int, epoch: int, sampler: Iterator[Any] | None = None, progress: Progress | None = None
    ) -> Iterator[Order]:
        """The epoch's batches in order. Runs in the consumer's thread: samplers are the user's."""
        return orders.works(self, plan, progress or Progress(epoch), seed, sampler)


def accelerate(loader: Any, **options: Any) -> Any:
    """A DataLoader with the same data set, samplers and arguments as `loader`, none copied; `options` are DataLoader's own keywords,
    and win. Of timm's PrefetchLoader: the same with such a DataLoader inside; what Accelerator.prepare made gets one inside and is
    returned itself. Raises UsageError for a class that loads in its own way."""
    if (inner := loaders.inside(loader)) is not None:
        return loaders.around(loader, accelerate(inner, **options))
    return DataLoader(**{**arguments.of(loader), **options})


__all__ = ["DataLoader", "FastloadError", "accelerate"]
