"""Which columns of a table that is opened in place hold its images and its labels: those that the
user names, else by their types and names.
"""

from collections.abc import Sequence
from typing import Any

from fastload.errors import SHOWN, SourceError
from fastload.sources.table_columns import (
    IMAGES,
    LABELS,
    features_of,
    holds_bytes,
    is_struct,
    of_type,
)

ASK = "name the columns with images and labels: fields=(IMAGE, LABEL)"
NUMBER, TEXT = "number", "text"


def has(schema: Any) -> str:
    """Its columns and their types, for messages."""
    shown = [f"{one.name!r} ({str(one.type)[:40]})" for one in list(schema)[:SHOWN]]
    return ", ".join(shown) or "none"


def kind_of(schema: Any, column: str) -> str:
    """Of labels; empty: the column has none."""
    import pyarrow as pa

    kind, plain = schema.field(column).type, pa.types
    kind = kind.value_type if plain.is_dictionary(kind) else kind
    if plain.is_integer(kind) or plain.is_boolean(kind):
        return NUMBER
    return TEXT if plain.is_string(kind) or plain.is_large_string(kind) else ""


def images_in(path: str, schema: Any, fields: tuple[str, str] | None) -> list[str]:
    """Columns that may be of images, the likeliest first. Raises SourceError."""
    if fields:
        names: Sequence[str] = fields[:1]
    else:
        structs = [name for name in schema.names if is_struct(schema, name)]
        names = (*of_type(features_of(schema), "Image"), *IMAGES, *structs, *schema.names)
    found = [
        name for name in dict.fromkeys(names) if name in schema.names and holds_bytes(schema, name)
    ]
    if found:
        return found
    what = f" {fields[0]!r}" if fields else ""
    raise SourceError(
        f"{path}: has no column{what} of encoded images (has {has(schema)}; images are bytes, or a "
        f"struct with bytes); {ASK}"
    )


def label_in(path: str, schema: Any, fields: tuple[str, str] | None) -> str | None:
    """Raises SourceError."""
    names = fields[1:] if fields else (*of_type(features_of(schema), "ClassLabel"), *LABELS)
    for name in names:
        if name in schema.names and kind_of(schema, name):
            return name
    named = names if fields else [name for name in LABELS if _is_scalar(schema, name)]
    if not named:
        return None
    raise SourceError(
        f"{path}: has no column {named[0]!r} of labels (has {has(schema)}; labels are integers or "
        f"text); {ASK}"
    )


def _is_scalar(schema: Any, name: str) -> bool:
    """Whether there is a column of single values. Lists and structs may be what `target` takes."""
    return name in schema.names and not schema.field(name).type.num_fields
