"""The Arrow index of written shards."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastload.conversion.keys import readable
from fastload.conversion.parts import Written
from fastload.conversion.writers import Catalog
from fastload.errors import ConversionError
from fastload.sources import arrow
from fastload.sources.extras import COLUMN, extras_field
from fastload.sources.shards import METADATA, NUMBERS, VERSION, Index, Shard, arrow_schema
from fastload.spec import Longs


class Extras(NamedTuple):
    """What only some data sets have."""

    sidecars: Sequence[Shard] = ()
    transcoded: int | None = None  # images that were rewritten; None: the option was off


PLAIN = Extras()


def index_bytes(where: str, catalog: Catalog, shards: Sequence[Written], names: Sequence[str], extras: Extras) -> memoryview:
    """The index file's content for `shards`, whose final names are `names`; the same for the same input and pyarrow."""
    pa = arrow.import_arrow(where, ConversionError)
    samples = np.concatenate([shard.samples for shard in shards])
    columns: dict[str, Any] = {
        "shard": np.repeat(np.arange(len(shards)), [len(shard.samples) for shard in shards]),
        "offset": np.concatenate([shard.offset for shard in shards]),
        "size": np.concatenate([shard.size for shard in shards]),
        "label": catalog.labels[samples],
        "height": np.concatenate([shard.height for shard in shards]),
        "width": np.concatenate([shard.width for shard in shards]),
        "checksum": np.concatenate([shard.checksums for shard in shards]),
        "index_offset": np.concatenate([shard.sidecar.offset for shard in shards]),
        "index_size": np.concatenate([shard.sidecar.size for shard in shards]),
    }
    arrays = {name: pa.array(columns[name].astype(kind)) for name, kind in NUMBERS.items()}
    arrays["key"] = pa.array([catalog.keys[sample] for sample in samples.tolist()], pa.string())
    arrays["format"] = dictionary(pa, [name for shard in shards for name in shard.formats])
    if any(shard.extras for shard in shards):
        rows = [row for shard in shards for row in (shard.extras or ((),) * len(shard.samples))]
        arrays[COLUMN] = pa.array([[placed._asdict() for placed in row] for row in rows], extras_field(pa).type)
    listed = [Shard(name, shard.bytes, shard.checksum) for name, shard in zip(names, shards, strict=True)]
    text = metadata(len(samples), [readable(name) for name in catalog.classes], listed, extras)
    return encode(pa, arrays, text)


def with_sidecars(where: str, index: Index, offset: Longs, size: Longs, sidecars: Sequence[Shard]) -> memoryview:
    """`index` with other seek indexes: their places [N] and their files."""
    pa = arrow.import_arrow(where, ConversionError)
    table = pa.Table.from_batches(index.batches)
    arrays = {name: table.column(name).combine_chunks() for name in table.column_names}
    arrays |= {"index_offset": pa.array(offset), "index_size": pa.array(size)}
    return encode(pa, arrays, metadata(len(index), index.classes, index.shards, Extras(sidecars, index.transcoded)))


def metadata(samples: int, classes: Sequence[str], shards: Sequence[Shard], extras: Extras = PLAIN) -> str:
    """The JSON in the schema: what the reader needs before the first row."""
    said: dict[str, object] = {"version": VERSION, "samples": samples, "classes": list(classes), "shards": _listed(shards)}
    if extras.sidecars:
        said["sidecars"] = _listed(extras.sidecars)
    if extras.transcoded is not None:
        said["transcoded"] = extras.transcoded
    return json.dumps(said)


def _listed(files: Sequence[Shard]) -> list[dict[str, object]]:
    return [{"name": file.name, "bytes": file.bytes, "xxh3": f"{file.checksum:016x}"} for file in files]


def encode(pa: Any, arrays: dict[str, Any], text: str) -> memoryview:
    """The index file with these columns and this metadata."""
    return arrow.encode(pa, arrow_schema(pa, extras=COLUMN in arrays).with_metadata({METADATA: text}), arrays)


def dictionary(pa: Any, formats: Sequence[str]) -> Any:
    """Dictionary-encoded text; names sorted, so that the order of the samples does not matter."""
    names, places = np.unique(np.array(formats), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(names.tolist(), pa.string()))
