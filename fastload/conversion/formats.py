"""The formats that a conversion can write, by name."""

from collections.abc import Sequence

import numpy as np

from fastload.conversion.folder_writer import FolderWriter
from fastload.conversion.options import Options
from fastload.conversion.parquet_writer import ParquetWriter
from fastload.conversion.readers.base import Reader
from fastload.conversion.shards_writer import ShardsWriter, WebDatasetWriter
from fastload.conversion.writers import Catalog, Writer
from fastload.errors import UsageError
from fastload.spec import Longs

LOOKED_AT = 256  # samples whose files are asked for, to know the columns of a table


def writer(where: str, reader: Reader, options: Options) -> Writer:
    """The writer for options.to. Raises ConversionError."""
    if options.to == "shards":
        return ShardsWriter(where, options.seek_step, transcode=options.transcode)
    if options.to == "webdataset":
        return WebDatasetWriter(where)
    if options.to == "beton":
        raise UsageError(
            "to: FFCV's files have a job of their own; use conversion.beton_writer.run"
        )
    beside: Longs = reader.beside if options.extras == "keep" else np.zeros(0, np.int64)
    if options.to == "folder":
        return FolderWriter(
            where, Catalog(reader.keys, reader.labels, reader.classes), paired=bool(beside.any())
        )
    return ParquetWriter(
        where, reader.classes, extra_names(reader, beside), options.split or "train"
    )


def extra_names(reader: Reader, beside: Longs) -> Sequence[str]:
    """What the files beside the images are called, in some samples that have any."""
    having = np.flatnonzero(beside)
    chosen = (
        having[
            np.unique(np.linspace(0, len(having) - 1, min(LOOKED_AT, len(having))).astype(np.int64))
        ]
        if len(having)
        else having
    )
    return sorted({extra.name for sample in chosen.tolist() for extra in reader.extras(sample)})
