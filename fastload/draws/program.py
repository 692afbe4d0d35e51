"""From cells to programs of the extension: which registers, in which order."""

import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload import _native, rng
from fastload.draws.cells import (
    BATCH,
    CONSTANT,
    GIVEN,
    ROW,
    SIZE,
    STEPS,
    UNIFORM,
    Cell,
    NotRecorded,
    Outside,
    Recorder,
    used,
)
from fastload.draws.functions import traced
from fastload.draws.traced import Traced, uniforms
from fastload.spec import Array, Floats, Ints, Longs, Work

LISTED = ("pick", "argmax", "argsort", "sort")
KINDS = {"i": "int32", "u": "uint32", "f": "float64", "b": "int32"}
MOST = 1 << 16  # cells of a recording; more would be no faster than NumPy


class _Ufunc(ctypes.Structure):
    """What NumPy's C API says of a ufunc (ufuncobject.h), after the head of the object."""

    _fields_ = (
        ("counts", ctypes.c_int * 4),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
    )


def loop_of(name: str) -> tuple[str, int, int]:
    """As `_native.Draws` takes a function: NumPy's own loop of float64, or one of Python's math."""
    if name in _native.DRAW_MATH:
        return name, 0, 0
    ufunc = getattr(np, name)
    found = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    place = ufunc.types.index("d->d")
    return name, found.functions[place] or 0, found.data[place] or 0


class _Registers:
    """Of one program: those whose number is not needed any more are used again."""

    def __init__(self) -> None:
        self.count = 0
        self._free: list[int] = []

    def one(self) -> int:
        return self._free.pop() if self._free else self.several(1)

    def several(self, count: int) -> int:
        self.count += count
        return self.count - count

    def back(self, number: int) -> None:
        self._free.append(number)


class _Compiler:
    """Cells in the order in which they were made, from the outputs back to what is needed."""

    def __init__(self, ends: list[Cell], refusals: list[Cell]) -> None:
        self.cells = sorted(used([*ends, *refusals]), key=lambda cell: cell.place)
        self.registers, self.at = _Registers(), dict[Cell, int]()
        self.steps: list[tuple[int, int, int, int, int]] = []
        self.lists: list[int] = []
        self.functions: dict[str, int] = {}
        last = {part: cell.place for cell in self.cells for part in cell.of}
        self.kept = {*ends, *refusals, *(c for c in self.cells if c.step == CONSTANT)}
        self.ending: dict[int, list[Cell]] = {}
        for cell, place in last.items():
            if cell not in self.kept and cell.step not in ("argsort", "sort", ROW):
                self.ending.setdefault(place, []).append(cell)
        for cell in self.cells:
            if cell.step in (CONSTANT, UNIFORM, BATCH, SIZE, GIVEN):
                self.at[cell] = self.registers.several(1)
        for cell in self.cells:
            if cell not in self.at:
                self._place(cell)

    def _place(self, cell: Cell) -> None:
        if cell.step == ROW:
            self.at[cell] = self.at[cell.of[0]] + cell.at
            return
        rows = cell.step in ("argsort", "sort")
        out = self.registers.several(len(cell.of)) if rows else self.registers.one()
        self.at[cell] = out
        self.steps.append((STEPS[cell.step], out, *self._operands(cell)))
        for part in self.ending.get(cell.place, ()):
            self.registers.back(self.at[part])

    def _operands(self, cell: Cell) -> tuple[int, int, int]:
        at = [self.at[part] for part in cell.of]
        if cell.step in LISTED:
            picks = cell.step == "pick"
            first, listed = len(self.lists), at[picks:]
            self.lists += listed
            return at[0] if picks else 0, first, len(listed)
        if cell.step in ("call", "masked"):
            return at[0], self.functions.setdefault(cell.at, len(self.functions)), at[-1]
        a, b, c = (at + [at[-1]] * 2)[:3]
        return a, b, c

    def inputs(self, step: str) -> list[Cell]:
        return sorted((c for c in self.cells if c.step == step), key=lambda cell: cell.at)


def _compiled(recorder: Recorder, outputs: Mapping[str, Traced], refusals: list[Cell], of: str,
              base: int) -> _native.Draws:  # fmt: skip
    """A program of these outputs.

    of: which uniforms it has; base: what their op numbers begin at.
    """
    ends = [cell for array in outputs.values() for cell in array.cells.flat]
    made = _Compiler(ends, refusals)
    drawn = [(base + cell.at[0], cell.at[1], made.at[cell]) for cell in made.inputs(of)]
    # A size or a given number that nobody needs has a register all the same.
    places = {(c.step, c.at): made.at[c] for c in made.cells if c.step in (SIZE, GIVEN)}
    spare = made.registers.several(1)
    needs, given = any(step == SIZE for step, _ in places), recorder.given * (of == UNIFORM)
    return _native.Draws(
        registers=made.registers.count,
        steps=np.array(made.steps, np.int32).reshape(-1, 5),
        lists=made.lists,
        constants=[(made.at[c], c.at) for c in made.cells if c.step == CONSTANT],
        uniforms=np.array(drawn, np.int32).reshape(-1, 3),
        sizes=[places.get((SIZE, axis), spare) for axis in (0, 1)] if needs else [],
        given=[places.get((GIVEN, n), spare) for n in range(given)],
        refusals=[made.at[cell] for cell in refusals],
        outputs=[
            (KINDS[array.dtype.kind], [made.at[cell] for cell in array.cells.flat])
            for array in outputs.values()
        ],
        functions=[loop_of(name) for name in made.functions],
    )


