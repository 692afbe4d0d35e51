"""Data sets, samplers and iterators that have a state of their own, as torchdata's protocol says:
`state_dict()` and `load_state_dict()`.
"""

import copy
import functools
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Protocol, TypeAlias, TypeGuard

from fastload.spec import Json

# A loader's state, or a part of one. Numbers and texts, but for what a data set's own state holds.
State: TypeAlias = Json
METHODS = {"state_dict": 0, "load_state_dict": 1}  # and how many values they are given


class Stateful(Protocol):
    """What torchdata's protocol asks for."""

    def state_dict(self) -> object: ...
    def load_state_dict(self, state: object, /) -> object: ...


def has_state(thing: object) -> TypeGuard[Stateful]:
    """Whether its class has both methods; an object that answers every name is not asked.

    Those that want other arguments are another protocol's, as those of MosaicML's StreamingDataset.
    """
    return all(_takes(getattr(type(thing), name, None), count) for name, count in METHODS.items())


def _takes(method: object, count: int) -> bool:
    """Whether a method can be called with so many values."""
    return _binds(method, count) if type(method) is FunctionType else callable(method)


@functools.lru_cache(maxsize=64)
def _binds(function: FunctionType, count: int) -> bool:
    try:
        inspect.signature(function).bind(None, *[None] * count)
    except TypeError:
        return False
    return True


def taken(thing: object) -> object:
    """Its state as it is now, which what it does next leaves alone; None if it has none."""
    return copy.deepcopy(thing.state_dict()) if has_state(thing) else None


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal, tensors and arrays in them too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "shape"):
        return bool(one.shape == other.shape and (one == other).all())
    return bool(one == other)


@dataclass
class Record:
    """What is known of one worker."""

    dataset: object = None  # the data set's state
    iterator: object = None  # of an iterable data set's iterator, or of a data set that is its own
    ended: bool = False  # whether an iterable data set has given all
    batches: int = 0  # of this worker's batches in its epoch, how many are in the states
    handed_out: int = 0  # how many were handed out: it makes the others again, and drops them

    @property
    def known(self) -> bool:
        return self.dataset is not None or self.iterator is not None


def opened(
    dataset: Iterable[object], record: Record | None, *, finished: bool
) -> tuple[Iterator[object], bool]:
    """An iterator over an iterable data set that goes on where `record` says, and whether the data
    set hides that until it is read.

    finished: the record is of an epoch's end, so that the next one begins.
    """
    if record is None:
        return iter(dataset), False
    hidden = False
    if record.dataset is not None and has_state(dataset):
        dataset.load_state_dict(copy.deepcopy(record.dataset))
        hidden = not same(dataset.state_dict(), record.dataset)
    iterator = iter(dataset)
    begun: object = iterator
    if record.iterator is None or not has_state(begun):
        return iterator, hidden
    begun.load_state_dict(copy.deepcopy(record.iterator))
    return iter(dataset) if finished else iterator, hidden
