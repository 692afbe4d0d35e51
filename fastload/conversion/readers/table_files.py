"""One Parquet or Arrow file: its groups of rows, and columns of them; never more in memory than the
limits allow.

Methods raise ValueError for what lies about its size, Arrow's own errors for what is damaged, and
OSError.
"""

import mmap
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fastload.sources import arrow_blocks, parquet_footer, parquet_pages
from fastload.spec import Longs
from fastload.system import limits

STEP = 256  # rows read at once while sizes are taken
LONGEST = 1 << 16  # bytes of a label or a key


class TableFile(Protocol):
    """Rows in groups: Parquet's row groups, Arrow's record batches."""

    schema: Any
    rows: list[int]  # of each group
    in_order: bool  # reading in another order than the file's is slow

    def images(self, group: int, column: str) -> Any:
        """One binary array of a group's images."""

    def sizes(self, group: int, column: str) -> Longs:
        """Bytes of a group's images; 0 where there are none."""

    def values(self, group: int, column: str) -> list[Any]:
        """Labels or keys."""

    def arrays(self, group: int, columns: Sequence[str]) -> list[Any]:
        """Whole columns of a group, lists too."""

    def memory(self, group: int, columns: Sequence[str]) -> int:
        """Bytes of these, about."""


def opened(path: str) -> TableFile:
    """The file, as its name says."""
    return ParquetFile(path) if path.lower().endswith(".parquet") else ArrowFile(path)


