"""Cells: the numbers of one sample as they depend on each other. Equal ones are the same object."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fastload import _native
from fastload.spec import Array, Dtype

STEPS = {name: code for code, name in enumerate(_native.DRAW_STEPS)}
CONSTANT, UNIFORM, SIZE, GIVEN, ROW = "constant", "uniform", "size", "given", "row"
BATCH = "batch"  # a uniform that all samples of a batch share


class NotRecorded(TypeError):  # noqa: N818  no user sees it
    """An op's NumPy does what no program can."""


class Cell:
    """One number: a step's result of other cells, or what comes from outside.

    at: what else the step is told: a constant's value, a uniform's op and column, a function.
    """

    __slots__ = ("at", "of", "place", "step")

    def __init__(self, step: str, of: "tuple[Cell, ...]", at: Any, place: int) -> None:
        self.step, self.of, self.at, self.place = step, of, at, place


class Outside(NamedTuple):
    """A function of uniforms that Python calls before a batch is drawn: others' code makes it."""

    function: Callable[..., Array]
    arguments: tuple[Any, ...]
    op: int
    columns: tuple[int, ...]
    shape: tuple[int, ...]  # of its argument, without the samples
    first: int  # of the given numbers
    numbers: int


class Recorder:
    """The cells of one recording, in the order in which they were made.

    kind: of arrays of cells: made of the recorder, the cells and the type that they stand for.
    """

    def __init__(self, kind: Callable[..., Any]) -> None:
        self.kind = kind
        self.cells: list[Cell] = []
        self.outside: list[Outside] = []
        self.given = 0  # numbers that functions outside give
        self.refusals: list[Cell] = []
        self._known: dict[Any, Cell] = {}

    def cell(self, step: str, of: tuple[Cell, ...] = (), at: Any = None) -> Cell:
        key = (step, *map(id, of), repr(at) if isinstance(at, float) else at)
        if key not in self._known:
            self._known[key] = Cell(step, of, at, len(self.cells))
            self.cells.append(self._known[key])
        return self._known[key]

    def array(self, cells: Array, dtype: Dtype) -> Any:
        return self.kind(self, cells, dtype)

    def constant(self, value: Any) -> Cell:
        return self.cell(CONSTANT, at=float(value))

    def row(self, step: str, of: tuple[Cell, ...]) -> list[Cell]:
        """The results of a step that has as many as cells that it is made of."""
        whole = self.cell(step, of)
        return [self.cell(ROW, (whole,), number) for number in range(len(of))]


def values(cell: Cell) -> set[float] | None:
    """All that the cell may be; None where that is not known."""
    if cell.step == CONSTANT:
        return {cell.at}
    if cell.step == "whole":
        return values(cell.of[0])
    parts = cell.of[1:] if cell.step in ("where", "pick") else None
    if parts is None:
        return None
    found = [values(part) for part in parts]
    return None if None in found else set().union(*(part for part in found if part is not None))


def used(ends: list[Cell]) -> Iterator[Cell]:
    """The cells that these depend on, and they themselves, each once."""
    seen: set[int] = set()
    todo = list(ends)
    while todo:
        cell = todo.pop()
        if cell.place not in seen:
            seen.add(cell.place)
            todo += cell.of
            yield cell
