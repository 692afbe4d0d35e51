"""Exact resume: what `state_dict()` holds, and how an epoch goes on from there.

A state is where the consumer is, not where the engine has got to: the seed and the number of the
epoch, and how many batches were handed out. Everything else follows from these, since draws are
keyed and known orders can begin anywhere.
"""

import copy
import sys
from types import FrameType

import torch
from torch.utils.data.distributed import DistributedSampler as TorchsSampler

from fastload.errors import UsageError
from fastload.order import distributed, epochs
from fastload.state import checking, fitting, keeping, packing, reading
from fastload.state.progress import Progress, ResumableLoader
from fastload.state.stateful import State, has_state, taken

WHERE = "DataLoader.load_state_dict"
# They count an epoch's batches and never ask for its end; with all of them taken, what they begin
# next is another epoch.
COUNTING = (
    "lightning.pytorch.utilities.combined_loader",
    "pytorch_lightning.utilities.combined_loader",
)


def opened(loader: ResumableLoader, pending: Progress | None) -> Progress:
    """The epoch that iter(loader) begins: the pending one goes on if the epoch and the sampler's
    epoch are still its own.
    """
    epoch, order_epoch = loader._epoch, epochs.order_epoch(loader)
    if pending and pending.epoch == epoch and pending.order_epoch in (None, order_epoch):
        if (
            pending.generator is not None
            and pending.own
            and (own := epochs.own_generator(loader)) is not None
        ):
            own.set_state(pending.generator)
        if keeping.follows(loader) and not loader.num_workers:
            pending.keeper = keeping.Alone(loader, pending.told)
            pending.keeper.restore()
        pending.settle()
        pending.begins, pending.fresh = False, loader._iterator is None
        return pending
    source, later = epochs.own_generator(loader), loader._progress.later()
    if source is None and later is not None:
        return Progress(
            epoch,
            order_epoch=order_epoch,
            generator=later,
            private=True,
            resumed=True,
            fresh=loader._iterator is None,
        )
    state = None
    if source is not None or not issubclass(type(epochs.sampler_of(loader)), epochs.PURE):
        state = torch.get_rng_state() if source is None else source.get_state()
    return Progress(
        epoch,
        order_epoch=order_epoch,
        generator=state,
        own=source is not None,
        fresh=loader._iterator is None,
    )


def state_dict(loader: ResumableLoader, progress: Progress, pending: Progress | None) -> State:
    """Where the consumer is, as numbers and text: for json, torch.save and the like.

    Called by the loader's own `state_dict`.
    """
    now, order_epoch = pending or progress, epochs.order_epoch(loader)
    counted = pending is None and not now.done and _counted(loader, now)
    if counted and now.order_epoch is not None:
        # They tell samplers the epoch after iter(), so that the sampler's own count is one less.
        order_epoch = now.order_epoch + 1
    ended = counted or (now.done and pending is None)
    own = _own_states(loader, now, ended=ended)
    if ended:
        now = _next_epoch(loader, progress, order_epoch)
    world, batch = distributed.split(loader)[0], epochs.global_batch(loader, now.epoch)
    generator = now.generator
    if not now.own and (now.order_seed is not None or now.begins):
        generator = None  # the seed says it all, or nothing was drawn
    return {
        "version": checking.VERSION,
        "epoch": now.epoch,
        "step": now.step,
        "position": None if batch is None else now.step * batch,
        "batch": batch,
        "world": world,
        "seed": loader._own.seed if now.seed is None else now.seed,
        "order_seed": now.order_seed,
        "order_epoch": now.order_epoch,
        "generator": None if generator is None else packing.packed(generator),
        "bad": now.bad,
        "sampler": epochs.described(loader),
        "length": epochs.length(loader),
        "names": checking.names(loader),
        "base_seed": now.base_seed if pending else _base_seed(loader, now, generator),
        "onward": _onward(loader, now, waits=generator is not None and now.step == 0),
        **own,
    }


def _next_epoch(loader: ResumableLoader, ended: Progress, order_epoch: int | None) -> Progress:
    """The beginning of the epoch that comes after one that has ended."""
    own, later = epochs.own_generator(loader), ended.later()
    return Progress(
        loader._epoch,
        order_epoch=order_epoch,
        generator=None if own is None else own.get_state(),
        own=own is not None,
        onward=later,
        private=later is not None,
        begins=True,
        fresh=loader._iterator is None,
    )


