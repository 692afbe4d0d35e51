"""What the tests of hostile indexes share."""

import json

import numpy as np
import pyarrow as pa
import pytest

from fastload import _native
from fastload.conversion import where
from fastload.errors import SourceError
from fastload.sources import arrow, open_source


def converted(tools, tmp_path):
    """Two images as a converted data set."""
    root = tools.write_tree(
        tmp_path / "in", {"a/0.jpg": tools.encode(5, 9), "b/1.jpg": tools.encode(6, 8, 1)}
    )
    tools.convert(root, tmp_path / "out")
    return tmp_path / "out"


def put(folder, content, *, signed=True):
    """Replace the index; signed: with the checksum that fits, as an attacker would."""
    (folder / "index.arrow").write_bytes(content)
    if signed:
        (folder / "index.arrow.xxh3").write_bytes(arrow.sum_line(_native.xxh3(content)))


def refusal(folder):
    with pytest.raises(SourceError) as refused:
        open_source(folder)
    return str(refused.value)


def rewritten(data, change=None, text=None, **how):
    """The index with its columns or metadata changed."""
    with pa.OSFile(str(data / "index.arrow")) as file:
        reader = pa.ipc.open_file(file)
        table, said = reader.read_all(), json.loads(reader.schema.metadata[b"fastload"])
    arrays = {name: table.column(name).combine_chunks() for name in table.column_names}
    arrays.update(change or {})
    said.update(text or {})
    schema = pa.schema(
        [pa.field(name, array.type, nullable=False) for name, array in arrays.items()]
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(
        sink, schema.with_metadata({b"fastload": json.dumps(said)}), **how
    ) as writer:
        writer.write_table(
            pa.Table.from_arrays(list(arrays.values()), schema=writer_schema(schema, said)),
            max_chunksize=4096,
        )
    return sink.getvalue().to_pybytes()


def writer_schema(schema, said):
    return schema.with_metadata({b"fastload": json.dumps(said)})


def rows_where(index, condition):
    """The rows for which it holds, of an index in memory."""
    return np.flatnonzero(where.mask(index.where, index.classes, index.batches, condition))
