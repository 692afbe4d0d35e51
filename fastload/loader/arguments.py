"""PyTorch's arguments of a loader: those of the installed version, those of a loader that exists,
and those that mean nothing to threads.
"""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import PurePath

import torch
import torch.utils.data
from torch.utils.data import BatchSampler
from torch.utils.data import DataLoader as Torchs  # programs may put fastload's in its place
from torch.utils.data.distributed import DistributedSampler as TorchsSampler

from fastload.attach.looking import asked, shown
from fastload.errors import UsageError
from fastload.loader.base import BaseLoader
from fastload.loader.options import LoaderOptions
from fastload.lowering import loaders, reach
from fastload.order import epochs, mixture
from fastload.order.distributed import DistributedSampler
from fastload.order.samplers import ShuffleSampler
from fastload.plan.pipeline import Pipeline
from fastload.spec import Json
from fastload.system import machine

# Those of the installed version.
TORCHS = frozenset(inspect.signature(Torchs.__init__).parameters) - {"self"}
# (module, function): they seed the generators of a worker process and do nothing else.
SEEDING = (
    ("timm.data.loader", "_worker_init"),
    ("lightning.fabric.utilities.seed", "pl_worker_init_function"),
    ("lightning_fabric.utilities.seed", "pl_worker_init_function"),
    ("transformers.trainer_utils", "seed_worker"),
)


def file_name(name: str, given: object) -> str | None:
    """Of an argument that may be None. Raises TypeError."""
    if given is None:
        return None
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"DataLoader: {name} is {given!r}, want the path of a file")
    return os.fspath(given)


def worker_count(num_workers: int | str) -> int:
    """Of num_workers, which may be "auto". Raises TypeError for other texts, as PyTorch does."""
    if type(num_workers) is not str and type(num_workers) is not float:
        return num_workers  # type: ignore[return-value]  # PyTorch looks at it
    if num_workers == "auto":
        return auto_workers()
    raise TypeError(f"DataLoader: num_workers is {num_workers!r}, want a whole number or 'auto'")


def check_dataset(dataset: object) -> None:
    """Raise UsageError for a path, whose letters PyTorch would hand out."""
    # By its type: a data set may answer to anything, as mocks do.
    if issubclass(type(dataset), (str, PurePath)) and os.path.exists(path := str(dataset)):
        raise UsageError(
            f"DataLoader: dataset is the path {path!r}, want a data set; give "
            f"fastload.open({path!r}, transform)"
        )


def check_exact(loader: BaseLoader[object]) -> None:
    """Raise UsageError for an exact evaluation whose batches somebody else cuts: nothing says which
    samples of these count.
    """
    batches = loader.batch_sampler
    if not epochs.is_exact(loader) or batches is None:
        return
    cut = epochs.cutting(batches)
    if cut is not None and type(cut.sampler) is DistributedSampler:
        return
    name = type(batches if cut is None else cut.sampler).__name__
    raise UsageError(
        f"DataLoader: eval_exact is given, and {name} does not say which samples of a batch count "
        "(want a fastload.DistributedSampler itself, in DataLoader's own batches); give sampler= "
        "and batch_size="
    )


def check_mix(loader: BaseLoader[object]) -> None:
    """Raise UsageError for a mix with a sampler that was made without its weights, as frameworks
    put in PyTorch's DistributedSampler by themselves.
    """
    sampler, mixed = epochs.sampler_of(loader), mixture.of_data(loader.dataset)
    if mixed is None or type(sampler) not in (TorchsSampler, ShuffleSampler, DistributedSampler):
        return
    if asked(sampler, "mixture", int) != mixture.fingerprint(mixed.recipe):
        name = f"{type(sampler).__module__.partition('.')[0]}'s {type(sampler).__name__}"
        raise UsageError(
            f"DataLoader: dataset is a mix, and this {name} does not know its weights; give "
            "sampler=fastload.DistributedSampler(dataset)"
        )


def of_version(*, in_order: bool, pin_memory_device: str) -> Json:
    """Of these those that the installed version of PyTorch's class takes.

    Raises UsageError for in_order=False where it has none (before 2.6).
    """
    if "in_order" not in TORCHS and not in_order:
        raise UsageError(
            f"DataLoader: in_order is False, but torch {torch.__version__} has no such argument "
            "(want 2.6 or newer); leave it out"
        )
    values = {"in_order": in_order, "pin_memory_device": pin_memory_device}
    return {name: value for name, value in values.items() if name in TORCHS}


def auto_workers() -> int:
    """Workers for num_workers="auto": the cores that this process may use (affinity, container
    quotas), shared with the other ranks of a node that torchrun starts."""
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, machine.usable_cores() // max(1, int(ranks) if ranks.isdigit() else 1))


def strict() -> bool:
    return os.environ.get("FASTLOAD_STRICT", "") not in ("", "0")


