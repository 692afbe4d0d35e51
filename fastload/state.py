"""Exact resume: what `state_dict()` holds, and how an epoch goes on from there.

A state is where the consumer is, not where the engine has got to: the seed and the number of the epoch, and how many batches were
handed out. Everything else follows from these, since draws are keyed and known orders can begin anywhere.
"""

import copy
import sys
from typing import Any

import torch
from torch.utils.data.distributed import DistributedSampler as TorchsSampler

from fastload import distributed, epochs, fitting, keeping, packing, reading, rng
from fastload.errors import UsageError
from fastload.progress import Progress
from fastload.stateful import has_state, taken

VERSION = 1
WHERE = "DataLoader.load_state_dict"
# They count an epoch's batches and never ask for its end; with all of them taken, what they begin next is another epoch.
COUNTING = ("lightning.pytorch.utilities.combined_loader", "pytorch_lightning.utilities.combined_loader")


def opened(loader: Any, pending: Progress | None) -> Progress:
    """The epoch that iter(loader) begins: the pending one goes on if the epoch and the sampler's epoch are still its own."""
    epoch, order_epoch = loader._epoch, epochs.order_epoch(loader)
    if pending and pending.epoch == epoch and pending.order_epoch in (None, order_epoch):
        if pending.generator is not None and pending.own and (own := epochs.own_generator(loader)) is not None:
            own.set_state(pending.generator)
        if keeping.follows(loader) and not loader.num_workers:
            pending.keeper = keeping.Alone(loader, pending.told)
            pending.keeper.restore()
        pending.settle()
        pending.begins, pending.fresh = False, loader._iterator is None
        return pending
    source, later = epochs.own_generator(loader), loader._progress.later()
    if source is None and later is not None:
        return Progress(epoch, order_epoch=order_epoch, generator=later, private=True, resumed=True, fresh=loader._iterator is None)
    state = None
    if source is not None or not issubclass(type(epochs.sampler_of(loader)), epochs.PURE):
        state = torch.get_rng_state() if source is None else source.get_state()
    return Progress(epoch, order_epoch=order_epoch, generator=state, own=source is not None, fresh=loader._iterator is None)


def state_dict(loader: Any, progress: Progress, pending: Progress | None) -> dict[str, Any]:
    """Where the consumer is, as numbers and text: for json, torch.save and the like. Called by the loader's own `state_dict`."""
    now, order_epoch = pending or progress, epochs.order_epoch(loader)
    counted = pending is None and not now.done and _counted(loader, now)
    if counted and now.order_epoch is not None:
        order_epoch = now.order_epoch + 1  # they tell samplers the epoch after iter(), so that the sampler's own count is behind
    ended = counted or (now.done and pending is None)
    more = _more(loader, now, ended=ended)
    if ended:
        own, later = epochs.own_generator(loader), progress.later()
        kept = None if own is None else own.get_state()
        now = Progress(loader._epoch, order_epoch=order_epoch, generator=kept, own=own is not None, onward=later, private=later is not None)
        now.begins, now.fresh = True, loader._iterator is None
    world, batch = distributed.split(loader)[0], epochs.global_batch(loader, now.epoch)
    kept, fresh = now.generator, now.fresh
    if not now.own and (now.order_seed is not None or now.begins):
        kept = None  # the seed says it all, or nothing was drawn
    return {
        "version": VERSION,
        "epoch": now.epoch,
        "step": now.step,
        "position": None if batch is None else now.step * batch,
        "batch": batch,
        "world": world,
        "seed": loader.seed if now.seed is None else now.seed,
        "order_seed": now.order_seed,
        "order_epoch": now.order_epoch,
        "generator": None if kept is None else packing.packed(kept),
        "bad": now.bad,
        "sampler": epochs.described(loader),
        "length": epochs.length(loader),
        "names": epochs.names(loader),
        "base_seed": now.base_seed if pending else None if fresh and kept is not None else _base_seed(loader),
        "onward": _onward(loader, now, waits=kept is not None and now.step == 0),
        **more,
    }


