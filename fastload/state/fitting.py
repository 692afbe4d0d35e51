"""Whether a state fits a loader, as far as data sets and samplers with a state of their own are
concerned.
"""

import copy
from typing import TypeGuard

from fastload.state import keeping
from fastload.state.loaders import FollowedLoader
from fastload.state.stateful import State, has_state

MOST = (1 << 63) - 1


def problems(state: State) -> list[str]:
    """What in the state is not what `DataLoader.state_dict` gives."""
    order, snapshot, ahead = state.get("order"), state.get("_snapshot"), state.get("ahead", [])
    wrong = []
    if order is not None and not (_has(order, "sampler", "iterator") and _whole(order.get("step"))):
        wrong.append("order is no state of a sampler")
    if snapshot is not None and not _is_snapshot(snapshot):
        wrong.append("_snapshot is no state of workers")
    if not isinstance(ahead, list) or not all(map(_whole, ahead)) or len(set(ahead)) < len(ahead):
        wrong.append("ahead is no list of steps")
    if state.get("base_seed") is not None and not _whole(state["base_seed"]):
        wrong.append(f"base_seed is {state['base_seed']!r}, want a whole number from 0 to {MOST}")
    fetcher = state.get("fetcher_state")
    if fetcher is not None and not _has(fetcher, "dataset_iter_state", "fetcher_ended"):
        wrong.append("fetcher_state is no state of an iterable data set")
    if any(name in state for name in keeping.KEYS) and not isinstance(
        state.get("_iterator_finished"), bool
    ):
        wrong.append("_iterator_finished is neither true nor false")
    return wrong


def _is_snapshot(snapshot: object) -> bool:
    if not _has(snapshot, "_last_yielded_worker_id", "_main_snapshot", "_worker_snapshots"):
        return False
    main, told = snapshot["_main_snapshot"], snapshot["_worker_snapshots"]
    if not _has(main, "_base_seed", "_num_workers") or not isinstance(told, dict) or not told:
        return False
    workers = main["_num_workers"]
    if list(told) != [f"worker_{n}" for n in range(len(told))] or workers != len(told):
        return False
    if (
        not _whole(snapshot["_last_yielded_worker_id"])
        or snapshot["_last_yielded_worker_id"] >= workers
    ):
        return False
    return _whole(main["_base_seed"]) and all(map(_is_worker, told.values()))


def _is_worker(told: object) -> bool:
    if not _has(told, "dataset_state", "fetcher_state", "batches", "given"):
        return False
    fetcher = told["fetcher_state"]
    if fetcher is not None and not _has(fetcher, "dataset_iter_state", "fetcher_ended"):
        return False
    return _whole(told["batches"]) and _whole(told["given"]) and told["batches"] <= told["given"]


def _has(thing: object, *names: str) -> TypeGuard[State]:
    return isinstance(thing, dict) and all(name in thing for name in names)


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


SAME_DATA = (
    "the state holds a data set's own state, and this data set has none to load; use the same data "
    "set"
)


def misfits(loader: FollowedLoader, state: State, batch: int | None) -> list[str]:
    """In what the state is of another data set, or of another number of workers.

    batch: samples of the loader's steps.
    """
    order = state.get("order")
    wrong = []
    if order is not None and order["step"] > state["step"]:
        wrong.append(
            f"order is of step {order['step']}, and the state of step {state['step']}; use the "
            "state as it was given"
        )
    if not keeping.follows(loader):
        return wrong + [SAME_DATA] * carries(state)
    stream = keeping.is_stream(loader)
    if stream and state["step"] and not _told(state):
        wrong.append(
            f"step is {state['step']}, but the state does not say where the data set was; resume "
            "it at the start of an epoch"
        )
    if carries(state):
        wrong += _other_workers(loader, state, batch)
        if not stream and not has_state(loader.dataset) and any(_states(state)):
            wrong.append(SAME_DATA)
    return wrong


def _other_workers(loader: FollowedLoader, state: State, batch: int | None) -> list[str]:
    """In what the state, which says something of each worker, is of other workers."""
    wrong, workers = [], _workers(state)
    if workers != loader.num_workers:
        content = (
            "each worker's part of an iterable data set"
            if keeping.is_stream(loader)
            else "the data set's own state in each worker"
        )
        wrong.append(
            f"the state is of {workers} worker{'s' * (workers != 1)}, the loader has "
            f"{loader.num_workers}, and it holds {content}; use as many workers"
        )
    if state["batch"] != batch and state["step"]:
        wrong.append(
            f"the state is of steps of {state['batch']} samples, the loader's have {batch}; use "
            "the same batch size"
        )
    return wrong


def _told(state: State) -> bool:
    return state.get("_snapshot") is not None or "fetcher_state" in state


def _workers(state: State) -> int:
    snapshot = state.get("_snapshot")
    return 0 if snapshot is None else len(snapshot["_worker_snapshots"])


def _states(state: State) -> list[bool]:
    """Of the data set, or of each worker's: whether there is a state of it, or of its iterator."""
    snapshot, finished = state.get("_snapshot"), state.get("_iterator_finished", True)
    known = []
    for told in [state] if snapshot is None else snapshot["_worker_snapshots"].values():
        fetcher = told.get("fetcher_state")
        if finished and fetcher is not None:
            fetcher = fetcher["dataset_iter_state"]
        known.append(told.get("dataset_state") is not None or fetcher is not None)
    return known


def carries(state: State) -> bool:
    """Whether it says more of the data set than how many batches were handed out in order."""
    return bool(state.get("ahead")) or any(_states(state))


def told(loader: FollowedLoader, state: State) -> State | None:
    """What it says of the loader's data set; None where nothing is needed of it."""
    form = "_snapshot" if loader.num_workers else "fetcher_state"
    if not keeping.follows(loader) or form not in state:
        return None
    if state.get("_snapshot") is not None and _workers(state) != loader.num_workers:
        return None
    return copy.deepcopy({name: state[name] for name in keeping.KEYS if name in state})
