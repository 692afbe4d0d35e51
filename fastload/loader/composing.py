"""torchvision's Compose, called by a data set of the user's own: the steps that make a tensor run
natively (`ending`), all others as they are.

The transforms of such a data set are its own affair: where they lie, and what it calls when. So the
class's call is replaced where batches are made, and each chain is divided when it is called.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from fastload.image.stand_ins import Call
from fastload.loader import ending
from fastload.loader.ending import Facts, Room
from fastload.lowering.names import classes
from fastload.lowering.reach import is_whole

MODULES = {"torchvision.transforms": "__call__", "torchvision.transforms.v2": "forward"}
DEPTH = 3  # of objects in objects that `names` looks into
MANY = 64  # such a list is one of samples
LEAVES = (str, bytes, int, float, torch.Tensor, np.ndarray, type, ModuleType, FunctionType)


class _Chains:
    """Of each Compose what it is made of, and its divided copy; None: there is nothing native."""

    def __init__(self) -> None:
        self.known: WeakKeyDictionary[Any, tuple[Facts, Any]] = WeakKeyDictionary()

    def divided(self, chain: Any) -> Any:
        now = ending.facts(chain.transforms)
        kept = self.known.get(chain)
        if kept is None or not ending.same(kept[0], now):
            copy, names = ending.divided(chain, Room())
            kept = now, copy if names else None
            self.known[chain] = kept
        return kept[1]


_known = _Chains()


def composed(original: Call, active: Callable[[], bool]) -> Call:
    """What stands in for the class's call."""

    @functools.wraps(original)
    def call(self: Any, *inputs: Any, **named: Any) -> Any:
        if named or len(inputs) != 1 or not active():
            return original(self, *inputs, **named)
        try:
            copy = _known.divided(self)
        except Exception:  # noqa: BLE001  a program may have put anything into its objects
            copy = None
        return original(self if copy is None else copy, *inputs)

    return call


def owner(module: str) -> Callable[[], object]:
    """Gives the module's Compose, once the program has imported it."""
    return lambda: getattr(sys.modules.get(module), "Compose", None)


def fits(function: Call) -> bool:
    return is_whole(function)


def names(dataset: object) -> tuple[str, ...]:
    """Of the steps that run natively in the chains that lie in a data set."""
    found: dict[str, None] = {}
    for chain in chains(dataset):
        with contextlib.suppress(Exception):  # likewise
            found |= dict.fromkeys(ending.divided(chain, Room())[1])
    return tuple(found)


def chains(dataset: object) -> list[object]:
    """torchvision's Compose objects that lie in a data set."""
    return list(_chains(dataset, DEPTH, set()))


def _chains(value: object, depth: int, seen: set[int]) -> Iterator[object]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value) in classes("Compose"):
        yield value
    for part in _parts(value) if depth else ():
        if not issubclass(type(part), LEAVES):
            yield from _chains(part, depth - 1, seen)


def _parts(value: Any) -> list[object]:
    """What an object holds. No code of its class is run, which may do anything."""
    kind = type(value)
    for container, values in (
        (list, list.__iter__),
        (tuple, tuple.__iter__),
        (dict, dict.values),
    ):
        if issubclass(kind, container):
            return [] if container.__len__(value) > MANY else list(values(value))
    try:
        return list(object.__getattribute__(value, "__dict__").values())
    except AttributeError:
        return []
