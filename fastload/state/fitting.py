"""Whether a state fits a loader, as far as data sets and samplers with a state of their own are
concerned.
"""

import copy
from typing import TypeGuard

from fastload.state import keeping
from fastload.state.loaders import FollowedLoader
from fastload.state.stateful import State, has_state

MOST = (1 << 63) - 1


def problems(given: State) -> list[str]:
    """What in the state is not what `DataLoader.state_dict` gives."""
    order, snapshot, ahead = given.get("order"), given.get("_snapshot"), given.get("ahead", [])
    found = []
    if order is not None and not (_has(order, "sampler", "iterator") and _whole(order.get("step"))):
        found.append("order is no state of a sampler")
    if snapshot is not None and not _is_snapshot(snapshot):
        found.append("_snapshot is no state of workers")
    if not isinstance(ahead, list) or not all(map(_whole, ahead)) or len(set(ahead)) < len(ahead):
        found.append("ahead is no list of steps")
    if given.get("base_seed") is not None and not _whole(given["base_seed"]):
        found.append(f"base_seed is {given['base_seed']!r}, want a whole number from 0 to {MOST}")
    fetcher = given.get("fetcher_state")
    if fetcher is not None and not _has(fetcher, "dataset_iter_state", "fetcher_ended"):
        found.append("fetcher_state is no state of an iterable data set")
    if any(name in given for name in keeping.KEYS) and not isinstance(
        given.get("_iterator_finished"), bool
    ):
        found.append("_iterator_finished is neither true nor false")
    return found


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


def misfits(loader: FollowedLoader, given: State, batch: int | None) -> list[str]:
    """In what the state is of another data set, or of another number of workers.

    batch: samples of the loader's steps.
    """
    order = given.get("order")
    found = []
    if order is not None and order["step"] > given["step"]:
        found.append(
            f"order is of step {order['step']}, and the state of step {given['step']}; use the "
            "state as it was given"
        )
    if not keeping.follows(loader):
        return found + [SAME_DATA] * carries(given)
    stream = keeping.is_stream(loader)
    if stream and given["step"] and not _told(given):
        found.append(
            f"step is {given['step']}, but the state does not say where the data set was; resume "
            "it at the start of an epoch"
        )
    if carries(given):
        found += _other_workers(loader, given, batch)
        if not stream and not has_state(loader.dataset) and any(_states(given)):
            found.append(SAME_DATA)
    return found


def _other_workers(loader: FollowedLoader, given: State, batch: int | None) -> list[str]:
    """In what the state, which says something of each worker, is of other workers."""
    found, workers = [], _workers(given)
    if workers != loader.num_workers:
        content = (
            "each worker's part of an iterable data set"
            if keeping.is_stream(loader)
            else "the data set's own state in each worker"
        )
        found.append(
            f"the state is of {workers} workers, the loader has {loader.num_workers}, and it holds "
            f"{content}; use as many workers"
        )
    if given["batch"] != batch and given["step"]:
        found.append(
            f"the state is of steps of {given['batch']} samples, the loader's have {batch}; use "
            "the same batch size"
        )
    return found


def _told(given: State) -> bool:
    return given.get("_snapshot") is not None or "fetcher_state" in given


def _workers(given: State) -> int:
    snapshot = given.get("_snapshot")
    return 0 if snapshot is None else len(snapshot["_worker_snapshots"])


def _states(given: State) -> list[bool]:
    """Of the data set, or of each worker's: whether there is a state of it, or of its iterator."""
    snapshot, finished = given.get("_snapshot"), given.get("_iterator_finished", True)
    found = []
    for told in [given] if snapshot is None else snapshot["_worker_snapshots"].values():
        fetcher = told.get("fetcher_state")
        if finished and fetcher is not None:
            fetcher = fetcher["dataset_iter_state"]
        found.append(told.get("dataset_state") is not None or fetcher is not None)
    return found


def carries(given: State) -> bool:
    """Whether it says more of the data set than how many batches were handed out in order."""
    return bool(given.get("ahead")) or any(_states(given))


def told(loader: FollowedLoader, given: State) -> State | None:
    """What it says of the loader's data set; None where nothing is needed of it."""
    form = "_snapshot" if loader.num_workers else "fetcher_state"
    if not keeping.follows(loader) or form not in given:
        return None
    if given.get("_snapshot") is not None and _workers(given) != loader.num_workers:
        return None
    return copy.deepcopy({name: given[name] for name in keeping.KEYS if name in given})
