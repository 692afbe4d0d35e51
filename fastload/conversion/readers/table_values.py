"""Labels and keys of a table, as its columns have them."""

import math
from collections.abc import Callable, Sequence

from fastload.conversion.keys import unique_keys
from fastload.errors import SourceError
from fastload.sources import labels as labelling
from fastload.sources.table_columns import KEYS
from fastload.spec import Longs


def labels_of(
    where: str, values: Sequence[object], names: Sequence[str] | None
) -> tuple[Longs, tuple[str, ...]]:
    """int64 [N], and the classes; texts name these, as where the table is opened in place.

    names: of the classes, where the table says them. Raises SourceError where a label is missing:
    null, NaN, or -1, as `datasets` writes for a test set.
    """
    labels = list(map(_plain, values))
    if lacking := sum(map(_is_missing, labels)):
        raise SourceError(
            f"{where}: {lacking} of {len(labels)} rows have no label; remove them, or pass "
            "--labels none"
        )
    if wrong := next((label for label in labels if isinstance(label, float)), None):
        raise SourceError(
            f"{where}: label {wrong} is no whole number; correct it, or pass --labels none"
        )
    texts = sum(isinstance(label, str) for label in labels)
    if 0 < texts < len(labels):
        raise SourceError(
            f"{where}: {texts} of {len(labels)} labels are texts, and the others numbers; write "
            "all as one of these"
        )
    most = labelling.MOST_CLASSES
    if wrong := next(
        (label for label in labels if isinstance(label, int) and not 0 <= label < most), None
    ):
        raise SourceError(
            f"{where}: label {wrong} is no class number (want 0 to {most - 1}); correct the labels"
        )
    number = labelling.named if texts else labelling.numbered
    return number(where, list(map(str, labels)), names)


def lack(values: Sequence[object]) -> bool:
    """Whether no row has a label."""
    return all(map(_is_missing, values))


def _is_missing(label: object) -> bool:
    return label is None or label == -1 or (isinstance(label, float) and math.isnan(label))


def _plain(value: object) -> object:
    """A label or key as a number or text: a truth value is 0 or 1, and some programs write whole
    numbers as 2.0. Raises ValueError for bytes that are no text.
    """
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value.decode() if isinstance(value, bytes) else value


def keys_of(
    column: str | None, values: Callable[[str], Sequence[object]], labels: Longs
) -> Sequence[str]:
    """Those of the table; without such a column, label and number of the row."""
    if column is None:
        return [f"{label:04d}/{number:08d}" for number, label in enumerate(labels.tolist())]
    keys = map(str, map(_plain, values(column)))
    return unique_keys(f"{key}.x" if column in KEYS[:2] else key for key in keys)
