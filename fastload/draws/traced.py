"""`Traced`: an array of cells that NumPy's functions take in place of an array of numbers.

Its first axis is the samples', of which it has one. What only moves numbers about (shapes, slices,
joins) moves cells; what computes makes new ones. So a recorded op needs nothing but NumPy.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from fastload import _native
from fastload.draws import functions
from fastload.draws.cells import (
    BATCH,
    GIVEN,
    UNIFORM,
    Cell,
    NotRecorded,
    Outside,
    Recorder,
    values,
)
from fastload.spec import Array, Bools, Dtype, Floats

P = ParamSpec("P")
T = TypeVar("T")
SINGLE = np.dtype(np.float32)
# How a cell of one type becomes one of another, by the types' kinds; others stay as they are.
CASTS = {"fi": "whole", "fu": "whole"}


class Traced(NDArrayOperatorsMixin):
    """cells: object [1, …]; dtype: of the array that it stands for."""

    __array_priority__ = 1000

    def __init__(self, recorder: Recorder, cells: Array, dtype: Dtype) -> None:
        self.recorder, self.cells, self.dtype = recorder, cells, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cells.shape

    @property
    def ndim(self) -> int:
        return self.cells.ndim

    @property
    def size(self) -> int:
        return self.cells.size

    @property
    def T(self) -> "Traced":  # noqa: N802  NumPy's name
        return self.moved(self.cells.T)

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, key: Any) -> "Traced":
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, Traced) for part in parts):
            raise NotRecorded("an index that is drawn (look_up and np.take_along_axis take one)")
        found = self.cells[key]
        return self.moved(found if isinstance(found, np.ndarray) else boxed(found))

    def __iter__(self) -> Any:
        return (self[n] for n in range(len(self)))

    def __bool__(self) -> bool:
        raise NotRecorded("a branch that depends on what is drawn")

    def __array__(self, *args: object, **kwargs: object) -> Array:
        raise NotRecorded("a conversion to an array of numbers")

    def moved(self, cells: Array) -> "Traced":
        """The same numbers elsewhere."""
        return Traced(self.recorder, cells, self.dtype)

    def mapped(self, make: Callable[..., Cell], dtype: Dtype, *others: Array) -> "Traced":
        """`make` of each cell, and of those of others of the same shape."""
        out = np.empty(self.shape, object)
        rows = zip(self.cells.flat, *(other.flat for other in others), strict=True)
        for place, cells in enumerate(rows):
            out.flat[place] = make(*cells)
        return Traced(self.recorder, out, dtype)

    def reshape(self, *shape: Any) -> "Traced":
        return self.moved(self.cells.reshape(*shape))

    def copy(self) -> "Traced":
        return self.moved(self.cells.copy())

    def astype(self, dtype: Any) -> "Traced":
        to = np.dtype(dtype)
        step = "single" if to == SINGLE != self.dtype else CASTS.get(self.dtype.kind + to.kind)
        if to.kind == "b" != self.dtype.kind:
            zero = self.recorder.constant(0)
            return self.mapped(lambda cell: self.recorder.cell("not_equal", (cell, zero)), to)
        if step is None:
            return Traced(self.recorder, self.cells, to)
        return self.mapped(lambda cell: self.recorder.cell(step, (cell,)), to)

    def view(self, dtype: Any) -> "Traced":
        step = {"ui": "signed32", "iu": "unsigned32"}.get(self.dtype.kind + np.dtype(dtype).kind)
        if step is None or (self.dtype.itemsize, np.dtype(dtype).itemsize) != (4, 4):
            raise NotRecorded(f"a view of {self.dtype} as {dtype}")
        return self.mapped(lambda cell: self.recorder.cell(step, (cell,)), np.dtype(dtype))

    def any(self, axis: int | None = None) -> Any:
        return functions.folded(self, "logical_or", axis, np.dtype(bool))

    def all(self, axis: int | None = None) -> Any:
        return functions.folded(self, "logical_and", axis, np.dtype(bool))

    def min(self, axis: int | None = None) -> Any:
        return functions.folded(self, "minimum", axis, self.dtype)

    def max(self, axis: int | None = None) -> Any:
        return functions.folded(self, "maximum", axis, self.dtype)

    def argmax(self, axis: int) -> Any:
        return functions.argmax(self, axis)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
        into = given.pop("out", (None,))[0]
        if method != "__call__" or given or not (into is None or into is inputs[0]):
            raise NotRecorded(f"np.{ufunc.__name__}.{method} with {', '.join(given) or 'out'}")
        out = functions.computed(self.recorder, ufunc, inputs)
        return out if into is None else out.astype(into.dtype)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, given: Any
    ) -> Any:
        known = functions.FUNCTIONS.get(function.__name__)
        if known is None:
            raise NotRecorded(f"np.{function.__name__}")
        return known(self.recorder, *args, **given)


def boxed(cell: Any) -> Array:
    out = np.empty((), object)
    out[()] = cell
    return out


def uniforms(recorder: Recorder, op: int, count: int, *, of_batch: bool) -> Traced:
    """[1, count]: those of an op."""
    cells = np.empty((1, count), object)
    for column in range(count):
        cells[0, column] = recorder.cell(BATCH if of_batch else UNIFORM, at=(op, column))
    return Traced(recorder, cells, np.dtype(np.float64))


def may_be(numbers: Any, value: float) -> bool:
    """Whether any of these numbers may have this value."""
    if not isinstance(numbers, Traced):
        return bool(np.any(numbers == value))
    known = [values(cell) for cell in numbers.cells.flat]
    return any(each is None or value in each for each in known)


def look_up(table: ArrayLike, places: Any) -> Any:
    """The rows of a table at these places: np.take, which hands no symbols on."""
    if isinstance(places, Traced):
        return functions.looked_up(table, places)
    return np.take(table, places, axis=0)


def any_refused(samples: Any) -> bool:
    """Whether any of these samples (bool) is one that an op refuses. A program leaves a batch with
    such a sample to NumPy, which says what is wrong.
    """
    if not isinstance(samples, Traced):
        return bool(np.any(samples))
    samples.recorder.refusals += samples.cells.flat
    return False


def plain(function: Callable[[float], float], numbers: Any, where: Bools) -> Any:
    """A function of Python's for each of the numbers where `where` holds, 0 elsewhere: as float64.

    NumPy has sines and tangents of its own, which differ in the last bit.
    """
    if not isinstance(numbers, Traced):
        out: Floats = np.zeros(np.shape(numbers))
        out[where] = [function(number) for number in numbers[where].tolist()]
        return out
    if function.__name__ not in _native.DRAW_MATH:
        raise NotRecorded(f"math.{function.__name__}")
    at, recorder = functions.traced(numbers.recorder, where), numbers.recorder
    return numbers.mapped(
        lambda cell, on: recorder.cell("masked", (cell, on), function.__name__),
        np.dtype(np.float64),
        at.cells,
    )


def outside(function: Callable[P, T]) -> Callable[P, T]:
    """Makes a function of uniforms one that a recording leaves to Python: `function(u, …)`."""

    @wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        u, *others = args
        if isinstance(u, Traced):
            return _from_outside(function, u, tuple(others))
        return function(*args, **kwargs)

    return made


def _from_outside(function: Callable[..., Any], u: Traced, others: tuple[Any, ...]) -> Traced:
    cells, recorder = list(u.cells.flat), u.recorder
    ops = {cell.at[0] for cell in cells if cell.step == UNIFORM}
    if len(ops) != 1 or any(cell.step != UNIFORM for cell in cells):
        raise NotRecorded(f"{function.__name__} of what is no uniform of the op")
    shape = u.shape[1:]
    result = np.asarray(function(np.full(u.shape, 0.5), *others))
    columns = tuple(cell.at[1] for cell in cells)
    one = Outside(function, others, ops.pop(), columns, shape, recorder.given, result.size)
    recorder.outside.append(one)
    recorder.given += result.size
    out = np.empty(result.shape, object)
    for place in range(result.size):
        out.flat[place] = recorder.cell(GIVEN, at=one.first + place)
    return Traced(recorder, out, result.dtype)