def only_seeds(worker_init_fn: object) -> bool:
    """Whether this is a function known to do nothing but seed a worker process, so that it is void
    without processes.
    """
    keywords: dict[str, object] = {}
    while type(worker_init_fn) is functools.partial:
        keywords = {**worker_init_fn.keywords, **keywords}
        worker_init_fn = worker_init_fn.func
    if callable(keywords.get("worker_seeding")):  # timm's: a user's function, that may do anything
        return False
    # Never imported: a program that has not imported a library has none of its functions.
    known = ((module, name) for module, name in SEEDING if hasattr(sys.modules.get(module), name))
    return any(reach.is_function(worker_init_fn, module, name) for module, name in known)


def unlike(loader: BaseLoader[object], pipeline: Pipeline | None, *, ours: bool) -> list[str]:
    """Arguments that only PyTorch's own engine honours, and what of it was patched.

    ours: the data set is fastload's.
    """
    reasons: list[str] = []
    if not loader._auto_collation:
        reasons.append("batch_size=None: there are no batches to make")
    elif pipeline and pipeline.joint:  # whose samples any function makes into batches
        return [*reasons, *_of_workers(loader)]
    elif not loaders.stacks(loader.collate_fn, pipeline):
        reasons.append(f"collate_fn is {shown(loader.collate_fn)}")
    if not ours:  # which are made into batches by nobody else
        reasons += loaders.patched(loader.collate_fn)
    return reasons + _of_workers(loader)


def _of_workers(loader: BaseLoader[object]) -> list[str]:
    """Arguments that mean something to worker processes alone."""
    reasons = []
    if loader.worker_init_fn is not None and not only_seeds(loader.worker_init_fn):
        reasons.append(
            f"worker_init_fn is {shown(loader.worker_init_fn)}, and there are no worker processes"
        )
    if loader.timeout and not loader.num_workers:
        reasons.append(f"timeout is {loader.timeout} s, and there are no workers")
    return reasons


def void(loader: BaseLoader[object]) -> list[str]:
    """Arguments that are set and mean nothing where there are no worker processes."""
    notes = []
    if loader.worker_init_fn is not None:
        notes.append(
            f"worker_init_fn {_name(loader.worker_init_fn)} only seeds worker processes, and there "
            "are none"
        )
    if loader.multiprocessing_context is not None:
        notes.append("multiprocessing_context: there are no processes to start")
    if not getattr(loader, "in_order", True):
        notes.append(
            "in_order=False: batches come in order all the same, which costs threads nothing"
        )
    if loader._own.seed_samples:
        notes.append("seed_samples: every draw is already keyed by its sample")
    return notes


SNAPSHOTS = "snapshot_every_n_steps"
# Arguments that a loader keeps in attributes of the same names, whatever it loads.
KEPT = (
    "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator", "persistent_workers",
    "pin_memory_device", "in_order",
)  # fmt: skip


def of(loader: Torchs[object]) -> Json:
    """The arguments that make another loader like `loader`.

    Raises UsageError for a subclass that loads in its own way.
    """
    _check_class(loader)
    values = {name: getattr(loader, name) for name in KEPT if name in TORCHS}
    own = vars(loader).get("_own")
    values |= vars(own) if isinstance(own, LoaderOptions) else _of_torchdata(loader)
    values |= {"dataset": loader.dataset, "num_workers": loader.num_workers}
    if loader.num_workers:
        values |= {
            "prefetch_factor": loader.prefetch_factor,
            "multiprocessing_context": loader.multiprocessing_context,
        }
    return values | _order_of(loader)


def _of_torchdata(loader: object) -> Json:
    """What its StatefulDataLoader has besides PyTorch's arguments."""
    return {name: value for name, value in vars(loader).items() if name == SNAPSHOTS}


def _check_class(loader: object) -> None:
    kind = type(loader)
    if not issubclass(kind, Torchs):  # a mock may say that it is one
        raise UsageError(f"accelerate: got {kind.__name__}, want a torch.utils.data.DataLoader")
    own = [name for name in ("__iter__", "_get_iterator", "__len__") if _overridden(kind, name)]
    if own:
        raise UsageError(
            f"accelerate: {_name(kind)} has its own {' and '.join(own)}, which would be "
            "lost; use it as it is"
        )


def _order_of(loader: Torchs[object]) -> dict[str, object]:
    """The arguments that say which samples are in which batch."""
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
    if type(loader.batch_sampler) is BatchSampler and loader.batch_size is not None:
        return {
            "batch_size": loader.batch_size,
            "sampler": loader.sampler,
            "drop_last": loader.drop_last,
        }
    if loader.batch_sampler is not None:
        return {"batch_sampler": loader.batch_sampler}
    return {"batch_size": None, "sampler": loader.sampler}


def _overridden(kind: type, name: str) -> bool:
    """Whether a class between `kind` and PyTorch's loader has this method; fastload's own do not
    count.
    """
    for parent in kind.__mro__:
        if parent is Torchs:
            return False
        if name in parent.__dict__ and not parent.__module__.startswith("fastload.loader."):
            return True
    return False


def _name(thing: Callable[..., object]) -> str:
    while type(thing) is functools.partial:
        thing = thing.func
    return f"{thing.__module__}.{thing.__qualname__}"
