"""The engine of a loader's route: which one, with how many threads, where its batches go."""

from typing import Any

import torch

from fastload import backends, devices, placement, preflight
from fastload.backend_facts import facts
from fastload.backends import cuda
from fastload.engine import NativeEngine
from fastload.engine_base import Engine
from fastload.engine_torch import TorchEngine
from fastload.ffcv_engine import FfcvEngine
from fastload.placement import Placement
from fastload.plan import Plan
from fastload.sources import collect
from fastload.uploading import Gpu


def make(loader: Any, backend: str, plan: Plan) -> Engine:
    """Of a loader whose route is this backend. Raises BackendError and DeviceError."""
    kind = devices.kind(loader.device)
    runner = backends.module(backend).compile(plan, kind)
    depth = (loader.prefetch_factor or 2) * max(1, loader.num_workers)
    pinned = (loader.pin_memory or kind == "cuda") and torch.cuda.is_available()
    kind_of = facts(backend).engine
    if kind_of == "own":  # a library with threads and queues of its own
        own: Engine = runner.engine(loader.num_workers, depth, pinned=pinned)
        return own
    if kind_of == "workers":
        return TorchEngine(runner, loader.num_workers, depth, pinned=pinned, context=loader.multiprocessing_context)
    # Threads share every batch, so a few batches under way keep all of them busy.
    depth, seek = min(depth, 8), collect.make(loader.seek_index, plan.source)
    preflight.check(runner.plan, loader.num_workers, depth, loader.batch_size)
    gpu = Gpu(devices.opened(loader.device), loader.device, places(loader, backend, plan)[0]) if kind == "cuda" else None
    engine = FfcvEngine if kind_of == "ffcv" else NativeEngine
    return engine(runner, loader.num_workers, depth, seek, pinned=pinned, gpu=gpu)


def places(loader: Any, backend: str, plan: Plan) -> tuple[tuple[Placement, ...], list[str]]:
    """The placements that a loader with device="cuda" chooses among, and why others are none of them."""
    reasons = {place: cuda.unsupported(plan, place) for place in placement.asked_for(loader.decode, loader.augment)}
    if facts(backend).engine == "ffcv":
        for place, why in reasons.items():
            why += ["FFCV's loop decodes; use backend='native'"] * (place.decode == "gpu")
    found = tuple(place for place, why in reasons.items() if not why)
    return found, [f"{place} is out: {reason}" for place, why in reasons.items() for reason in why]


def explain(loader: Any, backend: str | None, plan: Plan) -> list[str]:
    """Where the work on a batch runs, as DataLoader.explain says it; nothing without a GPU."""
    if backend is None or not facts(backend).places or devices.kind(loader.device) == "cpu":
        return []
    found, out = places(loader, backend, plan)
    made: Engine | None = loader._engine
    chooser = (made and made.placements()) or placement.Chooser(found)
    return [f"  {'gpu' if not number else '':7} {line}" for number, line in enumerate([*chooser.explain(), *out])]
