"""fastload's loader on the data set that a program trains on, tried within the program as it stops.

The program's process has the data set, its files and its cores; nothing of it is changed.
"""

import torch.utils.data

from fastload.attach.control import Subject
from fastload.loader import DataLoader
from fastload.measure import rate
from fastload.profiler.batches import Endless, Feed
from fastload.spec import Json
from fastload.system.machine import usable_cores

REPLICATES = 5
NATIVE = "native"
UNKNOWN_BATCH = 64  # images, where a batch sampler does not say


def measure(subject: Subject, seconds: float) -> Json:
    """Who would run the data set, why not natively, and images/s by number of workers.

    seconds: of all measuring. Raises what a data set without a length, or a broken one, raises.
    """
    loaders = {workers: _loader(subject, workers) for workers in _numbers(subject.workers)}
    route = next(iter(loaders.values()))._route
    if route.backend != NATIVE:
        return {"tier": route.backend or "pytorch", "why": list(route.reasons)}
    each = seconds / len(loaders) / (REPLICATES + 1)
    rates = {str(workers): _rates(loader, each) for workers, loader in loaders.items()}
    return {"tier": NATIVE, "why": list(route.reasons), "workers": rates}


def _numbers(workers: int) -> list[int]:
    """As the program has it, and one per core."""
    return list(dict.fromkeys((workers, usable_cores())))


def _loader(subject: Subject, workers: int) -> DataLoader[object]:
    dataset: torch.utils.data.Dataset[object] = subject.dataset
    return DataLoader(
        dataset,
        subject.batch_size or UNKNOWN_BATCH,
        sampler=Endless(len(dataset)),  # type: ignore[arg-type]
        num_workers=workers,
        collate_fn=subject.collate,
        drop_last=True,
    )


def _rates(loader: DataLoader[object], seconds: float) -> list[float]:
    """The first replicate opens files and starts threads; what was ready counts for nothing."""
    feed = Feed(loader)
    feed.drain()
    return [rate(feed.take_round, seconds) for _ in range(REPLICATES + 1)][1:]
