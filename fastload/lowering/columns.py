"""What a data set class of the user's reads for a sample, while its `__getitem__` is followed with
a number that is not known: of each list that it looks into, a column with a value of every sample.
"""

import operator
import os
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from pathlib import Path, PosixPath
from types import FunctionType
from typing import NamedTuple, cast

import numpy as np
import torch

from fastload.lowering import reach
from fastload.lowering.holding import Builtin
from fastload.lowering.names import image_backend
from fastload.lowering.pictures import Picture, UnclearError

FOLDER = "torchvision.datasets.folder"
LOADERS = ("default_loader", "pil_loader")
# Values whose arithmetic runs no code of the program's
NUMPYS = (np.number, np.bool_)
PLAIN = {str, int, float, bool, np.str_, PosixPath}
OPERATORS = {
    "Add": operator.add, "Div": operator.truediv, "FloorDiv": operator.floordiv,
    "Mod": operator.mod, "Mult": operator.mul, "Sub": operator.sub,
}  # fmt: skip
QUESTIONS: dict[str, Callable[..., object]] = {
    "Eq": operator.eq, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "In": lambda one, all_: one in all_,
}  # fmt: skip
TEXTS = (
    str, os.path.join, os.path.basename, os.path.dirname, os.path.splitext, os.fspath, Path,
)  # fmt: skip
Values = Sequence[object]


class Column:
    """A value of each sample.

    numbered: it is calculated of the sample's number, so a negative one has other values.
    """

    is_plain = True  # values are the rows themselves

    def __init__(self, rows: Sequence[object], *, numbered: bool = False) -> None:
        self.rows, self.numbered = rows, numbered

    def item(self, key: object) -> "Column":
        """Of each. Raises UnclearError."""
        kinds = set(map(type, self.rows))
        parts = kinds <= {str} if type(key) is slice else kinds <= {tuple, list, dict, str}
        if not parts or type(key) not in (int, str, slice) or not self.is_plain:
            raise UnclearError("it reads an item of what is no list of lists")
        try:
            rows = [row[key] for row in self.rows]  # type: ignore[index]
        except (LookupError, TypeError):
            raise UnclearError("it reads an item that is not there") from None
        return Column(rows, numbered=self.numbered)

    def unpacked(self) -> list[object]:
        """Raises UnclearError."""
        lengths = {
            len(cast("Sized", row)) if type(row) in (tuple, list) else -1 for row in self.rows
        }
        if len(lengths) != 1 or min(lengths) < 1:
            raise UnclearError("it unpacks rows of different lengths")
        return [self.item(place) for place in range(lengths.pop())]


def is_same(one: object, other: object) -> bool:
    """Whether two values are the same for each sample, as far as that is seen."""
    if isinstance(one, Column) and type(one) is type(other) and isinstance(other, Column):
        rows, others = one.rows, other.rows
        facts = [{**vars(each), "rows": None} for each in (one, other)]
        same_rows = rows is others or (type(rows) is list and rows == others)
        return facts[0] == facts[1] and same_rows
    return one is other or (type(one) is type(other) and type(one) in PLAIN and one == other)


class Counted(Column):
    """A number that is calculated of nothing else than the sample's number."""


class Index(Counted):
    """The number of a sample."""

    def __init__(self, count: int) -> None:
        super().__init__(range(count), numbered=True)


class Opened(NamedTuple):
    """A file that is open, or Pillow's image of it."""

    paths: Column
    is_image: bool


def looked_up(held: object, key: object) -> Column:
    """`held[index]`, an item of every row, or `held` at a number or text of each sample.

    Raises UnclearError.
    """
    if isinstance(held, Column):
        return held.item(key)
    one = type(held) in (np.ndarray, torch.Tensor) and held.ndim == 1  # type: ignore[attr-defined]
    if isinstance(key, Index) and (type(held) in (list, tuple) or one):
        return Column(held)  # type: ignore[arg-type]
    kinds = set(map(type, key.rows)) if isinstance(key, Column) else set()
    fits = kinds <= {str, int} if type(held) is dict else kinds == {int}
    fits = fits and isinstance(key, Column) and key.is_plain
    if not fits or not isinstance(key, Column) or not (type(held) in (list, tuple, dict) or one):
        raise UnclearError(f"it looks a sample up in a {type(held).__qualname__}")
    try:
        rows = [held[each] for each in key.rows]  # type: ignore[index]
    except LookupError:
        raise UnclearError("it reads an item that is not there") from None
    return Column(rows, numbered=key.numbered)


