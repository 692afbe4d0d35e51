"""Parquet files of images, read where they lie: those that Hugging Face's `datasets` writes, and
others.

Opening goes over the pages of the column of images, and unpacks those that Snappy has packed
(parquet_scan.py). What was found is kept in the user's cache (first_look.py). An image is then read
by itself: its bytes as they stand, or those few elements of Snappy's that unpack to it.
Source: apache/parquet-format 2.11; google/snappy, format_description.txt.
"""

from functools import partial
from typing import IO, Any

import numpy as np

from fastload.errors import SourceError
from fastload.files import arrivals
from fastload.sources import (
    first_look,
    parquet_columns,
    parquet_fields,
    parquet_files,
    parquet_names,
    parquet_scan,
    parquet_spans,
    span_index,
)
from fastload.sources.arrow import PARSE_ERRORS, import_arrow
from fastload.sources.columns import Numbers
from fastload.sources.labels import none
from fastload.sources.parquet_columns import Chosen
from fastload.sources.parquet_spans import PackedSource, part_of
from fastload.sources.signatures import LONGEST, check_head
from fastload.sources.span_index import Part, Spans
from fastload.sources.table_choice import ASK, has, kind_of
from fastload.sources.table_columns import check_classes, holds_bytes
from fastload.sources.table_labels import Labels, classes_of
from fastload.spec import Longs

THREADS = 4  # that look at files: each may unpack a page
WANT = "want Snappy or none, and values plain or in a dictionary"

with_fields = parquet_fields.with_fields  # fastload.sources asks for it


def load(where: str, fields: tuple[str, str] | None = None) -> PackedSource:
    """The rows of one file, of a folder of files, or of those that a pattern names.

    fields: the names of the columns with images and labels; None takes the first whose first value
    is an image, and the first that is called as labels are. Raises SourceError with the first
    problem of each file.
    """
    import_arrow(where, SourceError, "Parquet needs")
    paths = parquet_names.files(where)
    chosen = parquet_columns.chosen(where, paths, fields)
    read = partial(_part, chosen, where)
    index = span_index.path_of("parquet", where, *(fields or ()))
    found = first_look.parts(where, index, dict.fromkeys(paths, chosen.asked), read, THREADS)
    if not len(found):
        raise SourceError(f"{where}: holds no rows; give other files")
    source = parquet_spans.opened(where, paths, found, *_labels(where, chosen, found))
    _check_first(source, chosen)
    return source


def _check_first(source: PackedSource, chosen: Chosen) -> None:
    """Raises SourceError."""
    path = source.paths[int(source.file[0])]
    where, spans = f"{path}: column {chosen.image}", source.spans
    size = min(LONGEST, int(source.size[0]))
    try:
        with arrivals.present(path):
            head = source.files.read(int(source.file[0]), int(source.offset[0]), size)
    except OSError as error:
        if spans is not None and spans.kept and spans.where in str(error):
            raise spans.damaged(0, "it changed while it was read") from error
        raise SourceError(f"{where}: cannot be read ({error}); restore it") from error
    check_head(where, head, ASK)


def _part(chosen: Chosen, where: str, path: str, opened: IO[bytes], _: int) -> Part:
    """Raises SourceError and OSError."""
    return part_in(chosen, where, path, opened.fileno(), parquet_files.opened(path, opened))


def part_in(chosen: Chosen, where: str, path: str, file: int, table: Any) -> Part:
    """Where the images of an open file lie, and their labels. table: what `parquet_files.opened`
    gives. Raises SourceError and OSError.
    """
    _check_schema(path, table.schema_arrow, chosen)
    metadata = table.metadata
    leaf = parquet_scan.leaf_of(metadata, chosen.leaf)
    if leaf is None:
        raise SourceError(
            f"{path}: column {chosen.image} is in lists (want one image a row); {ASK}"
        )
    if metadata.num_rows > parquet_spans.ROWS:
        raise SourceError(
            f"{path}: has {metadata.num_rows} rows (want at most {parquet_spans.ROWS}); write "
            "several files"
        )
    rows, first = [np.zeros((0, parquet_scan.COLUMNS), np.int64)], 0
    for group in range(metadata.num_row_groups):
        try:
            rows.append(parquet_scan.of_group(file, metadata, leaf, group))
        except parquet_scan.MissingError as error:
            raise _missing(path, chosen, first + error.row) from error
        except parquet_scan.RefusedError as error:
            raise SourceError(
                f"{path}: column {chosen.image} {error} ({WANT}); write it again with "
                f'compression="snappy", or run fastload convert {where} DST, and open DST'
            ) from error
        except ValueError as error:
            raise parquet_files.damaged(
                path, ValueError(f"column {chosen.image}, row group {group}: {error}")
            ) from error
        first += metadata.row_group(group).num_rows
    label, texts = _labels_of(path, file, table, chosen, first)
    return part_of(np.concatenate(rows), label, texts)


def _missing(path: str, chosen: Chosen, row: int) -> SourceError:
    nested = chosen.leaf != chosen.image
    more = ", or embed the images if there are only paths of them" if nested else ""
    return SourceError(f"{path}: row {row} has no image ({chosen.image} is null); remove it{more}")


def _check_schema(path: str, schema: Any, chosen: Chosen) -> None:
    """Raises SourceError for a file that has not the columns of the first one."""
    names, image = schema.names, chosen.image
    good = image in names and holds_bytes(schema, image)
    good = good and parquet_columns.leaf_name(schema, image) == chosen.leaf
    if good and chosen.label is not None:
        good = chosen.label in names
        good = good and kind_of(schema, chosen.label) == chosen.kind
    if not good:
        wanted = " and ".join(filter(None, (image, chosen.label)))
        raise SourceError(
            f"{path}: has no columns {wanted} as other files have them (has "
            f"{has(schema)}); give files of one data set"
        )
    check_classes(path, schema, chosen.label, chosen.names, "others")


def _labels_of(
    path: str, file: int, table: Any, chosen: Chosen, count: int
) -> tuple[Longs, tuple[str, ...]]:
    """int64 [N], and the texts that they number. Raises SourceError."""
    if chosen.label is None:
        return np.zeros(count, np.int64), ()
    numbers, found = [np.zeros(0, np.int64)], Labels(path, chosen.label, chosen.kind)
    try:
        numbers.extend(map(found.add, parquet_files.arrays(file, table, chosen.label)))
    except PARSE_ERRORS as error:
        if isinstance(error, SourceError):
            raise
        raise parquet_files.damaged(path, error) from error
    labels = np.concatenate(numbers)
    if len(labels) != count:
        raise SourceError(f"{path}: has {len(labels)} labels for {count} images; restore it")
    return labels, found.texts


def _labels(where: str, chosen: Chosen, spans: Spans) -> tuple[Numbers, tuple[str, ...]]:
    """Of all files, and the classes. Raises SourceError."""
    if chosen.label is None:
        return none(len(spans))
    return classes_of(where, spans.column("label"), chosen.kind, spans.texts, chosen.names)
