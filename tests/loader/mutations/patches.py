"""Every function of the libraries that PyTorch's own run of a data set calls: where it is held, and
a patch of it.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from torch.utils.data._utils.fetch import _BaseDatasetFetcher

from fastload.lowering.codes import library
from fastload.lowering.lookup import inner_function

# What drives a loader, which fastload's class inherits and runs itself: not followed;
# docs/differences.md.
DRIVES = ("torch.utils.data.dataloader", "torch.utils.data.sampler", "torch.utils.data._utils")
FOLLOWED = ("torch.utils.data._utils.collate", "torch.utils.data._utils.fetch")


class Patchable(NamedTuple):
    """A function in a module or a class."""

    holder: Any
    name: str

    def __str__(self) -> str:
        holder = self.holder
        where = (
            f"{holder.__module__}.{holder.__qualname__}"
            if isinstance(holder, type)
            else holder.__name__
        )
        return f"{where}.{self.name}"


def called(run: Callable[[], object]) -> list[Patchable]:
    """The functions of libraries that a run calls, wherever these are held; sorted by name."""
    codes: set[CodeType] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and library(frame.f_globals.get("__name__")):
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    found = {
        str(target): target
        for target in _targets()
        if _code(target) in codes and _is_followed(target)
    }
    return [found[name] for name in sorted(found)]


def _targets() -> Iterator[Patchable]:
    for name, module in list(sys.modules.items()):
        if not library(name) or module is None:
            continue
        for inner, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value.__module__ == name:
                yield Patchable(module, inner)
            if isinstance(value, type) and value.__module__ == name:
                yield from (Patchable(value, method) for method in vars(value))


def _code(target: Patchable) -> CodeType | None:
    function = inner_function(vars(target.holder)[target.name])
    return function.__code__ if isinstance(function, FunctionType) else None


def _is_followed(target: Patchable) -> bool:
    if target.name == "__init__" and target.holder is _BaseDatasetFetcher:
        return False
    home = target.holder.__module__ if isinstance(target.holder, type) else target.holder.__name__
    return home.startswith(FOLLOWED) or not home.startswith(DRIVES)


def patched(target: Patchable, calls: list[str]) -> Any:
    """The same function behind another that notes its calls, as a decorator with functools.wraps
    makes it.
    """
    value = vars(target.holder)[target.name]
    function = inner_function(value)

    @functools.wraps(function)
    def behind(*given: Any, **named: Any) -> Any:
        calls.append(target.name)
        return function(*given, **named)

    if isinstance(value, property):
        return property(behind, value.fset, value.fdel)
    return type(value)(behind) if isinstance(value, (staticmethod, classmethod)) else behind
