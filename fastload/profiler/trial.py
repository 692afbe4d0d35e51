"""Other loaders on the data set that a program trains on, tried in a child of the program as it
stops: its own loader, fastload's, other numbers of workers, a seek index.

The child has the program's data set, its files and its cores; nothing of the program is changed,
and nothing is written.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import torch.utils.data

from fastload.attach.control import Subject
from fastload.dataset import Dataset
from fastload.errors import PipelineError
from fastload.files import cache
from fastload.loader import DataLoader, lazy_images
from fastload.lowering import lower
from fastload.plan.plan import Plan
from fastload.profiler.batches import Endless, Feed, Twice, alone, begun, few
from fastload.profiler.indexed import NATIVE, folder_of
from fastload.profiler.remedies import MILDER, SURE, alternatives
from fastload.spec import Json
from fastload.system.machine import usable_cores

TURNS = 3  # of all loaders: a drift of the machine affects all of them
UNKNOWN_BATCH = 64  # images, where a batch sampler does not say
MILDER_MOST = 2  # trainings of other ops: the time is shared by all loaders
LONGEST = 2  # times the time: then the SURE first ones alone go on to the last turn
# More processes than this are not started for a trial: each has the data set once more
MOST_PROCESSES = 16

Loader = torch.utils.data.DataLoader[object]


@dataclass(frozen=True)
class Variant:
    """A loader to be tried.

    kind: "own", the program's; "workers", the same with others; "fastload"; "plain" and "indexed",
    fastload's on few images without and with a seek index; "smaller", fastload's with half the
    side; "milder", fastload's with other ops, which `name` and `how` tell.
    """

    kind: str
    workers: int
    make: Callable[[], Loader]
    name: str = ""
    how: str = ""


def measure(subject: Subject, seconds: float) -> Iterator[Json]:
    """Who would run the data set, why not natively, and images/s of each loader as it is known.

    seconds: of all measuring. Raises what a data set without a length, or a broken one, raises.
    """
    warnings.simplefilter("ignore")
    with cache.nowhere():  # seek indexes are collected in memory
        yield from _measure(subject, seconds)


def _measure(subject: Subject, seconds: float) -> Iterator[Json]:
    route = _fastload(subject, subject.workers)._route
    tier = route.backend or "pytorch"
    lazy = tier == "pytorch" and not lazy_images.why_not(wanted=True)
    # Images with boxes use no seek indexes, and their ops are torchvision's
    plan = None if route.plan is None or tier != NATIVE or route.plan.joint else route.plan
    folder = None if plan is None else folder_of(plan.source)
    yield {"tier": tier, "why": list(route.reasons), "lazy": lazy, "folder": folder}
    variants = _variants(subject, tier, lazy=lazy, indexed=folder is not None)
    if plan is not None:
        variants += _others(subject, plan)
    for tried in _turns(variants, seconds):
        yield {"loaders": tried}


def _turns(variants: list[Variant], seconds: float) -> Iterator[list[Json]]:
    """What each variant gave so far, after each turn of them.

    However slow a machine is, the program's own loader and the first other one have every turn:
    without them there is no answer.
    """
    until, each = time.perf_counter() + LONGEST * seconds, seconds / len(variants) / TURNS
    feeds: dict[Variant, Feed] = {}
    rates: dict[Variant, list[float]] = {}
    for turn in range(TURNS):
        for number, variant in enumerate(variants if turn == 0 else feeds):
            if time.perf_counter() > until and number >= SURE:
                break
            if variant not in feeds:
                feeds[variant] = begun(variant.make())
            rates.setdefault(variant, []).append(alone(feeds[variant], each))
        yield [
            {
                "kind": one.kind,
                "workers": one.workers,
                "name": one.name,
                "how": one.how,
                "img_per_s": got,
                "handover_s": feeds[one].handover,
            }
            for one, got in rates.items()
        ]


def _variants(subject: Subject, tier: str, *, lazy: bool, indexed: bool) -> list[Variant]:
    """The most useful ones first: time may run out."""
    own, cores = subject.workers, usable_cores()
    out = [Variant("own", own, partial(_torchs, subject, own))]
    if tier == NATIVE:
        numbers = dict.fromkeys((own, cores))
        out += [Variant("fastload", n, partial(_fastload, subject, n)) for n in numbers]
    elif lazy:
        out.append(Variant("fastload", own, partial(_fastload, subject, own)))
    others = min(cores, MOST_PROCESSES)
    if others != own:
        out.append(Variant("workers", others, partial(_torchs, subject, others)))
    if indexed:
        for kind, seek in (("plain", "off"), ("indexed", "auto")):
            make = partial(_fastload, subject, cores, seek, Twice(few(len(subject.dataset))))
            out.append(Variant(kind, cores, make))
    return out


def _others(subject: Subject, plan: Plan) -> Iterator[Variant]:
    """What changes the training: smaller images, and fewer ops."""
    cores = usable_cores()
    with suppress(PipelineError):  # not every pipeline gives squares
        half = max(1, plan.full // 2)
        plan.at(half)
        yield Variant("smaller", cores, partial(_fastload, subject, cores, sizes=[half]))
    pipeline = lower(subject.dataset)[0]
    if pipeline is None or plan.views:
        return
    fewer = (
        one
        for one in alternatives(pipeline, NATIVE, "cpu")
        if one.cost == MILDER and one.backend == NATIVE
    )
    for one in islice(fewer, MILDER_MOST):
        milder = replace(subject, dataset=Dataset(pipeline.with_ops(one.ops)))
        yield Variant("milder", cores, partial(_fastload, milder, cores), one.name, one.how)


def _torchs(subject: Subject, workers: int) -> Loader:
    return torch.utils.data.DataLoader(
        subject.dataset,
        subject.batch_size or UNKNOWN_BATCH,
        sampler=Endless(len(subject.dataset)),
        num_workers=workers,
        collate_fn=subject.collate,
        worker_init_fn=subject.init,
        drop_last=True,
    )


def _fastload(
    subject: Subject,
    workers: int,
    seek: str = "use",
    sampler: torch.utils.data.Sampler[int] | None = None,
    sizes: list[int] | None = None,
) -> DataLoader[object]:
    dataset: torch.utils.data.Dataset[object] = subject.dataset
    return DataLoader(
        dataset,
        subject.batch_size or UNKNOWN_BATCH,
        sampler=sampler or Endless(len(dataset)),  # type: ignore[arg-type]
        num_workers=workers,
        collate_fn=subject.collate,
        worker_init_fn=subject.init,
        drop_last=sampler is None,
        seek_index=seek,
        size_schedule=sizes,
    )
