"""Exact resume: what `state_dict()` holds, and how an epoch goes on from there.

A state is where the consumer is, not where the engine has got to: the seed and the number of the epoch, and how many batches were
handed out. Everything else follows from these, since draws are keyed and known orders can begin anywhere.
"""

import base64
import binascii
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler as TorchsSampler

from fastload import distributed, epochs, rng
from fastload.errors import UsageError

VERSION = 1
WHERE = "DataLoader.load_state_dict"
# They count an epoch's batches and never ask for its end; with all of them taken, what they begin next is another epoch.
COUNTING = ("lightning.pytorch.utilities.combined_loader", "pytorch_lightning.utilities.combined_loader")


@dataclass
class Progress:
    """An epoch on its way; the loader and its newest iterator share it."""

    epoch: int
    step: int = 0  # batches that the consumer has received, or that failed
    first: int = 0  # the step at which this iterator began
    seed: int | None = None  # of all draws; known once the iterator is open
    order_seed: int | None = None  # that a RandomSampler drew from torch's default generator
    order_epoch: int | None = None  # of a sampler that counts its own epochs
    generator: torch.Tensor | None = None  # state of the generator that the order depends on, before anything was drawn
    own: bool = False  # whether that is one of the user's, not torch's default one
    bad: int = 0  # samples of the epoch that on_error has passed over
    done: bool = False
    resumed: bool = False
    _after: torch.Tensor | None = None  # of torch's default generator, where a resumed sampler goes on drawing
    _inside: bool = False

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Draws from torch's default generator are those of the first time, and leave it as it is now; of a resumed epoch only."""
        if not self.resumed or self._inside:
            yield
            return
        now = torch.get_rng_state()
        then = self.generator if self._after is None else self._after
        if then is not None and not self.own:
            torch.set_rng_state(then)
        self._inside = True
        try:
            yield
        finally:
            self._inside, self._after = False, torch.get_rng_state()
            torch.set_rng_state(now)

    def draw(self) -> int:
        """The seed of a RandomSampler that has no generator."""
        if self.order_seed is None:
            with self.replaying():
                self.order_seed = rng.draw_seed(None)
        return self.order_seed


def opened(loader: Any, pending: Progress | None) -> Progress:
    """The epoch that iter(loader) begins: the pending one goes on if the epoch and the sampler's epoch are still its own."""
    epoch, order_epoch = loader._epoch, epochs.order_epoch(loader)
    if pending and pending.epoch == epoch and pending.order_epoch in (None, order_epoch):
        if pending.generator is not None and (own := epochs.own_generator(loader)) is not None:
            own.set_state(pending.generator)
        return pending
    source = epochs.own_generator(loader)
    state = None
    if source is not None or not issubclass(type(epochs.sampler_of(loader)), epochs.PURE):
        state = torch.get_rng_state() if source is None else source.get_state()
    return Progress(epoch, order_epoch=order_epoch, generator=state, own=source is not None)


def state_dict(loader: Any, progress: Progress | None, pending: Progress | None) -> dict[str, Any]:
    """Where the consumer is, as numbers and text: for json, torch.save and the like. Called by the loader's own `state_dict`."""
    now, order_epoch = pending or progress, epochs.order_epoch(loader)
    counted = now is not None and pending is None and not now.done and _counted(loader, now)
    if counted and now is not None and now.order_epoch is not None:
        order_epoch = now.order_epoch + 1  # they tell samplers the epoch after iter(), so that the sampler's own count is behind
    if now is None or counted or (now.done and pending is None):
        own = epochs.own_generator(loader)
        kept = None if own is None else own.get_state()
        now = Progress(loader._epoch, order_epoch=order_epoch, generator=kept, own=own is not None)
    world, batch = distributed.split(loader)[0], epochs.global_batch(loader, now.epoch)
    kept = now.generator
    if not now.own and now.order_seed is not None:
        kept = None  # the seed says it all
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
        "generator": None if kept is None else base64.b64encode(kept.numpy().tobytes()).decode(),
        "bad": now.bad,
        "sampler": epochs.described(loader),
        "length": epochs.length(loader),
        "names": epochs.names(loader),
    }


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
    kept = given["generator"]
    generator = None if kept is None else torch.from_numpy(np.frombuffer(base64.b64decode(kept), np.uint8).copy())
    _tell(loader, given["epoch"], given["order_epoch"])
    own = epochs.own_generator(loader) is not None
    known = {name: given[name] for name in ("epoch", "step", "seed", "order_seed", "bad")}
    return Progress(
        **known | {"step": step}, first=step, order_epoch=epochs.order_epoch(loader), generator=generator, own=own, resumed=True
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
    return found + _wrong_generator(given["generator"])


def _wrong_generator(kept: Any) -> list[str]:
    if kept is None:
        return []
    try:
        state = base64.b64decode(kept, validate=True)
        torch.Generator().set_state(torch.from_numpy(np.frombuffer(state, np.uint8).copy()))
    except (TypeError, ValueError, RuntimeError, binascii.Error):
        return ["generator is no state of a torch.Generator on the CPU"]
    return []


def _misfits(loader: Any, given: dict[str, Any]) -> list[str]:
    """In what the state is another loader's."""
    found, length, mine = [], epochs.length(loader), epochs.names(loader)
    if isinstance(loader.dataset, torch.utils.data.IterableDataset) and given["step"]:
        found.append(f"step is {given['step']}, but an IterableDataset has no order to go on in; resume it at the start of an epoch")
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
