"""Columns of numbers, one per sample, that are not all in memory: what arrays of a data set are
where it may have a thousand million samples.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, overload

import numpy as np

from fastload.spec import Longs

AT_ONCE = 1 << 16  # values that are taken together where all are wanted


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers [N] in place of an array, read where they are asked for.

    Indexed as an array is: by a number, a slice, or an array of numbers or of bools. `np.asarray`
    makes an array of all. Immutable, and picklable if `take` is, which any thread may call.

    Args:
        count: N.
        take: The numbers at positions int64 [K], each 0 to N - 1.
        low: No number is below; it may be further away than any is.
        high: No number is above; likewise.

    Example:
        >>> import numpy as np
        >>> from fastload.extending import Column
        >>> squares = Column(1 << 30, lambda at: at * at, 0, 1 << 60)
        >>> len(squares), int(squares[-1]), squares[np.array([2, 3])]
        (1073741824, 1152921502459363329, array([4, 9]))
    """

    count: int
    take: Callable[[Longs], Longs]
    low: int
    high: int
    dtype, ndim = np.dtype(np.int64), 1

    @property
    def shape(self) -> tuple[int]:
        return (self.count,)

    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, key: int) -> np.int64: ...

    @overload
    def __getitem__(self, key: slice | Longs | Sequence[int]) -> Longs: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.take(np.arange(*key.indices(self.count)))
        at = np.asarray(key)
        if at.dtype == np.bool_:
            (at,) = np.nonzero(at)
        wanted = at.reshape(-1).astype(np.int64, copy=False)
        if len(wanted) and not -self.count <= wanted.min() <= wanted.max() < self.count:
            raise IndexError(f"index {wanted.min()} to {wanted.max()} of {self.count} numbers")
        found = self.take(np.where(wanted < 0, wanted + self.count, wanted))
        return found[0] if at.ndim == 0 else found.reshape(at.shape)

    def chunks(self) -> Iterator[Longs]:
        """All, some at a time."""
        for begin in range(0, self.count, AT_ONCE):
            yield self.take(np.arange(begin, min(begin + AT_ONCE, self.count)))

    def tolist(self) -> list[int]:
        return [number for chunk in self.chunks() for number in chunk.tolist()]

    def __iter__(self) -> Iterator[np.int64]:
        return (number for chunk in self.chunks() for number in chunk)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("numbers that are not in memory cannot be an array without a copy")
        whole = np.empty(self.count, np.int64)
        for number, chunk in enumerate(self.chunks()):
            whole[number * AT_ONCE : number * AT_ONCE + len(chunk)] = chunk
        return whole if dtype is None else whole.astype(dtype, copy=False)


Numbers: TypeAlias = Longs | Column


def constant(count: int, value: int) -> Column:
    """The same number for each."""
    return Column(count, partial(np.full_like, fill_value=value), value, value)


def bounds(numbers: Numbers) -> tuple[int, int]:
    """No number is below or above these; 0 and -1 where there are none."""
    if isinstance(numbers, Column):
        return (numbers.low, numbers.high) if numbers.count else (0, -1)
    return int(numbers.min(initial=0)), int(numbers.max(initial=-1))


def extremes(numbers: Numbers) -> tuple[int, int]:
    """The least and the greatest; 0 and -1 where there are none. It may have to read all."""
    if not len(numbers):
        return 0, -1
    chunks = numbers.chunks() if isinstance(numbers, Column) else [numbers]
    ends = [(int(chunk.min()), int(chunk.max())) for chunk in chunks]
    return min(low for low, _ in ends), max(high for _, high in ends)


def picked(numbers: Numbers, indices: Longs) -> Numbers:
    """Some of them, in any order."""
    if not isinstance(numbers, Column):
        return numbers[indices]
    return Column(len(indices), partial(_picked, numbers, indices), numbers.low, numbers.high)


def _picked(base: Column, indices: Longs, at: Longs) -> Longs:
    return base.take(indices[at])


def translated(numbers: Numbers, table: Longs) -> Numbers:
    """What stands in the table for each."""
    if not isinstance(numbers, Column):
        return table[numbers]
    low, high = bounds(table)
    return Column(numbers.count, partial(_translated, numbers, table), low, high)


def _translated(base: Column, table: Longs, at: Longs) -> Longs:
    return table[base.take(at)]


def joined(parts: Sequence[Numbers]) -> Numbers:
    """One after the other."""
    if not any(isinstance(part, Column) for part in parts):
        return np.concatenate([np.asarray(part) for part in parts])
    starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    ends = [bounds(part) for part in parts if len(part)]
    low, high = (
        min((low for low, _ in ends), default=0),
        max((high for _, high in ends), default=-1),
    )
    return Column(int(starts[-1]), partial(_joined, tuple(parts), starts), low, high)


def _joined(parts: tuple[Numbers, ...], starts: Longs, at: Longs) -> Longs:
    out, of = np.empty_like(at), np.searchsorted(starts, at, side="right") - 1
    for number in np.unique(of).tolist():
        mine = of == number
        out[mine] = parts[number][at[mine] - starts[number]]
    return out
