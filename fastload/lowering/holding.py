"""What names, attributes and items of a user's function are, as Python would find them, without
running any of the program's code.
"""

import ast
import builtins
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, GetSetDescriptorType, MethodType, ModuleType
from typing import NamedTuple

import numpy as np
import torch

from fastload.lowering.codes import LIBRARIES
from fastload.lowering.lookup import MISSING, find_attribute, shown
from fastload.lowering.pictures import Picture, UnclearError
from fastload.lowering.sets import Own, OwnDict

__all__ = ["attribute", "bound", "forked", "is_plain", "item", "items", "outer", "shown"]

MODULES = (
    "os", "posixpath", "pathlib", "random", "numpy", "numpy.random", "torch", "PIL", "PIL.Image",
    "PIL.ImageFilter", "PIL.ImageOps", "torchvision.transforms",
    "torchvision.transforms.functional", "torchvision.transforms.v2",
)  # fmt: skip
FOREIGN = (*LIBRARIES, "torch", "numpy", "builtins")
MOST = 1000  # items of a loop
ARRAYS = (np.ndarray, torch.Tensor)
PLAIN = (bool, int, float, str, list, tuple, dict)


class Builtin(NamedTuple):
    """A class or function of Python's that makes a value of values."""

    function: object

    def call(self, values: Sequence[object], named: Mapping[str, object]) -> object:
        if named or not callable(self.function):
            raise UnclearError("")
        if self.function in (list, tuple):
            made = items(values[0]) if len(values) == 1 else []
            return Own(made) if self.function is list else tuple(made)
        if self.function is len and len(values) == 1:
            first = values[0]
            array = isinstance(first, ARRAYS) and type(first) in ARRAYS and first.ndim
            plain = type(first) in (list, tuple, dict, str) or array
            return len(first if plain else items(first))
        if self.function is isinstance and len(values) == 2:
            return _is_instance(*values)
        if any(type(value) not in (int, float) for value in values):
            raise UnclearError("")
        try:
            return self.function(*values)
        except (TypeError, ValueError, OverflowError):
            raise UnclearError("") from None


def _is_instance(value: object, kinds: object) -> bool:
    """As isinstance: of an image, whether it is Pillow's or a tensor."""
    asked = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, Picture):
        image, array = sys.modules["PIL.Image"].Image, np.ndarray
        if all(any(kind is known for known in (torch.Tensor, image, array)) for kind in asked):
            return any(kind is (torch.Tensor if value.is_tensor else image) for kind in asked)
    elif type(value) in PLAIN and all(any(kind is one for one in PLAIN) for kind in asked):
        return isinstance(value, tuple(kind for kind in asked if isinstance(kind, type)))
    raise UnclearError("it asks for a class")


def bound(
    function: FunctionType,
    arguments: ast.arguments,
    values: Sequence[object],
    named: Mapping[str, object],
) -> dict[str, object]:
    """The variables of a call. Raises UnclearError where Python would raise, or for *args."""
    if arguments.vararg or arguments.kwarg:
        raise UnclearError("it takes any number of arguments")
    both = [one.arg for one in arguments.args]
    first = [one.arg for one in arguments.posonlyargs]
    keywords = [one.arg for one in arguments.kwonlyargs]
    places = [*first, *both]
    defaults = function.__defaults__ or ()
    env = dict(zip(places[len(places) - len(defaults) :], defaults, strict=True))
    env |= function.__kwdefaults__ or {}
    env |= dict(zip(places, values, strict=False))
    env |= named
    twice = set(named) & set(places[: len(values)])
    unknown = set(named) - {*both, *keywords}
    if len(values) > len(places) or twice or unknown or set(env) != {*places, *keywords}:
        raise UnclearError("it is called with other arguments than it takes")
    return env


def forked(env: dict[str, object]) -> dict[str, object]:
    """The variables for another way on: its own lists are copied, each once."""
    copies: dict[int, object] = {}
    for value in env.values():
        if isinstance(value, (Own, OwnDict)):
            copy = copies.setdefault(id(value), type(value)(value))  # type: ignore[arg-type]
            vars(copy).update(vars(value))
    return {name: copies.get(id(value), value) for name, value in env.items()}


def outer(function: FunctionType, name: str, known: Mapping[str, object]) -> object:
    """A name that is no variable of the function's own."""
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise UnclearError(f"it reads {name} before it is set") from None
    if name in code.co_varnames or name in code.co_cellvars:
        raise UnclearError(f"it reads {name} before it is set")
    if name in function.__globals__:
        return function.__globals__[name]
    usual = getattr(function, "__builtins__", None) is vars(builtins)
    if name in known and usual and vars(builtins).get(name) is known[name]:
        return Builtin(known[name])
    raise UnclearError(f"it calls {name}" if hasattr(builtins, name) else f"it has no {name}")


def is_plain(value: object) -> bool:
    """Whether attributes of an object are found as Python's objects find them."""
    kind = type(value)
    looks: object = getattr(kind, "__getattribute__", None)
    missing = find_attribute(kind, "__getattr__")[0]
    plain = missing is MISSING or missing is vars(torch.nn.Module)["__getattr__"]
    held = find_attribute(kind, "__dict__")[0]
    plain = plain and (held is MISSING or type(held) is GetSetDescriptorType)
    return looks is object.__getattribute__ and plain


def attribute(of: object, name: str) -> object:
    """Of an object of the user's, or of a module that has a meaning here."""
    if isinstance(of, ModuleType):
        home = vars(of).get("__name__")
        if home in MODULES and sys.modules.get(str(home)) is of and name in vars(of):
            return vars(of)[name]
        raise UnclearError(f"it uses {home}.{name}")
    kind = type(of)
    if kind.__module__.partition(".")[0] in FOREIGN or not is_plain(of) or name[:2] == "__":
        raise UnclearError(f"it reads {name} of a {kind.__qualname__}")
    held, inner = getattr(of, "__dict__", {}), find_attribute(kind, name)[0]
    if isinstance(inner, FunctionType):
        return held[name] if name in held else MethodType(inner, of)
    if isinstance(inner, staticmethod):
        return held.get(name, inner.__func__)
    if inner is not MISSING and hasattr(type(inner), "__get__"):
        raise UnclearError(f"it reads {name}, which a {type(inner).__qualname__} makes")
    modules = held.get("_modules") if isinstance(of, torch.nn.Module) else None
    for space in (held, {name: inner} if inner is not MISSING else {}, modules or {}):
        if name in space:
            return space[name]
    raise UnclearError(f"it has no {name}")


def items(value: object) -> list[object]:
    """Of a list, a tuple or what torch makes of one."""
    plain = type(value) in (list, tuple, range, Own)
    modules = type(value) in (torch.nn.Sequential, torch.nn.ModuleList)
    if isinstance(value, Picture):
        raise UnclearError("it goes through an image")
    if not plain and not modules:
        raise UnclearError(f"it goes through a {type(value).__qualname__}")
    held = value if isinstance(value, (list, tuple, range)) else vars(value)["_modules"].values()
    if len(held) > MOST:
        raise UnclearError("it does too much to follow")
    return list(held)


def item(value: object, key: object) -> object:
    if isinstance(value, Picture):
        raise UnclearError("it reads an image's pixels")
    if type(value) in (list, tuple, Own, dict, OwnDict) and type(key) in (int, str):
        try:
            return value[key]  # type: ignore[index]  # a list, a tuple or a dict
        except (LookupError, TypeError):
            raise UnclearError("it reads an item that is not there") from None
    raise UnclearError(f"it reads an item of a {type(value).__qualname__}")
