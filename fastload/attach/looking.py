"""How to look into objects of unknown classes without running their code: a look may not raise,
wait or change anything.

`hasattr`, `isinstance`, `len` and a loop over an object all may run its own methods. Here classes
are asked by `type`, containers by the methods of `list`, `tuple` and `dict` themselves, tensors by
those of torch.
"""

import inspect
import sys
import weakref
from collections import UserDict
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

Facts: TypeAlias = dict[str, Any]  # as JSON has them
Sides: TypeAlias = tuple[int, ...]  # of a tensor or an array
# How far a batch is searched: levels, parts of each container, parts in all
DEPTH, WIDTH, COUNT = 8, 16, 256
UNKNOWN = 0
CHANNELS = 3  # of a tensor [3, height, width], which is one picture and no batch
# Attributes of loaders
ASKED = ("num_workers", "batch_size", "prefetch_factor", "pin_memory", "persistent_workers")
FUNCTIONS = (FunctionType, BuiltinFunctionType)  # a method's text has its object's in it


@dataclass(frozen=True)
class Routed:
    """Who runs a loader of fastload's: the part of its route that is read here, so that a program
    that has no such loader need not import any.
    """

    backend: str | None  # None: PyTorch's own engine


def samples_in(batch: object) -> int:
    """Samples in a batch: the length of its first tensor or array that has a side, or of the list
    of pictures that this is one of; UNKNOWN where none is found.
    """
    try:
        return _searched(batch)
    except Exception:  # noqa: BLE001  whatever a batch is, counting it is not worth an error
        return UNKNOWN


def _searched(batch: object) -> int:
    shape, around = _first(batch)
    if _is_picture(shape):  # what detection's collate functions leave in lists
        for held in reversed(around):
            if all(_is_picture(_first(part)[0]) for part in islice(_parts(held), WIDTH)):
                return len(held)
    return shape[0] if shape else UNKNOWN


def _first(batch: object) -> tuple[Sides, list[Any]]:
    """Sides of the first tensor or array that has any, and the lists and tuples around it."""
    todo: list[tuple[object, list[Any]]] = [(batch, [])]
    for _ in range(COUNT):
        if not todo:
            break
        thing, around = todo.pop()
        if shape := _sides(thing):
            return shape, [held for held in around if type(held) in (list, tuple)]
        if len(around) < DEPTH:
            inside = [*around, thing]
            todo += [(part, inside) for part in reversed([*islice(_parts(thing), WIDTH)])]
    return (), []


def _is_picture(shape: Sides) -> bool:
    return len(shape) == 3 and shape[0] == CHANNELS


def tensors_in(batch: object) -> list[Any]:
    """Tensors of torch's own class in a batch; of its first parts, where it has very many."""
    todo, found = [(batch, 0)], []
    torch = sys.modules.get("torch")
    for _ in range(COUNT):
        if not todo or torch is None:
            break
        thing, depth = todo.pop()
        if type(thing) is torch.Tensor:
            found.append(thing)
        elif depth < DEPTH:
            todo += [(part, depth + 1) for part in islice(_parts(thing), WIDTH)]
    return found


def _parts(thing: Any) -> Iterable[object]:
    kind = type(thing)
    if issubclass(kind, tuple):
        return tuple.__iter__(thing)
    if issubclass(kind, list):
        return list.__iter__(thing)
    if issubclass(kind, dict):
        return dict.values(thing)
    if issubclass(kind, UserDict):  # transformers' batches
        inside = held(thing, "data")
        return dict.values(inside) if type(inside) is dict else ()
    return ()


def _sides(thing: object) -> Sides:
    """Of a tensor or an array of NumPy's; none of anything else."""
    kind, torch, numpy = type(thing), sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and issubclass(kind, torch.Tensor):
        if kind is not torch.Tensor and kind.__module__.split(".")[0] not in (
            "torch",
            "torchvision",
        ):
            return ()  # a class of a stranger's answers by its own code
        with torch._C.DisableTorchFunctionSubclass():
            # A jagged tensor's second side is no number
            return tuple(
                side if type(side) is int else UNKNOWN for side in torch.Tensor.size(thing)
            )
    if numpy is not None and issubclass(kind, numpy.ndarray):
        shape: Sides = numpy.ndarray.shape.__get__(thing)
        return shape
    return ()


def held(thing: object, name: str) -> Any:
    """An attribute that the object or its class holds; None where only its code could say."""
    try:
        return inspect.getattr_static(thing, name, None)
    except Exception:  # noqa: BLE001  odd classes
        return None


def asked(thing: object, name: str, *kinds: type) -> Any:
    """An attribute of an object that may have its own way of answering, where it is of one of these
    classes; else None.

    Mocks have every attribute, proxies ask others, and either may fail; `isinstance` would ask them
    for their class.
    """
    try:
        answer = getattr(thing, name, None)
    except Exception:  # noqa: BLE001  their code
        return None
    return answer if not kinds or issubclass(type(answer), kinds) else None


def shown(thing: object) -> str:
    """A function as Python shows it; of any other object its class, since its own text may fail, or
    be a whole data set.
    """
    if type(thing) is partial:
        return f"functools.partial({shown(thing.func)})"
    if type(thing) in FUNCTIONS:
        return repr(thing)
    return f"<{type(thing).__module__}.{type(thing).__qualname__} object>"


def facts(loader: object) -> Facts:
    """What a reader wants to know of a loader."""
    attributes = {name: held(loader, name) for name in ASKED}
    plain = {name: value for name, value in attributes.items() if type(value) in (int, bool)}
    return {
        **plain,
        "type": type(loader).__name__,
        "dataset": type(held(loader, "dataset")).__name__,
        "backend": _backend(loader),
    }


def images_in(batch: object) -> int:
    """Images in a batch: the length of its first tensor, or of the batch; 1 where nothing has a
    length.
    """
    if samples := samples_in(batch):
        return samples
    plain = type(batch) in (list, tuple, dict, str, bytes)
    return len(batch) if plain and isinstance(batch, Sized) else 1


def _backend(loader: object) -> str | None:
    """Of fastload's own loaders."""
    route = held(loader, "_route")
    return route.backend if issubclass(type(route), Routed) else None


def reference(loader: object, gone: Callable[[], object]) -> Callable[[], Any]:
    """Gives the loader while it lives; `gone` is called once it does not, and its id may be another
    one's.
    """
    try:
        return weakref.ref(loader, lambda _: gone())
    except TypeError:  # of a class that allows none; then it is kept
        return lambda: loader