def _base_seed(loader: Any) -> int | None:
    """Of workers that outlive epochs: later ones do not draw it."""
    iterator = loader._iterator if loader.persistent_workers else None
    return int(iterator._base_seed) if iterator is not None else None


def _more(loader: Any, now: Progress, *, ended: bool) -> dict[str, Any]:
    """What samplers and data sets with a state of their own add."""
    sampler = None if loader._index_sampler is None else reading.own_sampler(loader._index_sampler)
    order = now.order_state()
    if has_state(sampler) and (ended or order is None):
        order = {"step": 0, "over": False, "sampler": taken(sampler), "iterator": None}
    found: dict[str, Any] = {"order": order if not ended or has_state(sampler) else None}
    if keeping.follows(loader):
        keeper = now.keeper
        started = keeper is not None or now.told is not None
        found |= now.told or {} if keeper is None else keeper.told(now.step, finished=ended)
        found |= {} if started else keeping.before(loader)
    return found


def _onward(loader: Any, now: Progress, *, waits: bool) -> str | None:
    """Where draws of later epochs begin; None: where this one's end, or they follow from a seed. waits: some of this one's are to come."""
    if not _draws(loader):
        return None
    if now.private:
        begin = now.generator if now.begins and now.onward is None else now.onward
        begin = begin if begin is not None or waits else now.later()
    else:
        begin = None if waits else torch.get_rng_state()
    return None if begin is None else packing.packed(begin)


def _draws(loader: Any) -> bool:
    """Whether each epoch begins with draws from torch's default generator that what is handed out depends on."""
    if epochs.own_generator(loader) is not None or distributed.split(loader)[0] > 1:
        return False
    seeded = loader.seed is not None or loader._route.plan is None
    if loader.num_workers and keeping.follows(loader):
        seeded = False  # its workers' generators may matter
    return not (seeded and isinstance(epochs.sampler_of(loader), epochs.PURE))


def _counted(loader: Any, now: Progress) -> bool:
    """Whether all batches of the epoch were taken by one of COUNTING, which asks for the state."""
    frame: Any = sys._getframe()
    for _ in range(3):  # state_dict here, the loader's, and who called that
        frame = frame and frame.f_back
    if frame is None or frame.f_globals.get("__name__") not in COUNTING:
        return False
    try:
        return now.step >= len(loader)
    except TypeError:
        return False


def load(loader: Any, given: Any) -> Progress:
    """What iter() goes on with. Raises UsageError with everything in which the state does not fit the loader."""
    problems = _wrong_kind(given) or _misfits(loader, given)
    if problems:
        raise UsageError("\n".join(f"{WHERE}: {problem}" for problem in problems))
    step = _step(loader, given)
    generator, onward = (packing.unpacked(given[name]) for name in ("generator", "onward"))
    _tell(loader, given["epoch"], given["order_epoch"])
    own, private = epochs.own_generator(loader) is not None, "onward" in given and _draws(loader)
    drawn = step > 0 or given["order_seed"] is not None or given["seed"] != loader.seed or not given.get("_iterator_finished", True)
    begins = private and generator is None and not drawn
    if begins:
        generator, onward = onward, None
    known = {name: given[name] for name in ("epoch", "seed", "order_seed", "bad")}
    return Progress(
        **known,
        step=step,
        first=step,
        order_epoch=epochs.order_epoch(loader),
        generator=generator,
        own=own,
        onward=onward,
        base_seed=given.get("base_seed"),
        private=private,
        begins=begins,
        order=copy.deepcopy(given.get("order")),
        told=fitting.told(loader, given),
        resumed=drawn or generator is not None,
    )


def _tell(loader: Any, epoch: int, order_epoch: int | None) -> None:
    loader._epoch = epoch
    epochs.set_epoch(loader, epoch)
    sampler = epochs.sampler_of(loader)
    if order_epoch is not None and issubclass(type(sampler), (*epochs.KEYED, TorchsSampler)):
        sampler.set_epoch(order_epoch)