def mapped(function: Callable[..., object], values: Values) -> Column:
    """The function of each sample's values. Raises UnclearError."""
    columns = [value for value in values if isinstance(value, Column)]
    if not all(column.is_plain for column in columns):
        raise UnclearError("it calculates with tensors of numbers")
    kinds = set[type]().union(*(map(type, column.rows) for column in columns))
    kinds |= {type(value) for value in values if not isinstance(value, Column)}
    if not all(kind in PLAIN or issubclass(kind, NUMPYS) for kind in kinds):
        raise UnclearError("it calculates with what is no text and no number")
    count = len(columns[0].rows)
    parts = [value.rows if isinstance(value, Column) else [value] * count for value in values]
    try:
        rows = [function(*row) for row in zip(*parts, strict=True)]
    except (TypeError, ValueError, ArithmeticError, LookupError):
        raise UnclearError("it calculates what is no text") from None
    counted = all(isinstance(each, Counted) for each in columns) and set(map(type, rows)) == {int}
    kind = Counted if counted else Column
    return kind(rows, numbered=any(column.numbered for column in columns))


def made(function: Callable[..., object], values: Values) -> object:
    """The same, or what the function makes of plain values."""
    if any(isinstance(value, Column) for value in values):
        return mapped(function, values)
    return mapped(function, [Column(values[:1]), *values[1:]]).rows[0]


def binary(name: str, left: object, right: object) -> object:
    if name not in OPERATORS:
        raise UnclearError(f"it calculates by {name} with a sample's values")
    return made(OPERATORS[name], [left, right])


def asked(name: str, left: object, right: object) -> object:
    """`left < right` and the like, of each sample, by the name of its node. Raises UnclearError."""
    asks = name.removeprefix("Not")
    if asks not in QUESTIONS:
        raise UnclearError(f"it compares by {name}")
    question = partial(_answer, QUESTIONS[asks], asks == name)
    if type(right) in (list, tuple, dict) and isinstance(right, (list, tuple, dict)):
        if not set(map(type, right)) <= PLAIN:
            raise UnclearError("it looks for a value in what is no list of texts or numbers")
        return made(partial(_swapped, question, right), [left])
    return made(question, [left, right])


def _swapped(question: Callable[..., object], right: object, left: object) -> object:
    return question(left, right)


def _answer(question: Callable[..., object], wanted: bool, left: object, right: object) -> object:
    answer = question(left, right)
    return answer if wanted else not answer


def chosen(test: Column, yes: object, no: object) -> Column:
    """`yes if test else no` of each sample. Raises UnclearError."""
    if isinstance(yes, Picture) or isinstance(no, Picture):
        raise UnclearError("what it does to an image depends on a value of the sample")
    return mapped(lambda one, *ways: ways[0] if one else ways[1], [test, yes, no])


def called(function: object, values: Values, named: Mapping[str, object]) -> object:
    """What a call with a sample's values is; None for any other call."""
    first = values[0] if values else None
    inner = function.function if isinstance(function, Builtin) else function
    if any(inner is one for one in TEXTS) and values and not named:
        return made(cast("Callable[..., object]", inner), values)
    if isinstance(first, Index) and function is torch.is_tensor:
        return False if len(values) == 1 else None
    if not any(isinstance(value, (Column, Opened)) for value in values):
        return None
    if isinstance(first, Opened):
        is_open = not first.is_image and _is(function, "PIL.Image", "open")
        return Opened(first.paths, True) if is_open and len(values) == 1 and not named else None
    if inner is open and isinstance(first, Column):
        return Opened(first, False) if list(values[1:]) == ["rb"] and not named else None
    if len(values) != 1 or not isinstance(first, Column):
        return None
    if not named and _is(function, "PIL.Image", "open"):
        return Opened(first, True)
    loads = not named and any(_is(function, FOLDER, name) for name in LOADERS)
    return Opened(first, True) if loads and image_backend() == "PIL" else None


def loads(function: object) -> bool:
    """Whether a function gives an image of three channels, not only an open one."""
    return any(_is(function, FOLDER, name) for name in LOADERS)


def _is(function: object, module: str, name: str) -> bool:
    """Whether it is this function of a library's, as its file has it."""
    space = vars(sys.modules[module]) if module in sys.modules else {}
    if function is not space.get(name):
        return False
    return reach.is_function(function, module, name) and not reach.changed(
        cast("FunctionType", function)
    )


def followable(function: FunctionType) -> bool:
    """Whether a function of a library's may be followed as the user's: what a subclass of
    torchvision's folders inherits.
    """
    home = getattr(sys.modules.get(FOLDER), "DatasetFolder", None)
    held = vars(home).get(function.__name__) if isinstance(home, type) else None
    fits = function is held and function.__name__ in ("__getitem__", "__len__")
    return fits and reach.is_function(function, FOLDER, f"DatasetFolder.{function.__name__}")


class Files:
    """The one column of files whose images a data set opens."""

    def __init__(self) -> None:
        self.paths: Column | None = None

    def picture(self, opened: Opened) -> Picture:
        """Its image in three channels. Raises UnclearError for a second one."""
        if self.paths is not None:
            raise UnclearError("it opens several images, or one twice")
        self.paths = opened.paths
        return Picture()
