"""A loader's arguments: fastload's own checked, PyTorch's read from a loader that exists, and those that mean nothing to threads."""

import functools
import inspect
import os
import sys
from typing import Any

import torch
import torch.utils.data
from torch.utils.data import BatchSampler
from torch.utils.data import DataLoader as Torchs  # programs may put fastload's in its place

from fastload import devices, machine, room
from fastload.attach.looking import shown
from fastload.backend_facts import BACKENDS
from fastload.errors import UsageError
from fastload.lowering import loaders, reach
from fastload.pipeline import Pipeline
from fastload.placement import PLACES
from fastload.sources import collect

ON_ERROR = ("raise", "substitute", "skip")
DECODE_SCALES = ("exact", "fast")
TORCHS = frozenset(inspect.signature(Torchs.__init__).parameters) - {"self"}  # those of the installed version
OWN = (
    "backend", "device", "seed", "seek_index", "decode_scale", "size_schedule", "mix", "decode", "augment", "seed_samples",
    "on_error", "max_bad", "bad_samples", "snapshot_every_n_steps",
)  # fmt: skip
# (module, function): they seed the generators of a worker process and do nothing else.
SEEDING = (
    ("timm.data.loader", "_worker_init"),
    ("lightning.fabric.utilities.seed", "pl_worker_init_function"),
    ("lightning_fabric.utilities.seed", "pl_worker_init_function"),
    ("transformers.trainer_utils", "seed_worker"),
)


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """Those of `given` that are arguments, checked. Raises UsageError, DeviceError and HostMemoryError."""
    room.check("a loader")
    found = {name: value for name, value in given.items() if name in TORCHS or name in OWN or name == "in_order"}
    found["device"] = devices.parsed(found["device"])
    _check(found)
    return found


def _kernels(backend: str) -> bool:
    """Whether fastload's own kernels make the batches of device="cuda"."""
    return backend not in BACKENDS or BACKENDS[backend].places


def _check(options: dict[str, Any]) -> None:
    """Raise UsageError or DeviceError for values of OWN that make no sense here; backend and size_schedule are checked at their use."""
    seed = options["seed"]
    devices.check(options["device"], kernels=_kernels(options["backend"]))
    if seed is not None and not 0 <= seed < 1 << 64:
        raise UsageError(f"DataLoader: seed is {seed}, want 0 to 2**64 - 1")
    if options["decode_scale"] not in DECODE_SCALES:
        raise UsageError(f"DataLoader: decode_scale is {options['decode_scale']!r}, want 'exact' or 'fast'")
    for name in ("decode", "augment"):
        if options[name] not in PLACES:
            raise UsageError(f"DataLoader: {name} is {options[name]!r}, want 'auto', 'cpu' or 'gpu'")
    if options["seek_index"] not in collect.MODES:
        raise UsageError(f"DataLoader: seek_index is {options['seek_index']!r}, want 'auto', 'use' or 'off'")
    steps = options["snapshot_every_n_steps"]
    if steps is not None and (not isinstance(steps, int) or isinstance(steps, bool) or steps < 0):
        raise UsageError(f"DataLoader: snapshot_every_n_steps is {steps!r}, want a whole number from 0, or None")
    if problems := _error_problems(options["on_error"], options["max_bad"], options["bad_samples"]):
        raise UsageError("\n".join(f"DataLoader: {problem}" for problem in problems))
    if options["seed_samples"] and isinstance(options["dataset"], torch.utils.data.IterableDataset):
        raise UsageError("DataLoader: seed_samples=True, but an IterableDataset has no sample numbers to make seeds of; leave it out")


def _error_problems(on_error: Any, most: Any, path: Any) -> list[str]:
    found = []
    if on_error not in ON_ERROR:
        found.append(f"on_error is {on_error!r}, want 'raise', 'substitute' or 'skip'")
    count = isinstance(most, int) and not isinstance(most, bool) and most >= 0
    if not count and not (isinstance(most, float) and 0 <= most <= 1):
        found.append(f"max_bad is {most!r}, want a share of the samples (0.0 to 1.0) or a number of them (0, 1, …)")
    if path is not None and on_error == "raise":
        found.append("bad_samples is given, but on_error='raise' lists none; leave it out, or use 'substitute' or 'skip'")
    return found


def torchs(given: dict[str, Any]) -> dict[str, Any]:
    """Those of `given` that PyTorch's class takes. Raises UsageError for in_order=False where PyTorch has none (before 2.6)."""
    if "in_order" not in TORCHS and not given["in_order"]:
        raise UsageError(
            f"DataLoader: in_order is False, but torch {torch.__version__} has no such argument (want 2.6 or newer); leave it out"
        )
    workers = auto_workers() if type(given["num_workers"]) is str and given["num_workers"] == "auto" else given["num_workers"]
    return {name: value for name, value in given.items() if name in TORCHS} | {"num_workers": workers}


