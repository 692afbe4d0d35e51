"""Lookup of names and of the parts of functions, without running any of the program's code."""

import functools
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

from fastload.lowering.codes import codes, is_defined, is_library, library

MISSING = object()
Space: TypeAlias = dict[Any, Any]  # a module's globals, or a registry: names to whatever they are


def spaces(function: FunctionType, mentioned: frozenset[str]) -> Iterator[tuple[str, Space]]:
    """Globals in which the code's names are looked up: the function's, and of the modules that it
    mentions.
    """
    own = function.__globals__
    seen, todo = set[int](), [(str(own.get("__name__")), own)]
    todo += [
        (name, vars(sys.modules[name]))
        for name in mentioned
        if library(name) and name in sys.modules
    ]
    while todo:
        module, space = todo.pop()
        if id(space) in seen:
            continue
        seen.add(id(space))
        yield module, space
        inner = [
            space[name] for name in mentioned & space.keys() if isinstance(space[name], ModuleType)
        ]
        todo += [(value.__name__, vars(value)) for value in inner if library(value.__name__)]


def facts(function: FunctionType) -> tuple[object, ...]:
    """What a call of it depends on besides its globals."""
    return function.__code__, function.__defaults__, function.__kwdefaults__, *cells(function)


def cells(function: FunctionType) -> list[object]:
    try:
        return [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # one is empty
        return []


def same(held: tuple[object, ...], now: tuple[object, ...]) -> bool:
    return len(held) == len(now) and all(a is b for a, b in zip(held, now, strict=True))


def is_method(function: FunctionType, kind: type, home: type, name: str) -> bool:
    """Whether it is the method that the file of its class defines, or else the file of a base."""
    # Python makes `__new__` of an Enum and of a NamedTuple.
    generated = name == "__new__" and not library(function.__globals__.get("__name__"))
    if generated or not library(home.__module__):
        return is_library(function)
    if is_defined(function, home.__module__, f"{home.__qualname__}.{name}"):
        return True
    own = f"{home.__qualname__}.{name}" in (codes(home.__module__) or {})
    inherited = (base for base in kind.__mro__ if not own and library(base.__module__))
    return any(
        is_defined(function, base.__module__, f"{base.__qualname__}.{name}") for base in inherited
    )


def find_attribute(kind: type, name: str) -> tuple[object, type | None]:
    """The attribute as the class that has it holds it, and that class."""
    for home in kind.__mro__:
        if name in vars(home):
            return vars(home)[name], home
    return MISSING, None


def inner_function(value: object) -> object:
    """The function inside what classes and decorators of Python's make of it."""
    if isinstance(value, (staticmethod, classmethod)):
        return value.__func__
    if isinstance(value, property):
        return value.fget
    if isinstance(value, functools.cached_property):
        return value.func
    return value.__wrapped__ if isinstance(value, functools._lru_cache_wrapper) else value


def is_class(kind: type, module: str, name: str) -> bool:
    """Whether a class is the one that the file defines by this name, if it does."""
    return name not in (codes(module) or {}) or (kind.__module__, kind.__qualname__) == (
        module,
        name,
    )


def concerns_libraries(key: object) -> bool:
    """Whether an entry of a registry may concern what fastload lowers: not if it is for a class of
    the user's.
    """
    kinds = key if isinstance(key, tuple) else (key,)
    home = [str(kind.__module__) for kind in kinds if isinstance(kind, type)]
    return all(
        library(name) or name.partition(".")[0] in ("torch", "numpy", "builtins", "collections")
        for name in home
    )


def shown(value: object) -> str:
    if isinstance(value, FunctionType):
        return f"{value.__globals__.get('__name__')}.{value.__qualname__}"
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
