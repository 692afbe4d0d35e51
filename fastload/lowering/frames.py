"""pandas' tables in a data set class of the user's. What it looks up in one is a value of every
sample, as in its lists (`columns`). pandas itself is taken as it is.
"""

import sys
from typing import Any, NamedTuple

from fastload.lowering import columns
from fastload.lowering.columns import Column
from fastload.lowering.pictures import UnclearError

BY_NUMBER, BY_LABEL, ITEM = ("iloc", "iat"), ("loc", "at"), "[]"
TEXTS = ("object", "str", "string")  # dtypes of columns whose values are Python's


class Place(NamedTuple):
    """What stands before the brackets that look something up in a table or a column of it."""

    of: Any
    how: str


class Row(NamedTuple):
    """A sample's row of a table."""

    of: Any
    key: Column
    by_label: bool

    def unpacked(self) -> list[object]:
        """Raises UnclearError."""
        return [_of_row(self, place, by_number=True) for place in range(self.of.shape[1])]


def _classes() -> tuple[type, ...]:
    """DataFrame and Series; nothing where the program has not imported pandas."""
    homes = {"pandas.core.frame": "DataFrame", "pandas.core.series": "Series"}
    return tuple(
        vars(sys.modules[home])[name] for home, name in homes.items() if home in sys.modules
    )


def is_table(value: object) -> bool:
    """Whether it is a table or a column of pandas' own classes."""
    return any(type(value) is kind for kind in _classes())


def is_array(value: object) -> bool:
    """Whether it is pandas' own array, as `series.values` is of texts."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__.endswith("Array")


def has_length(value: object) -> bool:
    return is_table(value) or is_array(value) or isinstance(value, Column)


def length(value: Any) -> object:
    """Of a table, or of each sample's text. Raises UnclearError."""
    return columns.mapped(len, [value]) if isinstance(value, Column) else len(value)


def knows(value: object) -> bool:
    """Whether its attributes and items are found here."""
    return isinstance(value, (Place, Row)) or is_table(value) or is_array(value)


def attribute(of: Any, name: str) -> object:
    """Raises UnclearError."""
    table: Any = of.of if isinstance(of, Row) else of
    if is_array(of):
        raise UnclearError(f"it reads {name} of a {type(of).__qualname__}")
    if isinstance(of, Place):
        raise UnclearError(f"it reads {name} of a table's {of.how}")
    if name in (*BY_NUMBER, *BY_LABEL, "values"):
        return Place(of, name)
    if table.ndim == 2 and _is_name(of, name):
        return _of_row(of, name) if isinstance(of, Row) else _series(table, name)
    if name == "shape" and table is of:
        return tuple(table.shape)
    raise UnclearError(f"it reads {name} of a {type(of).__qualname__}")


def item(held: Any, key: object) -> object:
    """`held[key]`. Raises UnclearError."""
    if is_array(held):
        return columns.looked_up(_rows(held), key)
    place = held if isinstance(held, Place) else Place(held, ITEM)
    of, how = place
    if isinstance(of, Row):
        return _of_row(of, key, by_number=how in (*BY_NUMBER, "values"))
    if how == ITEM and of.ndim == 2:
        return _series(of, key)
    first, *rest = key if isinstance(key, tuple) else (key,)
    if not isinstance(first, Column) or len(rest) > of.ndim - 1:
        raise UnclearError("it looks up in a table what is no sample")
    by_label = how in (*BY_LABEL, ITEM)
    numbered = [getattr(of.index, name, None) for name in ("start", "step")] == [0, 1]
    if by_label and not numbered:
        raise UnclearError("it looks rows up by labels that are not 0, 1, 2 (reset_index)")
    if of.ndim == 1:
        return _looked_up(of, first, by_label=by_label)
    row = Row(of, first, by_label)
    if not rest:
        return Place(row, how) if how == "values" else row
    return _of_row(row, rest[0], by_number=how not in BY_LABEL, alone=how != "values")


def _of_row(row: Row, key: object, *, by_number: bool = False, alone: bool = False) -> Column:
    """A value of a row. alone: it is looked up without the others of its row.

    Raises UnclearError.
    """
    table = row.of
    if not alone and all(dtype.kind != "O" for dtype in table.dtypes):
        raise UnclearError("it reads rows of a table of numbers, which pandas makes of one type")
    if by_number:
        if type(key) is not int or not -table.shape[1] <= key < table.shape[1]:
            raise UnclearError("it reads a column that is not there")
        series = table.iloc[:, key]
    else:
        series = _series(table, key)
    return _looked_up(series, row.key, by_label=row.by_label)


def _looked_up(series: Any, key: Column, *, by_label: bool) -> Column:
    """by_label: of which none is negative."""
    found = columns.looked_up(_rows(series), key)
    return Column(found.rows, numbered=True) if by_label else found


def _series(table: Any, key: object) -> Any:
    """A column by its name. Raises UnclearError."""
    names = table.columns
    if isinstance(key, list):
        raise UnclearError("it reads several columns at once")
    if type(key) not in (str, int) or names.nlevels > 1 or not names.is_unique or key not in names:
        raise UnclearError("it reads a column that is not there")
    return table[key]


def _is_name(of: Any, name: str) -> bool:
    """Whether an attribute of a table or a row is a column: the class's own come first."""
    table, number = (of.of, 1) if isinstance(of, Row) else (of, 0)
    return not hasattr(_classes()[number], name) and name in table.columns


def _rows(series: Any) -> Any:
    """The values, as indexing gives each. Raises UnclearError."""
    kind = series.dtype
    if kind.kind in "biuf" and type(kind).__module__.partition(".")[0] == "numpy":
        return series.to_numpy()
    if str(kind) in TEXTS:
        return series.tolist()
    raise UnclearError(f"it reads a column of {kind}")
