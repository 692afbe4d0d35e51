"""Which columns of Parquet files hold the images and the labels that are read in place."""

import json
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import parquet_files, parquet_scan, span_files
from fastload.sources.parquet_spans import first_bytes
from fastload.sources.signatures import LONGEST, is_image
from fastload.sources.table_choice import images_in, kind_of, label_in
from fastload.sources.table_columns import class_names, features_of, is_struct


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
        names = _native.xxh3(json.dumps(self.names).encode()) if self.names else 0
        return repr((self.leaf, self.label, self.kind, names))


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
    images = images_in(path, schema, fields)
    if len(images) > 1:
        images = [one for one in images if _is_of_images(path, file, table, one)] or images
    label = label_in(path, schema, fields)
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