def auto_workers() -> int:
    """Workers for num_workers="auto": the cores that this process may use (affinity, container quotas), shared with the other
    ranks of a node that torchrun starts."""
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, machine.usable_cores() // max(1, int(ranks) if ranks.isdigit() else 1))


def strict() -> bool:
    return os.environ.get("FASTLOAD_STRICT", "") not in ("", "0")


def only_seeds(worker_init_fn: Any) -> bool:
    """Whether this is a function known to do nothing but seed a worker process, so that it is void without processes."""
    keywords: dict[str, Any] = {}
    while type(worker_init_fn) is functools.partial:
        keywords = {**worker_init_fn.keywords, **keywords}
        worker_init_fn = worker_init_fn.func
    if callable(keywords.get("worker_seeding")):  # timm's: a user's function, that may do anything
        return False
    # Never imported: a program that has not imported a library has none of its functions.
    known = ((module, name) for module, name in SEEDING if hasattr(sys.modules.get(module), name))
    return any(reach.is_function(worker_init_fn, module, name) for module, name in known)


def unlike(loader: Any, pipeline: Pipeline | None, *, ours: bool) -> list[str]:
    """Arguments that only PyTorch's own engine honours, and what of it was patched. ours: the data set is fastload's."""
    reasons = []
    if not loader._auto_collation:
        reasons.append("batch_size=None: there are no batches to make")
    elif not loaders.stacks(loader.collate_fn, pipeline):
        reasons.append(f"collate_fn is {shown(loader.collate_fn)}")
    if not ours:  # which are made into batches by nobody else
        reasons += loaders.patched(loader.collate_fn)
    if loader.worker_init_fn is not None and not only_seeds(loader.worker_init_fn):
        reasons.append(f"worker_init_fn is {shown(loader.worker_init_fn)}, and there are no worker processes")
    if loader.timeout and not loader.num_workers:
        reasons.append(f"timeout is {loader.timeout} s, and there are no workers")
    return reasons


def void(loader: Any) -> list[str]:
    """Arguments that are set and mean nothing where there are no worker processes."""
    found = []
    if loader.worker_init_fn is not None:
        found.append(f"worker_init_fn {_name(loader.worker_init_fn)} only seeds worker processes, and there are none")
    if loader.multiprocessing_context is not None:
        found.append("multiprocessing_context: there are no processes to start")
    if not getattr(loader, "in_order", True):
        found.append("in_order=False: batches come in order all the same, which costs threads nothing")
    if loader.seed_samples:
        found.append("seed_samples: every draw is already keyed by its sample")
    return found


def of(loader: Any) -> dict[str, Any]:
    """The arguments that make another loader like `loader`. Raises UsageError for a subclass that loads in its own way."""
    if not issubclass(type(loader), Torchs):  # a mock may say that it is one
        raise UsageError(f"accelerate: got {type(loader).__name__}, want a torch.utils.data.DataLoader")
    own = [name for name in ("__iter__", "_get_iterator", "__len__") if _overridden(type(loader), name)]
    if own:
        raise UsageError(f"accelerate: {_name(type(loader))} has its own {' and '.join(own)}, which would be lost; use it as it is")
    names = ["collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator", "persistent_workers", "pin_memory_device", "in_order"]
    arguments = {name: getattr(loader, name) for name in names if name in TORCHS}
    arguments |= {name: getattr(loader, name) for name in OWN if name in vars(loader)}
    arguments |= {"dataset": loader.dataset, "num_workers": loader.num_workers}
    if loader.num_workers:
        arguments |= {"prefetch_factor": loader.prefetch_factor, "multiprocessing_context": loader.multiprocessing_context}
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return arguments | {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
    if type(loader.batch_sampler) is BatchSampler and loader.batch_size is not None:
        return arguments | {"batch_size": loader.batch_size, "sampler": loader.sampler, "drop_last": loader.drop_last}
    if loader.batch_sampler is not None:
        return arguments | {"batch_sampler": loader.batch_sampler}
    return arguments | {"batch_size": None, "sampler": loader.sampler}


def _overridden(kind: type, name: str) -> bool:
    """Whether a class between `kind` and PyTorch's loader has this method; fastload's own do not count."""
    for parent in kind.__mro__:
        if parent is Torchs:
            return False
        if name in parent.__dict__ and parent.__module__ != "fastload.loader":
            return True
    return False


def _name(thing: Any) -> str:
    while type(thing) is functools.partial:
        thing = thing.func
    return f"{thing.__module__}.{thing.__qualname__}"
