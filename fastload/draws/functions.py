"""What NumPy's functions make of cells."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastload.draws.cells import STEPS, Cell, NotRecorded, Recorder
from fastload.spec import Array, Dtype

LOOPS = ("exp", "log", "log1p", "expm1")  # NumPy's own roundings
OTHER_NAMES = {
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
    "invert": "logical_not", "true_divide": "divide",
}  # fmt: skip
ROUNDED = ("add", "subtract", "multiply", "divide", "sqrt")  # a float32's by one more rounding


def computed(recorder: Recorder, ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """A ufunc of arrays that broadcast together."""
    name = ufunc.__name__
    arrays = [traced(recorder, value) for value in inputs]
    kinds = {array.dtype.kind for array in arrays}
    dtype = _result(ufunc, inputs)
    if name in ("bitwise_and", "bitwise_or", "bitwise_xor", "invert") and kinds != {"b"}:
        raise NotRecorded(f"np.{name} of whole numbers")
    step = OTHER_NAMES.get(name, name)
    halves = arrays[-1].cells.size and all(_power_of_two(c) for c in arrays[-1].cells.flat)
    if step == "floor_divide" and "f" in kinds and not halves:
        raise NotRecorded(f"np.{name} of {dtype}")
    if name in LOOPS and dtype != np.float64:
        raise NotRecorded(f"np.{name} of {dtype}")
    if name in ("radians", "deg2rad"):
        return computed(recorder, np.multiply, (inputs[0], math.pi / 180))
    if name in LOOPS:
        return arrays[0].mapped(lambda cell: recorder.cell("call", (cell,), name), dtype)
    if step not in STEPS or STEPS[step] >= STEPS["where"]:
        raise NotRecorded(f"np.{name}")
    rounded = dtype == np.float32
    if rounded and step in ("remainder",):
        raise NotRecorded(f"np.{name} of float32")

    def make(*cells: Cell) -> Cell:
        cell = recorder.cell(step, cells)
        return recorder.cell("single", (cell,)) if rounded and step in ROUNDED else cell

    cells = np.broadcast_arrays(*(array.cells for array in arrays))
    return recorder.array(cells[0], dtype).mapped(make, dtype, *cells[1:])


def _power_of_two(cell: Cell) -> bool:
    return cell.step == "constant" and cell.at > 0 and math.frexp(cell.at)[0] == 0.5


def _result(ufunc: np.ufunc, inputs: Sequence[Any]) -> Dtype:
    """NumPy's own answer, by an example: Python's numbers have no type of their own."""
    examples = [_example(value) for value in inputs]
    with np.errstate(all="ignore"):
        found: Dtype = np.asarray(ufunc(*examples)).dtype
    return found


def _example(value: Any) -> Any:
    """Something of its type."""
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return value
    return np.ones(1, value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype)


def traced(recorder: Recorder, value: Any) -> Any:
    """The value as an array of cells."""
    if hasattr(value, "cells"):
        return value
    array = np.asarray(value)
    cells = np.empty(array.shape, object)
    for place, number in enumerate(array.flat):
        cells.flat[place] = recorder.constant(number)
    return recorder.array(cells, array.dtype)


def _joined(recorder: Recorder, arrays: Sequence[Any]) -> tuple[list[Array], Dtype]:
    parts = [traced(recorder, array) for array in arrays]
    return [part.cells for part in parts], np.result_type(*(part.dtype for part in parts))


def folded(array: Any, step: str, axis: int | None, dtype: Dtype) -> Any:
    """All along an axis into one, by a step of two."""
    cells = array.cells.reshape(-1) if axis is None else np.moveaxis(array.cells, axis, 0)
    out = array.moved(cells[0] if isinstance(cells[0], np.ndarray) else cells[:1].reshape(()))
    for other in cells[1:]:
        extra = other if isinstance(other, np.ndarray) else np.array(other, object)
        out = out.mapped(lambda a, b: array.recorder.cell(step, (a, b)), dtype, extra)
    return out.astype(dtype)


def argmax(array: Any, axis: int) -> Any:
    cells = np.moveaxis(array.cells, axis, -1)
    out = np.empty(cells.shape[:-1], object)
    for place in np.ndindex(*out.shape):
        out[place] = array.recorder.cell("argmax", tuple(cells[place]))
    return array.recorder.array(out, np.dtype(np.int64))


def _rowwise(step: str, same: bool) -> Callable[..., Any]:
    def run(recorder: Recorder, array: Any, axis: int = -1, **_: Any) -> Any:
        cells = np.moveaxis(array.cells, axis, -1)
        out = np.empty(cells.shape, object)
        for place in np.ndindex(*cells.shape[:-1]):
            out[place] = recorder.row(step, tuple(cells[place]))
        dtype = array.dtype if same else np.dtype(np.int64)
        return recorder.array(np.moveaxis(out, -1, axis), dtype)

    return run


def _where(recorder: Recorder, condition: Any, left: Any, right: Any) -> Any:
    dtype: Dtype = np.where(np.ones(1, bool), _example(left), _example(right)).dtype
    on, *sides = (traced(recorder, part) for part in (condition, left, right))
    cells = np.broadcast_arrays(on.cells, *(side.astype(dtype).cells for side in sides))
    return on.moved(cells[0]).mapped(lambda *three: _chosen(recorder, *three), dtype, *cells[1:])


def _chosen(recorder: Recorder, condition: Cell, left: Cell, right: Cell) -> Cell:
    if condition.step == "constant":
        return left if condition.at else right
    return left if left is right else recorder.cell("where", (condition, left, right))


def _take_along_axis(recorder: Recorder, array: Any, index: Any, axis: int) -> Any:
    of, by = traced(recorder, array), traced(recorder, index)
    lists, places = np.moveaxis(of.cells, axis, -1), np.moveaxis(by.cells, axis, -1)
    shape = np.broadcast_shapes(lists.shape[:-1], places.shape[:-1])
    lists = np.broadcast_to(lists, (*shape, lists.shape[-1]))
    places = np.broadcast_to(places, (*shape, places.shape[-1]))
    out = np.empty(places.shape, object)
    for at in np.ndindex(*places.shape):
        out[at] = _picked(recorder, places[at], tuple(lists[at[:-1]]))
    return of.moved(np.moveaxis(out, -1, axis))


def looked_up(table: Any, places: Any) -> Any:
    """Rows of a table, at places that are drawn."""
    of = traced(places.recorder, table)
    out = np.empty((*places.shape, *of.shape[1:]), object)
    for at in np.ndindex(*places.shape):
        for rest in np.ndindex(*of.shape[1:]):
            row = (slice(None), *rest)
            out[at + rest] = _picked(places.recorder, places.cells[at], tuple(of.cells[row]))
    return of.moved(out)


def _picked(recorder: Recorder, place: Cell, cells: tuple[Cell, ...]) -> Cell:
    if place.step == "constant":
        return cells[int(place.at)]
    return cells[0] if len(set(cells)) == 1 else recorder.cell("pick", (place, *cells))


def _searchsorted(recorder: Recorder, rising: Any, array: Any, side: str = "left") -> Any:
    """How many of a few rising numbers lie below, or (right) are no more."""
    by = traced(recorder, array)
    compare = np.less if side == "left" else np.less_equal
    found = [computed(recorder, compare, (float(bound), by)) for bound in rising]
    out = found[0].astype(np.int64)
    for other in found[1:]:
        out = out + other.astype(np.int64)
    return out


def _stack(recorder: Recorder, arrays: Sequence[Any], axis: int = 0) -> Any:
    cells, dtype = _joined(recorder, arrays)
    return recorder.array(np.stack(cells, axis), dtype)


def _concatenate(recorder: Recorder, arrays: Sequence[Any], axis: int = 0) -> Any:
    cells, dtype = _joined(recorder, arrays)
    return recorder.array(np.concatenate(cells, axis), dtype)


def _broadcast_arrays(recorder: Recorder, *arrays: Any) -> tuple[Any, ...]:
    parts = [traced(recorder, array) for array in arrays]
    cells = np.broadcast_arrays(*(part.cells for part in parts))
    return tuple(part.moved(each) for part, each in zip(parts, cells, strict=True))


def _moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that leaves the numbers as they are."""
    return lambda _, array, *args, **given: array.moved(function(array.cells, *args, **given))


def _clip(recorder: Recorder, array: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(array, low), high)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where, "take_along_axis": _take_along_axis, "stack": _stack,
    "concatenate": _concatenate, "broadcast_arrays": _broadcast_arrays, "clip": _clip,
    "searchsorted": _searchsorted, "argsort": _rowwise("argsort", same=False),
    "sort": _rowwise("sort", same=True),
    "argmax": lambda _, array, axis: argmax(array, axis),
    "any": lambda _, array, axis=None: array.any(axis),
    "all": lambda _, array, axis=None: array.all(axis),
    "full_like": lambda _, array, value, dtype=None: np.full(
        array.shape, value, dtype or array.dtype
    ),
    "zeros_like": lambda _, array, dtype=None: np.zeros(array.shape, dtype or array.dtype),
    **{
        name: _moving(getattr(np, name))
        for name in ("broadcast_to", "tile", "expand_dims", "squeeze", "reshape", "transpose",
                     "repeat", "roll", "moveaxis", "flip")
    },
}  # fmt: skip
