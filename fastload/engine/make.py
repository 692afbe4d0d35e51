"""The engine of a loader's route: which one, with how many threads, where its batches go."""

from multiprocessing.context import BaseContext
from typing import Protocol

import torch

from fastload.backends import choosing
from fastload.backends.base import Engine
from fastload.backends.native import cuda
from fastload.backends.table import facts
from fastload.engine import bundles
from fastload.engine.ffcv import FfcvEngine
from fastload.engine.joint import JointEngine
from fastload.engine.native import NativeEngine
from fastload.engine.pools import check_threads
from fastload.engine.tokens import TokenEngine
from fastload.engine.torch import TorchEngine
from fastload.engine.uploading import Gpu
from fastload.plan import placement, preflight
from fastload.plan.placement import Placement
from fastload.plan.plan import Plan
from fastload.sources import collect
from fastload.system import devices

MOST_AHEAD = 8  # batches under way, which threads share
# Batches that the feeder is asked for at once: at most, and of how many images or bytes in all. Few
# bytes are made so soon that they may be of more images; none takes more than BYTES.
TOGETHER, IMAGES, FEW_BYTES, BYTES = 8, 128, 8 << 20, 64 << 20


class OwnOptions(Protocol):
    """Those of a loader's own keywords that its engine depends on."""

    @property
    def device(self) -> str | None: ...
    @property
    def decode(self) -> str: ...
    @property
    def augment(self) -> str: ...
    @property
    def seek_index(self) -> str: ...


class EngineOptions(Protocol):
    """Arguments of a loader: all that its engine depends on."""

    @property
    def batch_size(self) -> int | None: ...
    @property
    def num_workers(self) -> int: ...
    @property
    def prefetch_factor(self) -> int | None: ...
    @property
    def pin_memory(self) -> bool: ...
    @property
    def multiprocessing_context(self) -> str | BaseContext | None: ...
    @property
    def _own(self) -> OwnOptions: ...


def make(loader: EngineOptions, backend: str, plan: Plan) -> Engine:
    """Of a loader whose route is this backend. Raises BackendError and DeviceError."""
    if plan.joint is not None:
        return _joint(loader, plan)
    kind = devices.kind(loader._own.device)
    runner = choosing.module(backend).compile(plan, kind)
    depth = (loader.prefetch_factor or 2) * max(1, loader.num_workers)
    pinned = (loader.pin_memory or kind == "cuda") and torch.cuda.is_available()
    kind_of = facts(backend).engine
    if kind_of == "own":  # a library with threads and queues of its own
        own: Engine = runner.engine(loader.num_workers, depth, pinned=pinned)
        return own
    if kind_of == "workers":
        return TorchEngine(
            runner, loader.num_workers, depth, pinned=pinned, context=loader.multiprocessing_context
        )
    # First, since the indexes below import pyarrow: without memory that raises, or ends, anyhow.
    check_threads(loader.num_workers)
    # Threads share every batch, so a few batches under way keep all of them busy.
    depth, seek = min(depth, MOST_AHEAD), collect.make(loader._own.seek_index, plan.source)
    images = _images(loader, plan)
    several = bundle = 1
    # Others' feeder is woken for each batch anyhow
    if kind_of == "native" and kind != "cuda" and not plan.patch and runner.goes_on:
        several = together(images, preflight.sample_bytes(runner.plan))
        bundle = 1 if pinned else bundles.size(runner.plan, images, several)
    preflight.check(runner.plan, loader.num_workers, depth + several - 1, images)
    gpu = None
    if loader._own.device is not None and kind == "cuda":
        choices = placements(loader._own, backend, plan)[0]
        gpu = Gpu(devices.opened(loader._own.device), loader._own.device, choices)
    if plan.patch:
        return TokenEngine(runner, loader.num_workers, depth, seek, pinned=pinned)
    if kind_of == "ffcv":
        return FfcvEngine(runner, loader.num_workers, depth, seek, pinned=pinned, gpu=gpu)
    return NativeEngine(
        runner, loader.num_workers, depth, seek, pinned=pinned, gpu=gpu, together=several,
        bundle=bundle,
    )  # fmt: skip


def together(images: int | None, nbytes: int) -> int:
    """Batches of a known order that the feeder is asked for at once; 1 where one is large.

    images: of a batch; nbytes: of an image. None, 0: not known.
    """
    if not images or not nbytes:
        return 1
    size = images * nbytes
    return max(1, min(TOGETHER, max(IMAGES // images, FEW_BYTES // size), BYTES // size))


def _images(loader: EngineOptions, plan: Plan) -> int | None:
    """Of a batch, of the size that the pipeline gives."""
    if not plan.patch:
        return loader.batch_size
    pixels = (plan.out.height or 1) * (plan.out.width or 1)
    return -(-plan.tokens * plan.patch**2 // pixels)


def _joint(loader: EngineOptions, plan: Plan) -> JointEngine:
    check_threads(loader.num_workers)
    depth = min((loader.prefetch_factor or 2) * max(1, loader.num_workers), MOST_AHEAD)
    pinned = loader.pin_memory and torch.cuda.is_available()
    return JointEngine(plan, loader.num_workers, depth, loader.batch_size or 1, pinned=pinned)


def placements(
    options: OwnOptions, backend: str, plan: Plan
) -> tuple[tuple[Placement, ...], list[str]]:
    """The placements that a loader with device="cuda" chooses among, and why others are none of
    them.
    """
    reasons = {
        each: cuda.unsupported(plan, each)
        for each in placement.asked_for(options.decode, options.augment)
    }
    if facts(backend).engine == "ffcv":
        for each, why in reasons.items():
            why += ["FFCV's loop decodes; use backend='native'"] * (each.decode == "gpu")
    possible = tuple(each for each, why in reasons.items() if not why)
    return possible, [f"{each} is out: {reason}" for each, why in reasons.items() for reason in why]


def explain(
    options: OwnOptions, engine: Engine | None, backend: str | None, plan: Plan
) -> list[str]:
    """Where the work on a batch runs, as DataLoader.explain says it; nothing without a GPU."""
    if backend is None or not facts(backend).on_gpu or devices.kind(options.device) == "cpu":
        return []
    choices, reasons = placements(options, backend, plan)
    chooser = (engine and engine.placements()) or placement.Chooser(choices)
    return [
        f"  {'gpu' if not number else '':7} {line}"
        for number, line in enumerate([*chooser.explain(), *reasons])
    ]