def _base_seed(
    loader: ResumableLoader, now: Progress, generator: torch.Tensor | None
) -> int | None:
    """Of workers that outlive epochs: later ones do not draw it. None where it is drawn again, by
    the generator whose state is saved.
    """
    if now.fresh and generator is not None:
        return None
    iterator = loader._iterator if loader.persistent_workers else None
    return int(iterator._base_seed) if iterator is not None else None


def _own_states(loader: ResumableLoader, now: Progress, *, ended: bool) -> State:
    """What samplers and data sets with a state of their own add."""
    sampler = None if loader._index_sampler is None else reading.own_sampler(loader._index_sampler)
    order = now.order_state()
    if has_state(sampler) and (ended or order is None):
        order = {"step": 0, "over": False, "sampler": taken(sampler), "iterator": None}
    states: State = {"order": order if not ended or has_state(sampler) else None}
    if keeping.follows(loader):
        keeper = now.keeper
        started = keeper is not None or now.told is not None
        states |= now.told or {} if keeper is None else keeper.told(now.step, finished=ended)
        states |= {} if started else keeping.before(loader)
    return states


def _onward(loader: ResumableLoader, now: Progress, *, waits: bool) -> str | None:
    """Where draws of later epochs begin; None: where this one's end, or they follow from a seed.

    waits: some of this one's are to come.
    """
    if not _draws(loader):
        return None
    if now.private:
        begin = now.generator if now.begins and now.onward is None else now.onward
        begin = begin if begin is not None or waits else now.later()
    else:
        begin = None if waits else torch.get_rng_state()
    return None if begin is None else packing.packed(begin)


def _draws(loader: ResumableLoader) -> bool:
    """Whether each epoch begins with draws from torch's default generator that what is handed out
    depends on.
    """
    if epochs.own_generator(loader) is not None or distributed.split(loader)[0] > 1:
        return False
    seeded = loader._own.seed is not None or loader._source is None
    if loader.num_workers and keeping.follows(loader):
        seeded = False  # its workers' generators may matter
    return not (seeded and isinstance(epochs.sampler_of(loader), epochs.PURE))


def _counted(loader: ResumableLoader, now: Progress) -> bool:
    """Whether all batches of the epoch were taken by one of COUNTING, which asks for the state."""
    frame: FrameType | None = sys._getframe()
    for _ in range(3):  # state_dict here, the loader's, and who called that
        frame = frame and frame.f_back
    if frame is None or frame.f_globals.get("__name__") not in COUNTING:
        return False
    try:
        return now.step >= len(loader)
    except TypeError:
        return False


def load(loader: ResumableLoader, state: State) -> Progress:
    """What iter() goes on with.

    Raises UsageError with everything in which the state does not fit the loader.
    """
    problems = checking.problems(state) or checking.misfits(loader, state)
    if problems:
        raise UsageError("\n".join(f"{WHERE}: {problem}" for problem in problems))
    step = _step(loader, state)
    generator, onward = (packing.unpacked(state[name]) for name in ("generator", "onward"))
    _tell(loader, state["epoch"], state["order_epoch"])
    own, private = epochs.own_generator(loader) is not None, "onward" in state and _draws(loader)
    drawn = (
        step > 0
        or state["order_seed"] is not None
        or state["seed"] != loader._own.seed
        or not state.get("_iterator_finished", True)
    )
    begins = private and generator is None and not drawn
    if begins:
        generator, onward = onward, None
    known = {name: state[name] for name in ("epoch", "seed", "order_seed", "bad")}
    return Progress(
        **known,
        step=step,
        first=step,
        order_epoch=epochs.order_epoch(loader),
        generator=generator,
        own=own,
        onward=onward,
        base_seed=state.get("base_seed"),
        private=private,
        begins=begins,
        order=copy.deepcopy(state.get("order")),
        told=fitting.told(loader, state),
        resumed=drawn or generator is not None,
    )


def _tell(loader: ResumableLoader, epoch: int, order_epoch: int | None) -> None:
    loader._epoch = epoch
    epochs.set_epoch(loader, epoch)
    sampler = epochs.sampler_of(loader)
    if order_epoch is not None and issubclass(type(sampler), (*epochs.KEYED, TorchsSampler)):
        sampler.set_epoch(order_epoch)


def _step(loader: ResumableLoader, state: State) -> int:
    """The step of this loader at which the state's samples have been taken."""
    batch = epochs.global_batch(loader, state["epoch"])
    if batch is None or state["position"] is None:
        return int(state["step"])
    step, rest = divmod(int(state["position"]), batch)
    return step + bool(rest)
