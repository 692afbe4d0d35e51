"""Texts that a data set class of the user's makes of a sample's values: paths, mostly."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import PosixPath

import numpy as np

from fastload.lowering.columns import Column, Values, made

# Of str, which give texts, numbers and lists of texts
METHODS = (
    "count", "endswith", "find", "index", "isdigit", "startswith",
    "format", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace",
    "rjust", "rpartition", "rsplit", "rstrip", "split", "strip", "upper", "zfill",
)  # fmt: skip
TEXTS, PATHS = {str, np.str_}, {PosixPath}
PARTS = ("name", "parent", "stem", "suffix")  # of a path
PATH_METHODS = ("joinpath", "with_name", "with_stem", "with_suffix")


def has(of: object, name: str) -> bool:
    """Whether a text or path, or one of each sample, has a method that is called here."""
    if name in PATH_METHODS:
        return _kinds(of) == PATHS
    return name in METHODS and _kinds(of) <= TEXTS


def part(of: object, name: str) -> object:
    """Of a path, or of each sample's; None where it is none."""
    return made(attrgetter(name), [of]) if name in PARTS and _kinds(of) == PATHS else None


def _kinds(of: object) -> set[type]:
    return set(map(type, of.rows)) if isinstance(of, Column) else {type(of)}


def method(of: object, name: str, values: Values, named: Mapping[str, object]) -> object:
    """What the call makes. Raises UnclearError."""
    count, names = len(values), tuple(named)

    def call(each: object, *given: object) -> object:
        rest = dict(zip(names, given[count:], strict=True))
        return getattr(each, name)(*given[:count], **rest)

    return made(call, [of, *values, *named.values()])


def percent(left: str, right: object) -> object:
    """`left % right`, which may be several values. Raises UnclearError."""
    given = right if isinstance(right, tuple) else (right,)
    return made(lambda one, *rest: one % rest, [left, *given])


def strung(parts: Sequence[tuple[object, str]]) -> object:
    """What stands one after another in an f-string, each with its format. Raises UnclearError."""
    how = [each for _, each in parts]
    return made(lambda *values: "".join(map(format, values, how)), [value for value, _ in parts])
