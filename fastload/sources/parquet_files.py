"""Parquet files by pyarrow: their footers, and values of the columns beside the images."""

from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from fastload.errors import SourceError
from fastload.sources import parquet_footer, parquet_pages
from fastload.sources.arrow import PARSE_ERRORS
from fastload.system import limits

STEP = 4096  # rows read at once


def opened(path: str, file: IO[bytes]) -> Any:
    """pyarrow's reader of an open file, whose footer is one. Raises SourceError and OSError."""
    import pyarrow.parquet as pq

    try:
        footer = parquet_footer.read(path, file.fileno())
        found = pq.ParquetFile(file, page_checksum_verification=True)
        groups = range(found.metadata.num_row_groups)
        rows = [found.metadata.row_group(group).num_rows for group in groups]
        _check_rows(rows, file.seek(0, 2))
        parquet_footer.check(footer, found.metadata)
        names = found.schema_arrow.names
    except PARSE_ERRORS as error:
        if isinstance(error, SourceError):
            raise
        raise damaged(path, error) from error
    (often, count), *_ = Counter(names).most_common(1) or [("", 0)]
    if count > 1:
        raise SourceError(
            f"{path}: has {count} columns called {often!r}; write it again with a name for each"
        )
    return found


def _check_rows(rows: list[int], size: int) -> None:
    """Raises ValueError: memory is taken for each row."""
    most = max(limits.PARQUET_ROWS, size // limits.PARQUET_ROW)
    if min(rows, default=0) < 0 or sum(rows) > most:
        raise ValueError(f"{sum(rows)} rows cannot lie in {size} bytes")


def damaged(path: str, error: BaseException) -> SourceError:
    return SourceError(f"{path}: cannot be read ({' '.join(str(error).split())[:200]}); restore it")


def arrays(file: int, table: Any, column: str) -> Iterator[Any]:
    """The values of a column of an open file, so many at a time that one which the pages hold once
    and mean often does not fill the memory. Raises PARSE_ERRORS.
    """
    for group in range(table.metadata.num_row_groups):
        step = STEP
        said = table.metadata.row_group(group)
        leaves = [said.column(number) for number in range(said.num_columns)]
        for leaf in leaves:
            if leaf.path_in_schema.partition(".")[0] == column or leaf.path_in_schema == column:
                longest = parquet_pages.check(file, leaf).longest
                step = max(1, min(step, limits.AT_ONCE // longest)) if longest else step
        batches = table.iter_batches(step, row_groups=[group], columns=[column], use_threads=False)
        for batch in batches:
            yield batch.column(0)
