"""The Arrow index of written shards."""

import json
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fastload.conversion.parts import Written
from fastload.conversion.writers import Catalog
from fastload.errors import ConversionError
from fastload.files.names import readable
from fastload.sources import arrow
from fastload.sources.extras import COLUMN, extras_field
from fastload.sources.shard_index import METADATA, NUMBERS, VERSION, Index, Shard, arrow_schema
from fastload.spec import Json, Longs


class Extras(NamedTuple):
    """What only some data sets have."""

    sidecars: Sequence[Shard] = ()
    transcoded: int | None = None  # images that were rewritten; None: the option was off


PLAIN = Extras()


def index_bytes(
    where: str, catalog: Catalog, shards: Sequence[Written], names: Sequence[str], extras: Extras
) -> memoryview:
    """The index file's content for `shards`, whose final names are `names`; the same for the same
    input and pyarrow.
    """
    pa = arrow.import_arrow(where, ConversionError)
    listed = [
        Shard(name, shard.bytes, shard.checksum) for name, shard in zip(names, shards, strict=True)
    ]
    text = metadata(
        sum(len(shard.samples) for shard in shards),
        [readable(name) for name in catalog.classes],
        listed,
        extras,
    )
    schema = arrow_schema(pa, extras=any(shard.extras for shard in shards)).with_metadata(
        {METADATA: text}
    )
    return arrow.encode_batches(pa, schema, _batches(pa, schema, catalog, shards))


def _batches(
    pa: ModuleType, schema: Any, catalog: Catalog, shards: Sequence[Written]
) -> Iterator[Json]:
    """The columns, BATCH rows at a time: an index of millions of samples is larger than what it is
    made from.
    """
    formats = sorted({name for shard in shards for name in shard.formats})
    numbers = {name: number for number, name in enumerate(formats)}
    dictionary = pa.array(formats, pa.string())
    ends = np.cumsum([len(shard.samples) for shard in shards])
    for start in range(0, int(ends[-1]), arrow.BATCH):
        stop = min(start + arrow.BATCH, int(ends[-1]))
        runs = list(_runs(ends, start, stop))
        columns = _columns(catalog, shards, runs)
        arrays = {name: pa.array(columns[name].astype(kind)) for name, kind in NUMBERS.items()}
        samples = columns["sample"].tolist()
        arrays["key"] = pa.array([catalog.keys[sample] for sample in samples], pa.string())
        codes = np.array(
            [numbers[name] for shard, cut in runs for name in shards[shard].formats[cut]], np.int32
        )
        arrays["format"] = pa.DictionaryArray.from_arrays(pa.array(codes), dictionary)
        if COLUMN in schema.names:
            rows = [
                row
                for shard, cut in runs
                for row in (shards[shard].extras or ((),) * len(shards[shard].samples))[cut]
            ]
            arrays[COLUMN] = pa.array(
                [[placed._asdict() for placed in row] for row in rows], extras_field(pa).type
            )
        yield arrays


def _runs(ends: Longs, start: int, stop: int) -> Iterator[tuple[int, slice]]:
    """Which rows of which shards are the rows start..stop-1 of all. ends: of the shards."""
    shard = int(np.searchsorted(ends, start, side="right"))
    while start < stop:
        first = int(ends[shard - 1]) if shard else 0
        end = min(stop, int(ends[shard]))
        if end > start:
            yield shard, slice(start - first, end - first)
        start, shard = end, shard + 1


def _columns(
    catalog: Catalog, shards: Sequence[Written], runs: Sequence[tuple[int, slice]]
) -> Json:
    def joined(get: Callable[[Written], Any]) -> Any:
        return np.concatenate([get(shards[shard])[cut] for shard, cut in runs])

    samples = joined(lambda shard: shard.samples)
    return {
        "sample": samples,
        "shard": np.repeat([shard for shard, _ in runs], [cut.stop - cut.start for _, cut in runs]),
        "offset": joined(lambda shard: shard.offset),
        "size": joined(lambda shard: shard.size),
        "label": catalog.labels[samples],
        "height": joined(lambda shard: shard.height),
        "width": joined(lambda shard: shard.width),
        "checksum": joined(lambda shard: shard.checksums),
        "index_offset": joined(lambda shard: shard.sidecar.offset),
        "index_size": joined(lambda shard: shard.sidecar.size),
    }


def with_sidecars(
    where: str, index: Index, offset: Longs, size: Longs, sidecars: Sequence[Shard]
) -> memoryview:
    """`index` with other seek indexes: their places [N] and their files."""
    pa = arrow.import_arrow(where, ConversionError)
    table = pa.Table.from_batches(index.batches)
    arrays = {name: table.column(name).combine_chunks() for name in table.column_names}
    arrays |= {"index_offset": pa.array(offset), "index_size": pa.array(size)}
    return encode(
        pa,
        arrays,
        metadata(len(index), index.classes, index.shards, Extras(sidecars, index.transcoded)),
    )


def metadata(
    samples: int, classes: Sequence[str], shards: Sequence[Shard], extras: Extras = PLAIN
) -> str:
    """The JSON in the schema: what the reader needs before the first row."""
    said: dict[str, object] = {
        "version": VERSION,
        "samples": samples,
        "classes": list(classes),
        "shards": _listed(shards),
    }
    if extras.sidecars:
        said["sidecars"] = _listed(extras.sidecars)
    if extras.transcoded is not None:
        said["transcoded"] = extras.transcoded
    return json.dumps(said)


def _listed(files: Sequence[Shard]) -> list[dict[str, object]]:
    return [
        {"name": file.name, "bytes": file.bytes, "xxh3": f"{file.checksum:016x}"} for file in files
    ]


def encode(pa: ModuleType, arrays: Json, text: str) -> memoryview:
    """The index file with these columns and this metadata."""
    return arrow.encode(
        pa, arrow_schema(pa, extras=COLUMN in arrays).with_metadata({METADATA: text}), arrays
    )


def dictionary(pa: ModuleType, formats: Sequence[str]) -> Any:
    """Dictionary-encoded text; names sorted, so that the order of the samples does not matter."""
    names, codes = np.unique(np.array(formats), return_inverse=True)
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32)), pa.array(names.tolist(), pa.string())
    )