# A program, samples and occurrences (or what stands for them), given numbers, and arrays to fill,
# as `_native.Job.then` takes them
Run = tuple[_native.Draws, Longs, Longs, Floats, list[Array]]
# A program, whether the batch shares what it draws, given numbers, and arrays to fill, as
# `_native.Kit` takes them
FixedRun = tuple[_native.Draws, bool, Floats, list[Array]]
NO_SIZES = np.zeros((1, 2), np.int32)
NOTHING_GIVEN = np.zeros((1, 0))


@functools.lru_cache(maxsize=4)
def _nothing(count: int) -> Floats:
    """Given numbers of so many samples, where there are none."""
    return np.zeros((count, 0))


@dataclass(frozen=True)
class _Part:
    """A program, and the arrays that it fills: name, shape without the samples, type."""

    draws: _native.Draws
    arrays: tuple[tuple[str, tuple[int, ...], str], ...]

    def made(self, count: int) -> tuple[list[Array], dict[str, Array]]:
        """Its arrays, as a program fills them and by name."""
        made = {name: np.empty((count, *shape), kind) for name, shape, kind in self.arrays}
        return [array.reshape(count, -1) for array in made.values()], made

    def ready(self, keys: tuple[Longs, Longs], given: Floats) -> tuple[Run, dict[str, Array]]:
        flat, made = self.made(len(keys[0]))
        return (self.draws, *keys, given, flat), made


@dataclass(frozen=True)
class Recorded:
    """What a batch's records are made by: of its samples, and what they share."""

    samples: _Part | None
    batch: _Part | None
    outside: tuple[Outside, ...]
    given: int

    def ready(self, work: Work) -> tuple[list[Run], dict[str, Array]]:
        """What is to be run for a batch, and the arrays [N or 1, …] by name that it fills."""
        runs: list[Run] = []
        arrays: dict[str, Array] = {}
        if self.samples:
            run, made = self.samples.ready((work.samples, work.occurrences), self._given(work))
            runs.append(run)
            arrays |= made
        if self.batch:
            run, made = self.batch.ready(rng.batch_key(work), NOTHING_GIVEN)
            runs.append(run)
            arrays |= made
        return runs, arrays

    def fixed(self, count: int) -> tuple[list[FixedRun], dict[str, Array], Floats]:
        """The same for any batch of so many samples, whose given numbers [N, given] are in the last
        array.
        """
        given = np.zeros((count, self.given))
        runs: list[FixedRun] = []
        arrays: dict[str, Array] = {}
        for part, of_batch in ((self.samples, False), (self.batch, True)):
            if part:
                flat, made = part.made(1 if of_batch else count)
                runs.append((part.draws, of_batch, NOTHING_GIVEN if of_batch else given, flat))
                arrays |= made
        return runs, arrays, given

    def run(self, work: Work, sizes: Ints) -> dict[str, Array] | None:
        """These arrays, filled; None where NumPy has to draw this batch."""
        runs, arrays = self.ready(work)
        for run, of_batch in zip(runs, (self.samples is None, True), strict=False):
            draws, *keys, given, fill = run
            px = NO_SIZES if of_batch else sizes
            if not draws.run(work.seed, work.epoch, keys[0], keys[1], px, given, fill):
                return None
        return arrays

    def _given(self, work: Work) -> Floats:
        if not self.given:
            return _nothing(len(work))
        out = np.empty((len(work), self.given))
        self.give(work, out)
        return out

    def give(self, work: Work, out: Floats) -> None:
        """What others' functions make of the batch's uniforms: [N, given]."""
        for each in self.outside:
            u = rng.sample_uniforms(work, each.op, 1 + max(each.columns))[:, list(each.columns)]
            made = each.function(u.reshape(len(work), *each.shape), *each.arguments)
            out[:, each.first : each.first + each.numbers] = made.reshape(len(work), each.numbers)


# Makes the arrays by name from what draws the uniforms of an op (number, count, whether the batch
# shares them), and sizes [N, 2].
Drawing = Callable[[Callable[[int, int, bool], Floats], Ints], Mapping[str, Array | None]]


def _drawn(recorder: Recorder, op: int, count: int, shared: bool) -> Traced:
    return uniforms(recorder, op, count, of_batch=shared)


def record(drawing: Drawing) -> Recorded:
    """What `drawing` does, as programs. Raises NotRecorded."""
    recorder = Recorder(Traced)
    cells = np.array([[recorder.cell(SIZE, at=axis) for axis in (0, 1)]], object)
    sizes: Any = Traced(recorder, cells, np.dtype(np.int32))
    draw: Any = functools.partial(_drawn, recorder)
    arrays = {
        name: traced(recorder, array)
        for name, array in drawing(draw, sizes).items()
        if array is not None
    }
    if len(recorder.cells) > MOST:
        raise NotRecorded(f"{len(recorder.cells)} numbers for each sample")
    parts: dict[str, dict[str, Traced]] = {UNIFORM: {}, BATCH: {}}
    for name, array in arrays.items():
        parts[_whose(array)][name] = array
    part = {
        of: _Part(
            _compiled(recorder, outputs, recorder.refusals if of == UNIFORM else [], of, base),
            tuple((name, a.shape[1:], KINDS[a.dtype.kind]) for name, a in outputs.items()),
        )
        for (of, outputs), base in zip(parts.items(), (0, rng.BATCH_DRAWS), strict=True)
        if outputs
    }
    return Recorded(part.get(UNIFORM), part.get(BATCH), tuple(recorder.outside), recorder.given)


def _whose(array: Traced) -> str:
    """Whether samples have it, each its own, or a batch shares it."""
    steps = {cell.step for cell in used(list(array.cells.flat))}
    own = bool(steps & {UNIFORM, SIZE, GIVEN})
    if own and BATCH in steps:
        raise NotRecorded("a number that depends on a sample's draws and on the batch's")
    return BATCH if BATCH in steps else UNIFORM
