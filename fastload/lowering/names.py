"""Which library's class an object has. Classes are compared by identity, not by name or
inheritance, so that an overridden method is never ignored.
"""

import sys
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, TypeAlias, TypeGuard

import torch
from torch.nn.modules import module as modules

from fastload.lowering import reach
from fastload.lowering.codes import library

Reasons = list[str]
Named: TypeAlias = type | FunctionType | BuiltinFunctionType | MethodType
NAMED = (type, FunctionType, BuiltinFunctionType, MethodType)  # they have a name of their own
LIBRARIES = ("torch", "torchvision", "timm")
HOOKS = ("_forward_hooks", "_forward_pre_hooks")  # torch.nn.Module's
GLOBAL_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks")  # its module's


def classes(name: str) -> list[type]:
    """torchvision's transforms of that name, of those of its APIs that the program has imported
    (nothing is imported here).
    """
    modules = (
        sys.modules.get("torchvision.transforms"),
        sys.modules.get("torchvision.transforms.v2"),
    )
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def is_a(value: object, module: str, *names: str) -> bool:
    """Whether its class is one of `names` in `module`.

    A program that has not imported the module has none of its objects.
    """
    return any(type(value) is getattr(sys.modules.get(module), name, ()) for name in names)


def image_backend() -> str:
    """torchvision's, by which its default loader reads."""
    return str(getattr(sys.modules.get("torchvision"), "get_image_backend", lambda: "PIL")())


def attribute(value: object, name: str) -> Any:
    """An attribute of an object of another library, which has no types. Raises AttributeError."""
    return getattr(value, name)


def _is_named(value: object) -> TypeGuard[Named]:
    return issubclass(type(value), NAMED)  # isinstance would ask the object for its class


def type_name(value: object) -> str:
    kind: Named = value if _is_named(value) else type(value)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{home}{kind.__qualname__}"


def altered(value: object) -> Reasons:
    """What of an object of a known class is not the library's: methods set on it, hooks, and
    patched code that it runs.
    """
    kind, held = type(value), getattr(value, "__dict__", {})
    problems = [f"has its own {name}" for name in held if callable(getattr(kind, name, None))]
    problems += [f"has its own {name}" for name in HOOKS if held.get(name)]
    if issubclass(kind, torch.nn.Module) and any(vars(modules).get(name) for name in GLOBAL_HOOKS):
        problems.append(
            "is called with hooks of all modules "
            "(torch.nn.modules.module.register_module_forward_hook)"
        )
    patched = reach.changed(kind) if library(kind.__module__) else []
    return [*dict.fromkeys([*(f"{type_name(value)} {what}" for what in problems), *patched])]
