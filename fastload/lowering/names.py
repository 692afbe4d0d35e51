"""Whose class an object is: by identity, never by name or inheritance, so that an overridden method is never ignored."""

import sys
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

Reasons = list[str]
NAMED = (type, FunctionType, BuiltinFunctionType, MethodType)  # they have a name of their own
LIBRARIES = ("torch", "torchvision", "timm")
METHODS = ("__call__", "__getitem__", "forward", "get_params", "make_params", "transform")  # of data sets and transforms
HOOKS = ("_forward_hooks", "_forward_pre_hooks")  # torch.nn.Module's


def classes(name: str) -> list[type]:
    """torchvision's transforms of that name, of those of its APIs that the program has imported (nothing is imported here)."""
    modules = (sys.modules.get("torchvision.transforms"), sys.modules.get("torchvision.transforms.v2"))
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def is_a(value: Any, module: str, *names: str) -> bool:
    """Whether its class is one of `names` in `module`. A program that has not imported the module has none of its objects."""
    return any(type(value) is getattr(sys.modules.get(module), name, ()) for name in names)


def type_name(value: Any) -> str:
    kind = value if issubclass(type(value), NAMED) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def altered(value: Any) -> Reasons:
    """What of an object of a known class is not the library's: methods set on it or on its class, and hooks."""
    kind, held = type(value), getattr(value, "__dict__", {})
    found = [name for name in held if callable(getattr(kind, name, None))]
    found += [name for name in METHODS if not _theirs(getattr(kind, name, None))]
    found += [name for name in HOOKS if held.get(name)]
    return [f"{type_name(value)} has its own {name}" for name in dict.fromkeys(found)]


def _theirs(method: Any) -> bool:
    module = getattr(method, "__module__", None)
    return not isinstance(module, str) or module.split(".")[0] in LIBRARIES
