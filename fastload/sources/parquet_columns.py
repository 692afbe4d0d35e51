"""Which columns of Parquet files hold the images and the labels that are read in place."""

from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from fastload.errors import SHOWN, SourceError
from fastload.sources import parquet_files, parquet_scan, span_files
from fastload.sources.parquet_spans import first_bytes
from fastload.sources.signatures import LONGEST, is_image
from fastload.sources.table_columns import (
    IMAGES,
    LABELS,
    class_names,
    features_of,
    holds_bytes,
    is_struct,
    of_type,
)

ASK = "name the columns with images and labels: fields=(IMAGE, LABEL)"
NUMBER, TEXT = "number", "text"


class Chosen(NamedTuple):
    """What is read of each file.

    Args:
        image: The column with the images.
        leaf: Its bytes, as Parquet calls them.
        label: None: there is none.
        kind: Of the labels: NUMBER or TEXT.
        names: Of the classes, where the files say them.
    """

    image: str
    leaf: str
    label: str | None
    kind: str
    names: tuple[str, ...] | None

    @property
    def asked(self) -> str:
        return repr((self.leaf, self.label, self.kind))


def chosen(where: str, paths: Sequence[str], fields: tuple[str, str] | None) -> Chosen:
    """Of the first file that has rows. Raises SourceError."""
    for path in paths:
        with span_files.readable(path) as file:
            table = parquet_files.opened(path, file)
            if table.metadata.num_rows:
                return chosen_in(path, file, table, fields)
    raise SourceError(f"{where}: holds no rows; give other files")


def chosen_in(path: str, file: IO[bytes], table: Any, fields: tuple[str, str] | None) -> Chosen:
    """Of an open file. table: what `parquet_files.opened` gives. Raises SourceError."""
    schema = table.schema_arrow
    images = _images(path, schema, fields)
    if len(images) > 1:
        images = [one for one in images if _is_of_images(path, file, table, one)] or images
    label = _label(path, schema, fields)
    names = class_names(features_of(schema), label)
    return Chosen(
        images[0],
        leaf_name(schema, images[0]),
        label,
        kind_of(schema, label) if label else "",
        tuple(names) if names else None,
    )


def leaf_name(schema: Any, column: str) -> str:
    return f"{column}.bytes" if is_struct(schema, column) else column


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


def _images(path: str, schema: Any, fields: tuple[str, str] | None) -> list[str]:
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


def _label(path: str, schema: Any, fields: tuple[str, str] | None) -> str | None:
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


def _is_of_images(path: str, file: Any, table: Any, column: str) -> bool:
    """Whether the first value begins as an image."""
    leaf = parquet_scan.leaf_of(table.metadata, leaf_name(table.schema_arrow, column))
    if leaf is None:
        return False
    try:
        for group in range(table.metadata.num_row_groups):
            for rows in parquet_scan.rows(file.fileno(), table.metadata, leaf, group):
                if len(rows):
                    return is_image(first_bytes(path, rows[0], LONGEST))
    except (ValueError, OSError):
        return False
    return False
