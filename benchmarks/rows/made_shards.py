"""The same as made.py of converted shards: few different images, and an index that is whole.

A conversion writes one shard of DIFFERENT images. All others are hard links to it and to its
sidecar, and the index has EACH rows for each of them: the places, checksums and seek indexes of
random images of the shard. What a first look makes of it is not there yet.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.rows import made
from benchmarks.rows.made import CLASSES, Made
from fastload.conversion import index_writer, job
from fastload.conversion.index_writer import Extras
from fastload.sources import arrow, span_index, sums
from fastload.sources.shard_index import (
    INDEX,
    METADATA,
    NUMBERS,
    SUM,
    Index,
    arrow_schema,
    read_index,
)


def make(folder: Path, rows: int) -> Made:
    """Below `folder`, where nothing is yet; links and an index."""
    where, cache = folder / "data", folder / "cache"
    where.mkdir(parents=True)
    cache.mkdir(mode=0o700)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    few = _converted(folder)
    counts = [min(made.EACH, rows - at) for at in range(0, rows, made.EACH)]
    shards, sidecars = (
        [file._replace(name=f"shard-{n:06d}{Path(file.name).suffix}") for n in range(len(counts))]
        for (file,) in (few.shards, few.sidecars)
    )
    for first, files in ((few.shards[0], shards), (few.sidecars[0], sidecars)):
        content = (Path(few.where) / first.name).read_bytes()
        made.linked(where, [file.name for file in files], content)
    classes = [str(number) for number in range(CLASSES)]
    text = index_writer.metadata(rows, classes, shards, Extras(sidecars, None))
    schema = arrow_schema(pa).with_metadata({METADATA: text})
    with pa.OSFile(str(where / INDEX), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in _batches(few, rows, schema):
            writer.write_batch(batch)
    (where / SUM).write_bytes(sums.text(np.memmap(where / INDEX, np.uint8, "r")))
    kept = Path(span_index.path_of("shards", str(where)))
    return Made(where, cache, kept, (where / INDEX).stat().st_size)


def _converted(folder: Path) -> Index:
    """One shard of all images."""
    (folder / "images" / "x").mkdir(parents=True)
    for number, image in enumerate(made.few_images(made.DIFFERENT)):
        (folder / "images" / "x" / f"{number:06d}.jpg").write_bytes(image)
    options = job.Options(shard_bytes=1 << 32, workers=1)
    job.run(job.prepare(str(folder / "images"), str(folder / "few"), options))
    return read_index(str(folder / "few"))


def _batches(few: Index, rows: int, schema: Any) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    known = {name: column.all() for name, column in few.columns.items()}
    formats = pa.array([few.format(0)])
    for begin in range(0, rows, arrow.BATCH):
        at = np.arange(begin, min(begin + arrow.BATCH, rows))
        shard = at // made.EACH
        image = rng.integers(0, made.DIFFERENT, len(at))
        image = image[np.lexsort((image, shard))]
        has = {name: column[image] for name, column in known.items()}
        has |= {"shard": shard, "label": rng.integers(0, CLASSES, len(at))}
        arrays = {name: pa.array(has[name].astype(kind)) for name, kind in NUMBERS.items()}
        arrays["key"] = pc.binary_join_element_wise("x", pa.array(at).cast(pa.string()), "/")
        codes = pa.array(np.zeros(len(at), np.int32))
        arrays["format"] = pa.DictionaryArray.from_arrays(codes, formats)
        yield pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)
