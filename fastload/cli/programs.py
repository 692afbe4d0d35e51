"""A data set that a Python program makes, named on the command line: `train.py:data`."""

import importlib.util
import os
import re
import sys
import traceback
from contextlib import redirect_stdout
from functools import partial
from types import ModuleType
from typing import Any

from fastload.errors import UsageError, meant
from fastload.files.names import shown

FORM = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)", re.DOTALL)
HELP = "Or PROGRAM.py:NAME, a data set or loader that a program makes; its own transforms count."


def is_one(path: str) -> bool:
    """Whether a program is meant, and no file of data."""
    return FORM.fullmatch(path) is not None and not os.path.lexists(path)


def dataset(path: str) -> Any:
    """The data set that the program has under that name: itself, of a loader, or what a function
    without arguments gives. The program runs as a module that is imported. Raises UsageError.
    """
    found = FORM.fullmatch(path)
    assert found is not None
    file, name = found["file"], found["name"]
    module = _imported(file)
    if not hasattr(module, name):
        names = [one for one in vars(module) if not one.startswith("_")]
        cure = meant(name, names) or "name a data set, a loader, or a function that gives one"
        raise UsageError(f"{file}: has no {name}; {cure}")
    value = getattr(module, name)
    if callable(value) and not hasattr(value, "__getitem__") and not hasattr(value, "dataset"):
        value = _run(file, value)
    value = getattr(value, "dataset", value) if hasattr(value, "batch_sampler") else value
    has_items = hasattr(value, "__getitem__") and hasattr(value, "__len__")
    if isinstance(value, type) or not has_items:
        raise UsageError(
            f"{file}: {name} is a {type(value).__name__}, want a data set with a length, or a "
            "loader of one; give another name"
        )
    return value


def _imported(file: str) -> ModuleType:
    """Raises UsageError."""
    if not os.path.isfile(file):
        raise UsageError(f"{file}: is no file; give PROGRAM.py:NAME, or the path of a data set")
    stem = os.path.splitext(os.path.basename(file))[0]
    name = stem if stem not in sys.modules else f"_program_{stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # of any file with this suffix
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its own classes are looked up
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    _run(file, partial(spec.loader.exec_module, module))
    return module


def _run(file: str, call: Any) -> Any:
    """Raises UsageError for whatever the program raises, with the line that did."""
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no part of --json's document
            return call()
    except (Exception, SystemExit) as error:  # of a command line that it parses, too
        path, frames = os.path.abspath(file), traceback.extract_tb(error.__traceback__)
        mine = [frame for frame in frames if os.path.abspath(frame.filename) == path]
        where = f"line {mine[-1].lineno}" if mine else "the program"
        what = shown(str(error).partition("\n")[0]) or "no reason given"
        raise UsageError(
            f"{file}: {where} raised {type(error).__name__} ({what}); mend the program"
        ) from error