class ParquetFile:
    """Groups are read when they are wanted."""

    in_order = True

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        with open(path, "rb") as plain:
            footer = parquet_footer.read(path, plain.fileno())
        self.path = path
        # Arrow takes no names that are not UTF-8.
        file: Any = path if path.isprintable() else open(path, "rb")  # noqa: SIM115
        self.file = pq.ParquetFile(file, page_checksum_verification=True)
        parquet_footer.check(footer, self.file.metadata)
        self.schema = self.file.schema_arrow
        self.rows = [
            self.file.metadata.row_group(group).num_rows
            for group in range(self.file.num_row_groups)
        ]
        parquet_pages.check_rows(path, sum(map(abs, self.rows)))
        # Columns of row groups that are known to fit into memory
        self.fitting = set[tuple[int, str]]()

    def images(self, group: int, column: str) -> Any:
        import pyarrow as pa

        if (group, column) not in self.fitting:
            self.sizes(group, column)
        table = self.file.read_row_group(
            group, columns=[self._leaf(column)], use_threads=False
        ).column(column)
        return _unnested(
            pa.concat_arrays(table.chunks) if table.num_chunks != 1 else table.chunk(0)
        )

    def sizes(self, group: int, column: str) -> Longs:
        import pyarrow.compute as pc

        lengths, total = [], 0
        for part in self._parts(group, self._leaf(column)):
            lengths.append(pc.binary_length(_unnested(part)))
            total += pc.sum(lengths[-1]).as_py() or 0
            if problem := limits.too_many(total, limits.PARQUET_GROUP):
                raise ValueError(f"a row group holds too much: {problem}")
        self.fitting.add((group, column))
        return _numbers(lengths)

    def values(self, group: int, column: str) -> list[Any]:
        check_type(self.schema.field(column).type, column)
        return [value for part in self._parts(group, column) for value in _short(part, column)]

    def arrays(self, group: int, columns: Sequence[str]) -> list[Any]:
        import pyarrow as pa

        with open(self.path, "rb") as plain:
            for leaf in self._leaves(group, columns):
                parquet_pages.check_values(plain.fileno(), leaf)
        table = self.file.read_row_group(group, columns=list(columns), use_threads=False)
        return [pa.concat_arrays(table.column(name).chunks) for name in columns]

    def memory(self, group: int, columns: Sequence[str]) -> int:
        leaves = self._leaves(group, columns)
        return sum(max(0, leaf.total_uncompressed_size) for leaf in leaves)

    def _leaves(self, group: int, columns: Sequence[str]) -> list[Any]:
        said = self.file.metadata.row_group(group)
        leaves = (said.column(number) for number in range(said.num_columns))
        return [leaf for leaf in leaves if leaf.path_in_schema.partition(".")[0] in columns]

    def _parts(self, group: int, leaf: str) -> Any:
        """The column's arrays, so many rows at a time that a value which the pages hold once does
        not fill the memory.
        """
        step = STEP
        if longest := self._checked(group, leaf).longest:
            step = max(1, min(STEP, limits.AT_ONCE // longest))
        batches = self.file.iter_batches(
            step, row_groups=[group], columns=[leaf], use_threads=False
        )
        return (batch.column(0) for batch in batches)

    def _checked(self, group: int, leaf: str) -> parquet_pages.Chunk:
        said = self.file.metadata.row_group(group)
        columns = [said.column(number) for number in range(said.num_columns)]
        column = next(column for column in columns if column.path_in_schema == leaf)
        with open(self.path, "rb") as plain:
            return parquet_pages.check(plain.fileno(), column)

    def _leaf(self, column: str) -> str:
        """What Parquet calls the bytes of a column of images."""
        return f"{column}.bytes" if self.schema.field(column).type.num_fields else column


class ArrowFile:
    """A mapped file, or a stream, which is what `datasets` writes."""

    in_order = False

    def __init__(self, path: str) -> None:
        import pyarrow as pa

        with open(path, "rb") as plain:
            if problem := limits.hollow(plain.fileno(), 0, plain.seek(0, 2)):
                raise ValueError(problem)
            whole = pa.py_buffer(mmap.mmap(plain.fileno(), 0, access=mmap.ACCESS_READ))
        arrow_blocks.check(whole, compressed=True)
        try:
            reader = pa.ipc.open_file(whole)
            self.batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        except pa.ArrowInvalid:
            reader = pa.ipc.open_stream(whole)
            self.batches = list(reader)
        for batch in self.batches:
            batch.validate(full=True)
        self.schema = reader.schema
        self.rows = [batch.num_rows for batch in self.batches]

    def images(self, group: int, column: str) -> Any:
        return _unnested(self.batches[group].column(column))

    def sizes(self, group: int, column: str) -> Longs:
        import pyarrow.compute as pc

        return _numbers([pc.binary_length(self.images(group, column))])

    def values(self, group: int, column: str) -> list[Any]:
        check_type(self.schema.field(column).type, column)
        return _short(self.batches[group].column(column), column)

    def arrays(self, group: int, columns: Sequence[str]) -> list[Any]:
        return [self.batches[group].column(name) for name in columns]

    def memory(self, group: int, columns: Sequence[str]) -> int:
        return sum(self.batches[group].column(name).nbytes for name in columns)


def check_type(kind: Any, column: str) -> None:
    """Raise ValueError for a column that is no numbers and no text: a list in a few bytes may hold
    millions of values.
    """
    import pyarrow as pa

    plain = pa.types
    kind = kind.value_type if plain.is_dictionary(kind) else kind
    text = (
        plain.is_string(kind)
        or plain.is_large_string(kind)
        or plain.is_binary(kind)
        or plain.is_large_binary(kind)
    )
    if not (
        text
        or plain.is_integer(kind)
        or plain.is_floating(kind)
        or plain.is_boolean(kind)
        or plain.is_null(kind)
    ):
        raise ValueError(f"column {column} holds {kind}, want numbers or text")


def _short(array: Any, column: str) -> list[Any]:
    """The values of an array of labels or keys."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    if len(texts) and not pa.types.is_primitive(texts.type) and not pa.types.is_null(texts.type):
        longest = pc.max(pc.binary_length(texts)).as_py() or 0
        if longest > LONGEST:
            raise ValueError(
                f"column {column} has a value of {longest} bytes, want at most {LONGEST}"
            )
    return list(array.to_pylist())


def _unnested(array: Any) -> Any:
    return array.field("bytes") if array.type.num_fields else array


def _numbers(lengths: list[Any]) -> Longs:
    parts = [
        length.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) for length in lengths
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
