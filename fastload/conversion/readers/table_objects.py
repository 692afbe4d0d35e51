"""Objects in typed columns of a table, as `--to parquet` writes them: of each row the file that a
shard has beside the image.
"""

from collections.abc import Sequence
from typing import Any

from fastload.conversion.samples import BadSampleError
from fastload.detection import record
from fastload.errors import SourceError


def has(schema: Any) -> bool:
    """Whether a table holds them."""
    return set(record.COLUMNS) <= set(schema.names)


def check(path: str, schema: Any) -> None:
    """Raises SourceError for columns of other types: what these take in memory is not known."""
    for name in record.COLUMNS:
        kind = schema.field(name).type
        if not (_is_list(kind) if name == "objects" else _is_plain(kind)):
            raise SourceError(
                f"{path}: column {name!r} is of type {str(kind)[:80]} (want {_wanted(name)}); "
                "write it again, or leave the column out"
            )


def _wanted(name: str) -> str:
    return "a list of structs, as fastload writes it" if name == "objects" else "numbers or text"


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    one = kind.value_type
    inner = {one.field(at).name: one.field(at).type for at in range(one.num_fields)}
    if "bbox" not in inner:
        return False
    lists = [inner.pop(name) for name in record.LISTS if name in inner]
    return all(map(_is_numbers, lists)) and all(map(_is_plain, inner.values()))


def _is_numbers(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_list(kind)
        and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    )


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_string(kind))


def text(columns: Sequence[Any], row: int) -> bytes | None:
    """Of one row, the file; None: it has no objects. columns: arrays in the order of
    record.COLUMNS.

    Raises BadSampleError.
    """
    values = {
        name: column[row].as_py() for name, column in zip(record.COLUMNS, columns, strict=True)
    }
    if all(value is None for value in values.values()):
        return None
    try:
        return record.dumped(record.of_row(values))
    except ValueError as error:
        raise BadSampleError(
            f"has objects that cannot be read ({error}); mend or remove them"
        ) from error