NUMBERS = ("epoch", "step", "position", "batch", "world", "seed", "order_seed", "order_epoch", "bad", "length")
NEEDED = ("epoch", "step", "world", "bad")
TEXTS = ("sampler", "names")


def _wrong_kind(given: Any) -> list[str]:
    """What is no state of this version at all."""
    if not isinstance(given, dict) or "version" not in given:
        return [f"got {type(given).__name__} without 'version', want what DataLoader.state_dict() gave"]
    if given["version"] != VERSION:
        return [f"version is {given['version']!r}, want {VERSION}; use the fastload that wrote the state"]
    if missing := [name for name in (*NUMBERS, *TEXTS, "generator") if name not in given]:
        return [f"the state has no {', '.join(missing)}; want what DataLoader.state_dict() gave"]
    least = {"batch": 1, "world": 1}
    most = {"epoch": rng.MOST_EPOCH, "seed": (1 << 64) - 1, "order_epoch": rng.MOST_EPOCH}
    found = []
    for name in NUMBERS:
        value, top = given[name], most.get(name, (1 << 63) - 1)
        if value is None and name not in NEEDED:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not least.get(name, 0) <= value <= top:
            found.append(f"{name} is {value!r}, want a whole number from {least.get(name, 0)} to {top}")
    for name in TEXTS:
        if not isinstance(given[name], str):
            found.append(f"{name} is {given[name]!r}, want a text")
        elif not given[name].isprintable():
            found.append(f"{name} is {given[name]!r}, want one line")
    return found + packing.problems(given) + fitting.problems(given)


def _misfits(loader: Any, given: dict[str, Any]) -> list[str]:
    """In what the state is another loader's."""
    length, mine = epochs.length(loader), epochs.names(loader)
    found = fitting.misfits(loader, given, epochs.global_batch(loader, given["epoch"]))
    if given["length"] != length:
        found.append(f"the state is of a data set of {given['length']} samples, this one has {length}; use the same data set")
    elif mine and given["names"] and given["names"] != mine:
        found.append(f"the state is of a data set with other names or labels (got {given['names']}, want {mine}); use the same data set")
    if given["sampler"] != epochs.described(loader):
        found.append(f"the state's order is of {given['sampler']}, the loader's of {epochs.described(loader)}; use the same sampler")
    if loader.seed is not None and given["seed"] != loader.seed:
        found.append(f"the state has seed {given['seed']}, the loader {loader.seed}; use the same seed, or leave it out")
    batch, world = epochs.global_batch(loader, given["epoch"]), distributed.split(loader)[0]
    if batch is None or given["batch"] is None or given["position"] is None:
        if (batch, world) != (given["batch"], given["world"]):
            mine, theirs = (
                f"{each or 'unknown'} samples on {ranks} ranks" for each, ranks in ((batch, world), (given["batch"], given["world"]))
            )
            found.append(f"a step of the state has {theirs}, of the loader {mine}; use the same batch sampler on as many ranks")
    elif given["position"] % batch and given["step"] and not _over(loader, given):
        found.append(
            f"{given['position']} samples were taken, which is no multiple of {batch} (batches of {batch // world} on {world} ranks); "
            f"use a batch size that divides, such as {given['batch'] // world or 1}"
        )
    return found


def _over(loader: Any, given: dict[str, Any]) -> bool:
    """Whether the state's epoch has given all its samples."""
    try:
        return bool(given["position"] >= len(epochs.sampler_of(loader)) * distributed.split(loader)[0])
    except TypeError:
        return False


def _step(loader: Any, given: dict[str, Any]) -> int:
    """The step of this loader at which the state's samples have been taken."""
    batch = epochs.global_batch(loader, given["epoch"])
    if batch is None or given["position"] is None:
        return int(given["step"])
    step, rest = divmod(int(given["position"]), batch)
    return step + bool(rest)
