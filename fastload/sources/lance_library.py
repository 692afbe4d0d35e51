"""What Lance's library tells of a data set: the one module that imports it.

It gives plain tables of Arrow: of a column of blobs where each value lies, and never the values.
Whatever it raises for files that anybody may have written is a SourceError; what a panic in Rust
raises is derived from BaseException.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from fastload.errors import SourceError
from fastload.sources.arrow import PARSE_ERRORS, import_arrow
from fastload.sources.lance_places import file_at
from fastload.system import limits

BLOB, BLOB_TYPE = b"lance-encoding:blob", "lance.blob.v2"
STEP, PROBE = 4096, 16  # rows read at once; those that tell whether it has to be fewer
AHEAD = 2  # batches that the library reads ahead
PANIC = "pyo3_runtime"  # the module of the exception that a panic is


class Fragment(NamedTuple):
    """Some rows of a data set, which lie in the same files.

    Args:
        number: Its place among the fragments.
        files: Of each column the name of its file in the folder `data`.
    """

    number: int
    files: dict[str, str]


class Table:
    """The latest version of a data set.

    Args:
        where: The folder, as the user calls it.
        schema: pyarrow.Schema; blobs are large_binary.
        blobs: The columns of blobs.
        version: Its number.
        fragments: In the order of their rows.
    """

    def __init__(self, where: str, data: Any) -> None:
        import pyarrow as pa

        self.where, self.data = where, data
        if data.base_paths():
            raise SourceError(
                f"{where}: has files in other folders or stores, as a shallow clone has; make a "
                "deep clone of it"
            )
        self.version: int = data.version
        self.blobs = frozenset(field.name for field in data.schema if _is_blob(field))
        self.schema = pa.schema(
            [
                pa.field(field.name, pa.large_binary()) if field.name in self.blobs else field
                for field in data.schema
            ],
            data.schema.metadata,
        )
        names = {field.id(): field.name() for field in data.lance_schema.fields()}
        self._parts, rows, size = data.get_fragments(), 0, 0
        self.fragments = list[Fragment]()
        for number, part in enumerate(self._parts):
            rows += part.physical_rows
            files = dict[str, str]()
            for file in part.data_files():
                size += file_at(where, file.path)[1].size
                files |= {names[one]: file.path for one in file.fields if one in names}
            self.fragments.append(Fragment(number, files))
        check_rows(where, rows, size)

    def batches(self, columns: Sequence[str], fragment: int) -> Iterator[Any]:
        """pyarrow.RecordBatch: of blobs where they lie, as structs with `position` and `size`.

        Rows that were deleted are left out. Raises SourceError.
        """
        with problems(self.where):
            step = self._step(columns, fragment)
            yield from self._scan(columns, fragment, batch_size=step).to_batches()

    def _scan(self, columns: Sequence[str], fragment: int, **how: int) -> Any:
        return self.data.scanner(
            columns=list(columns), fragments=[self._parts[fragment]], scan_in_order=True,
            batch_readahead=AHEAD, io_buffer_size=limits.AT_ONCE, **how,
        )  # fmt: skip

    def _step(self, columns: Sequence[str], fragment: int) -> int:
        """Rows that are read at once: fewer where the first ones are large."""
        import pyarrow as pa

        kinds = [self.schema.field(name).type for name in columns if name not in self.blobs]
        if all(map(pa.types.is_primitive, kinds)):
            return STEP
        first = self._scan(columns, fragment, limit=PROBE, batch_size=PROBE).to_table()
        fitting: int = limits.AT_ONCE * len(first) // max(1, first.nbytes)
        return max(1, min(STEP, fitting))

    def head(self, column: str, row: int, size: int) -> bytes:
        """The first bytes of a blob, as Lance reads it. Raises SourceError."""
        with problems(self.where), self.data.take_blobs(column, indices=[row])[0] as blob:
            data: bytes = blob.read(size)
        return data


def opened(where: str) -> Table:
    """The data set in a folder of the local disk. Raises SourceError."""
    library = _imported(where)
    with problems(where):  # an absolute path, which is no URL
        return Table(where, library.dataset(os.path.abspath(where)))


def check_rows(where: str, rows: int, size: int) -> None:
    """Raise SourceError for more rows than data files of so many bytes can have."""
    most = max(limits.PARQUET_ROWS, limits.LANCE_ROWS * size)
    if not 0 <= rows <= most:
        raise SourceError(
            f"{where}: {rows} rows cannot lie in data files of {size} bytes; restore it"
        )


@contextlib.contextmanager
def problems(where: str) -> Iterator[None]:
    """Whatever the library raises is a SourceError, but for what ends a program."""
    import pyarrow as pa

    try:
        yield
    except SourceError:
        raise
    except BaseException as error:
        known = isinstance(error, (pa.ArrowException, *PARSE_ERRORS))
        if not known and type(error).__module__ != PANIC:
            raise
        why = " ".join(str(error).split())[:200]
        raise SourceError(f"{where}: Lance cannot read it ({why}); restore it") from error


def _is_blob(field: Any) -> bool:
    extension = getattr(field.type, "extension_name", "")
    said = field.metadata or {}
    return (
        BLOB_TYPE in (extension, said.get(b"ARROW:extension:name", b"").decode())
        or said.get(BLOB) == b"true"
    )


def _imported(where: str) -> ModuleType:
    import_arrow(where, SourceError, "Lance needs")
    try:
        import lance
    except ImportError as error:
        raise SourceError(
            f"{where}: the first look at a Lance data set needs lance (not installed); pip install "
            "'fastload-torch[lance]'"
        ) from error
    module: ModuleType = lance
    return module
