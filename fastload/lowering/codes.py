"""The code of the functions in an installed library's file. It is read as an import reads it, and
not run.
"""

import functools
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType

# Libraries whose code fastload's stands in for.
LIBRARIES = ("torchvision", "timm", "PIL")
TORCHS = ("torch.utils.data", "torch.nn.modules.module", "torch.nn.modules.container")
OPTIMIZED = 1  # a flag that functions have, and bodies of classes and modules have not
Codes = dict[str, list[CodeType]]


@functools.cache
def library(module: object) -> bool:
    """Whether a module of this name is looked into."""
    if not isinstance(module, str):
        return False
    inside = any(module == name or module.startswith(f"{name}.") for name in TORCHS)
    return inside or module.partition(".")[0] in LIBRARIES


def codes(module: str) -> Codes | None:
    """By qualified name, of functions and of bodies of classes; "" is the module's own.

    A name that is defined again has several. None for a module without a file or with one that
    cannot be read, as in some frozen programs.
    """
    return _file(module).codes


@dataclass(frozen=True)
class _File:
    module: object  # that it was read for
    codes: Codes | None
    every: frozenset[CodeType]


def _file(module: str) -> _File:
    there = sys.modules.get(module)
    known = _files.get(module)
    if known is None or there is None or known.module is not there:
        found = _codes(module, there)
        every = frozenset(code for of in (found or {}).values() for code in of)
        known = _files[module] = _File(there, found, every)
    return known


_files: dict[str, _File] = {}


def _codes(module: str, there: object) -> Codes | None:
    loader = getattr(getattr(there, "__spec__", None), "loader", None)
    try:
        code = loader.get_code(module)  # type: ignore[union-attr]  # what has none raises
    except (AttributeError, ImportError, OSError, SyntaxError, ValueError, EOFError):
        return None
    collected: Codes = {}
    if not isinstance(code, CodeType):
        return None
    _collect(code, "", collected)
    return collected


def _collect(code: CodeType, name: str, into: Codes) -> None:
    into.setdefault(name, []).append(code)
    inside = f"{name}.<locals>." if code.co_flags & OPTIMIZED else f"{name}." if name else ""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            _collect(part, f"{inside}{part.co_name}", into)


@functools.cache
def names(code: CodeType) -> frozenset[str]:
    """Every global and attribute that the code mentions, in its inner functions too."""
    inner = [names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return frozenset(code.co_names).union(*inner)


def is_defined(function: FunctionType, module: str, name: str) -> bool:
    """Whether it is what the module's file defines by this qualified name; a file that defines none
    may take any library's function by it."""
    defined = codes(module)
    if defined is None:
        return True
    if wanted := defined.get(name):
        if any(function.__code__ == code for code in wanted):
            return True
        inner = getattr(function, "__wrapped__", None)  # what a decorator made
        home = str(function.__globals__.get("__name__"))
        # PyTorch's decorators, the profiler's clocks around what they time, and lazy images
        ours = (
            "fastload.attach.hooks",
            "fastload.loader.composing",
            "fastload.loader.lazy_images",
        )
        theirs = home.partition(".")[0] == "torch" or home in ours
        return theirs and isinstance(inner, FunctionType) and is_defined(inner, module, name)
    return _assigns(defined, name) and is_library(function)


def _assigns(defined: Codes, name: str) -> bool:
    """Whether the body of the class or module gives something this name, as an import or `a = b`
    does.
    """
    holder, _, last = name.rpartition(".")
    bodies = defined.get(holder)
    return bodies is None or any(last in body.co_names for body in bodies)


def is_library(function: FunctionType) -> bool:
    """Whether some file of the libraries defines it, or of Python and torch, which are not looked
    into.
    """
    home = function.__globals__.get("__name__")
    if not library(home):
        root = str(home).partition(".")[0]
        theirs = root in ("torch", "numpy") or root.startswith("namedtuple_")  # which Python makes
        return theirs or (root in sys.stdlib_module_names and root != "__main__")
    file = _file(str(home))
    return file.codes is None or function.__code__ in file.every
