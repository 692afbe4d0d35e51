"""A mix of data sets: their samples, one part after the other, and in what shares they are drawn.

The order of the draws is fastload.order.mixture's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from fastload import _native
from fastload.sources import columns, fields
from fastload.sources.base import Location, Source, raw_pixels
from fastload.sources.columns import Numbers
from fastload.sources.fields import Field
from fastload.sources.views import Concat
from fastload.spec import Longs, Pixels


@dataclass(frozen=True)
class Relabelled:
    """All samples of `base`, with other classes, or other names of what lies beside them.

    Args:
        base: Whose samples they are.
        table: int64 [classes of base]: what each class is called now; None: as it was.
        classes: The names of all classes.
        names: Of each field what `base` calls it, and what it is called now; None: all as they
            were.
    """

    base: Source
    table: Longs | None
    classes: tuple[str, ...]
    names: tuple[tuple[str, str], ...] | None = None

    @property
    def where(self) -> str:
        return self.base.where

    @cached_property
    def labels(self) -> Numbers:
        labels = self.base.labels
        return labels if self.table is None else columns.translated(labels, self.table)

    @property
    def files(self) -> _native.Files:
        return self.base.files

    def __len__(self) -> int:
        return len(self.base)

    def locate(self, samples: Longs) -> Location:
        return self.base.locate(samples)

    @property
    def fields(self) -> tuple[Field, ...]:
        known = fields.known(self.base)
        if self.names is None:
            return known
        return tuple(
            replace(field, name=new)
            for old, new in self.names
            for field in known
            if field.name == old
        )

    def pixels(self, sample: int) -> Pixels | None:
        return raw_pixels(self.base, sample)

    def most_pixels(self) -> int:
        known = getattr(self.base, "most_pixels", None)
        return int(known()) if known else 0

    def name(self, sample: int) -> str:
        return self.base.name(sample)


@dataclass(frozen=True)
class Phase:
    """Weights that hold from a draw on.

    Args:
        first: The number of the first draw, over all epochs and ranks.
        weights: 0 or more each, of the parts; not all 0.
    """

    first: int
    weights: tuple[Fraction, ...]

    def counts(self, draws: int) -> tuple[int, ...]:
        """How many of so many draws each part gets: in proportion, rounded so that all are
        given (the largest remainders are rounded up).
        """
        whole = sum(self.weights)
        exact = [draws * weight / whole for weight in self.weights]
        out = [int(share) for share in exact]
        rest = sorted(range(len(out)), key=lambda part: out[part] - exact[part])
        for part in rest[: draws - sum(out)]:
            out[part] += 1
        return tuple(out)


@dataclass(frozen=True)
class Recipe:
    """What is drawn: length draws in an epoch, with weights that may change on the way."""

    names: tuple[str, ...]  # of the parts, as the user calls them
    length: int
    phases: tuple[Phase, ...]  # the first one from draw 0 on

    def segments(self, epoch: int) -> list[tuple[int, int, tuple[int, ...]]]:
        """Stretches of an epoch in which the weights hold: the first position, draws, and how many
        of these each part gets.
        """
        begin = epoch * self.length
        inside = [phase.first - begin for phase in self.phases]
        cuts = [0, *(cut for cut in inside if 0 < cut < self.length), self.length]
        return [
            (cut, end - cut, self._at(begin + cut).counts(end - cut)) for cut, end in pairwise(cuts)
        ]

    def before(self, epoch: int) -> list[int]:
        """How often each part was drawn in all epochs before this one."""
        totals, at = [0] * len(self.names), 0
        # Between epochs in which weights change, all epochs are alike
        changes = sorted({phase.first // self.length for phase in self.phases if phase.first})
        for change in [each for each in changes if each < epoch]:
            totals = self._add(totals, at, change - at)
            totals = self._add(totals, change, 1)
            at = change + 1
        return self._add(totals, at, epoch - at)

    def _add(self, totals: list[int], epoch: int, times: int) -> list[int]:
        """The draws of `times` epochs like this one, too."""
        if times <= 0:
            return totals
        each = (sum(column) for column in zip(*(c for *_, c in self.segments(epoch)), strict=True))
        return [total + times * count for total, count in zip(totals, each, strict=True)]

    def _at(self, draw: int) -> Phase:
        return next(phase for phase in reversed(self.phases) if phase.first <= draw)


@dataclass(frozen=True)
class Mixed(Concat):
    """All samples of the parts, and how they are mixed."""

    recipe: Recipe

    def __getstate__(self) -> dict[str, object]:
        return {"parts": self.parts, "recipe": self.recipe}

    def part_of(self, samples: Longs) -> Longs:
        return np.searchsorted(self._starts, samples, side="right") - 1

    @property
    def starts(self) -> Longs:
        """int64 [parts + 1]: the first sample of each part, and the end."""
        return self._starts


def with_one_list_of_classes(parts: Sequence[Source]) -> tuple[Source, ...]:
    """The same parts: classes of one name are one class, numbered in the order in which the parts
    have them.
    """
    number_of: dict[str, int] = {}
    for name in (name for part in parts for name in part.classes):
        number_of.setdefault(name, len(number_of))
    classes = tuple(number_of)
    if all(part.classes == classes for part in parts):
        return tuple(parts)
    tables = [np.array([number_of[name] for name in part.classes], np.int64) for part in parts]
    return tuple(
        Relabelled(part, table, classes) for part, table in zip(parts, tables, strict=True)
    )


def edges(counts: Sequence[int], done: int, draws: int) -> list[int]:
    """How often each part was drawn in the first `done` of so many draws, where they are spread
    evenly. Exact: integers of any length.
    """
    sums = [total * done // draws for total in accumulate(counts)]
    return [end - begin for begin, end in zip([0, *sums[:-1]], sums, strict=True)]
