"""The labels of a table that is opened in place, from its column as Arrow has it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastload.errors import SourceError
from fastload.sources import columns
from fastload.sources.columns import Numbers
from fastload.sources.labels import nameless
from fastload.sources.table_choice import TEXT
from fastload.spec import Longs


class Labels:
    """The labels so far. Texts get numbers as they come.

    Args:
        path: What they are read of, for messages.
        column: Its name.
        kind: NUMBER or TEXT.
    """

    def __init__(self, path: str, column: str, kind: str) -> None:
        self.path, self.column, self.kind = path, column, kind
        self.number_of = dict[str, int]()
        self.count = 0

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.number_of)

    def add(self, array: Any) -> Longs:
        """int64 [K], of the next rows. Raises SourceError."""
        if array.null_count:
            row = self.count + array.is_null().to_pylist().index(True)
            raise SourceError(
                f"{self.path}: row {row} has no label ({self.column} is null); remove it"
            )
        values: Sequence[Any] = array.to_pylist()
        if self.kind == TEXT:
            numbers = self.number_of
            values = [numbers.setdefault(text, len(numbers)) for text in values]
        self.count += len(values)
        try:
            return np.array(values, np.int64)
        except OverflowError as error:
            raise SourceError(
                f"{self.path}: column {self.column} has a label of 2**63 or more; correct it"
            ) from error


def classes_of(
    where: str,
    values: Numbers,
    kind: str,
    texts: Sequence[str | None],
    names: tuple[str, ...] | None,
) -> tuple[Numbers, tuple[str, ...]]:
    """The labels of a whole data set, and its classes. Raises SourceError.

    texts: what the values number, where they are texts. names: of the classes, where the table says
    them.
    """
    if kind == TEXT:
        classes = sorted({text for text in texts if text is not None})
        number = {text: place for place, text in enumerate(classes)}
        table = np.array([-1 if text is None else number[text] for text in texts], np.int64)
        return columns.translated(values, table), tuple(classes)
    if names is None:
        return values, nameless(*columns.bounds(values))
    most = columns.bounds(values)[1]
    if most >= len(names):
        raise SourceError(
            f"{where}: label {most} is above the {len(names)} classes that have names; correct the "
            "labels or the names"
        )
    return values, names
