"""The Arrow index of written shards."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastload.conversion.readers import Reader, readable
from fastload.conversion.shards_writer import Written
from fastload.errors import ConversionError
from fastload.sources.shards import BATCH, METADATA, NUMBERS, VERSION, Shard, arrow_schema, import_arrow


def index_bytes(where: str, reader: Reader, shards: Sequence[Written], names: Sequence[str]) -> memoryview:
    """The index file's content for `shards`, whose final names are `names`; the same for the same input and pyarrow."""
    pa = import_arrow(where, ConversionError)
    samples = np.concatenate([shard.samples for shard in shards])
    columns: dict[str, Any] = {
        "shard": np.repeat(np.arange(len(shards)), [len(shard.samples) for shard in shards]),
        "offset": np.concatenate([shard.offset for shard in shards]),
        "size": np.concatenate([shard.size for shard in shards]),
        "label": reader.source.labels[samples],
        "height": np.concatenate([shard.height for shard in shards]),
        "width": np.concatenate([shard.width for shard in shards]),
        "checksum": np.concatenate([shard.checksums for shard in shards]),
    }
    arrays = {name: pa.array(columns[name].astype(kind)) for name, kind in NUMBERS.items()}
    arrays["key"] = pa.array([reader.keys[sample] for sample in samples.tolist()], pa.string())
    arrays["format"] = _dictionary(pa, [name for shard in shards for name in shard.formats])
    arrays["index_offset"] = arrays["index_size"] = pa.nulls(len(samples), pa.int64())
    listed = [Shard(name, shard.bytes, shard.checksum) for name, shard in zip(names, shards, strict=True)]
    text = metadata(len(samples), [readable(name) for name in reader.source.classes], listed)
    return encode(pa, arrays, text)


def metadata(samples: int, classes: Sequence[str], shards: Sequence[Shard]) -> str:
    """The JSON in the schema: what the reader needs before the first row."""
    listed = [{"name": shard.name, "bytes": shard.bytes, "xxh3": f"{shard.checksum:016x}"} for shard in shards]
    return json.dumps({"version": VERSION, "samples": samples, "classes": list(classes), "shards": listed})


def encode(pa: Any, arrays: dict[str, Any], text: str) -> memoryview:
    """An Arrow IPC file of `arrays` in record batches of BATCH rows."""
    schema = arrow_schema(pa).with_metadata({METADATA: text})
    table = pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(table, max_chunksize=BATCH)
    return memoryview(sink.getvalue())


def _dictionary(pa: Any, formats: Sequence[str]) -> Any:
    """Dictionary-encoded text; names sorted, so that the order of the samples does not matter."""
    names, places = np.unique(np.array(formats), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(names.tolist(), pa.string()))
