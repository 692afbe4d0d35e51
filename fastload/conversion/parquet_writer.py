"""Parquet files as Hugging Face's `datasets` writes them: a column of images, of labels and of
keys, with the features said.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import numpy as np

from fastload import _native
from fastload.conversion import parquet_objects, seek_writer, staging, target
from fastload.conversion.options import Options
from fastload.conversion.parts import Item, Row, Written, written
from fastload.conversion.readers.base import Extra, Reader
from fastload.conversion.samples import BadSampleError
from fastload.conversion.shards_writer import commit_staged, is_intact, temporary
from fastload.conversion.writers import Catalog, Committed, Samples, Wanted
from fastload.detection import record
from fastload.errors import ConversionError
from fastload.files.names import readable
from fastload.sources.arrow import import_arrow
from fastload.sources.shard_index import BAD
from fastload.spec import Longs

ROWS, GROUP_BYTES = 100, 64 << 20  # of a row group, at most: what a reader of one image has to read
TEXTS = ("json", "txt", "text", "caption")  # extras that become text
PICTURES = ("png", "jpg", "jpeg", "webp", "bmp", "gif", "tif", "tiff")  # … that become images
METADATA = b"huggingface"


LOOKED_AT = 256  # samples whose files are asked for, to know the columns of a table


def open_writer(where: str, reader: Reader, options: Options) -> "ParquetWriter":
    """Raises ConversionError."""
    beside: Longs = reader.beside if options.extras == "keep" else np.zeros(0, np.int64)
    extras = extra_names(reader, beside)
    kind = _identity(where, reader, beside) if record.NAME in extras else ""
    return ParquetWriter(where, reader.classes, extras, options.split or "train", kind)


def _identity(where: str, reader: Reader, beside: Longs) -> str:
    """The type of the image_id in the first sample that has one. Raises ConversionError."""
    for sample in np.flatnonzero(beside).tolist():
        for extra in _extras(reader, sample):
            if extra.name == record.NAME:
                said = parquet_objects.said_by(where, reader.name(sample), extra.data)
                return parquet_objects.identity(said)
    return ""


def _extras(reader: Reader, sample: int) -> tuple[Extra, ...]:
    """None of a bad sample: it is said where all are read."""
    try:
        return reader.extras(sample)
    except BadSampleError:
        return ()


class ParquetWriter:
    """Tables of about the size of a shard.

    split: the first word of their names; identity: the type of the image_id beside objects.
    """

    seek_step = None
    copies = 3  # of a part: the images, the rows, the file

    def __init__(
        self,
        where: str,
        classes: Sequence[str],
        extras: Sequence[str],
        split: str,
        identity: str = "",
    ) -> None:
        self.where, self.split = where, split
        self.hold = self.stage = staging.Stage(where)
        self.pa = import_arrow(where, ConversionError, "Parquet needs")
        plain = [name for name in extras if name != record.NAME]
        self.columns = {column_of(name): name for name in plain}
        self.identity = identity
        taken = {"image", "label", "key", *(record.COLUMNS if identity else ())}
        if len(self.columns) < len(plain) or set(self.columns) & taken:
            raise ConversionError(
                f"{where}: files beside the images share a column name (have {', '.join(extras)}); "
                "pass --extras drop"
            )
        more = parquet_objects.fields(self.pa, identity) if identity else []
        self.schema = schema(self.pa, [readable(name) for name in classes], self.columns, more)

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[target.Hold]:
        check = staging.replaceable(
            lambda name: name == BAD or name.endswith(".parquet"), overwrite=overwrite
        )
        return staging.being_staged(self.stage, needed, check, resume=resume)

    def write(self, number: int, samples: Samples, wanted: Wanted) -> Written:
        import pyarrow.parquet as pq

        entry = temporary(self.stage.into, number, ".parquet")
        rows, sink = list[Row](), self.pa.BufferOutputStream()
        with pq.ParquetWriter(
            sink, self.schema, compression="none", use_dictionary=False, write_page_checksum=True
        ) as table:
            for group in _groups(samples):
                table.write_table(self._table(group), row_group_size=ROWS)
                rows += [item.row for item in group]
        whole = memoryview(sink.getvalue())
        if rows and wanted(samples):
            entry.folder.write(entry.name, whole)
        nothing = seek_writer.Builder(None).finish(None, write=False)
        return written(
            entry.path, (len(whole), _native.xxh3(whole)), rows, [0] * len(rows),
            bad=tuple(samples.bad), transcoding=samples.tally, sidecar=nothing,
        )  # fmt: skip

    def intact(self, part: Written) -> bool:
        return is_intact(part)

    def commit(
        self,
        parts: Sequence[Written],
        catalog: Catalog,
        announce: Callable[[Sequence[tuple[str, str]]], None],
    ) -> Committed:
        count = sum(len(part.samples) > 0 for part in parts)
        names = [f"{self.split}-{number:05d}-of-{count:05d}.parquet" for number in range(count)]
        return commit_staged(self.stage, parts, names, {}, announce)

    def _check_known(self, items: Sequence[Item]) -> None:
        """Raise ConversionError for a file that has no column."""
        known = {*self.columns.values(), *([record.NAME] if self.identity else [])}
        for item in items:
            if new := sorted({extra.name for extra in item.extras} - known):
                raise ConversionError(
                    f"{self.where}: {item.key}: has {new[0]} beside it (want of "
                    f"{', '.join(sorted(known)) or 'none'}, which {LOOKED_AT} samples of the data "
                    "set have); convert to shards, which keep any file, or pass --extras drop"
                )

    def _table(self, items: Sequence[Item]) -> Any:
        self._check_known(items)
        arrays: dict[str, list[Any]] = {
            "image": [
                {"bytes": item.data, "path": f"{item.key}.{item.extension}"} for item in items
            ],
            "label": [item.label for item in items],
            "key": [item.key for item in items],
        }
        for column, name in self.columns.items():
            columns = [
                next((extra.data for extra in item.extras if extra.name == name), None)
                for item in items
            ]
            arrays[column] = [_cell(name, data) for data in columns]
        if self.identity:
            arrays |= parquet_objects.columns(self.where, items, self.identity)
        return self.pa.Table.from_pydict(arrays, self.schema)


def _groups(samples: Samples) -> Iterator[list[Item]]:
    """Items of one row group."""
    group, size = list[Item](), 0
    for item in samples:
        group.append(item)
        size += len(item.data) + sum(len(extra.data) for extra in item.extras)
        if len(group) == ROWS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def column_of(name: str) -> str:
    """The column for an extra: "mask.png" is `mask`, "json" is `json`."""
    return name.partition(".")[0]


def _kind(name: str) -> str:
    last = name.rsplit(".", 1)[-1]
    return "image" if last in PICTURES else "text" if last in TEXTS else "binary"


def _cell(name: str, data: bytes | None) -> Any:
    if data is None or _kind(name) == "binary":
        return data
    return (
        {"bytes": data, "path": name} if _kind(name) == "image" else data.decode("utf-8", "replace")
    )


def schema(
    pa: ModuleType, classes: Sequence[str], columns: dict[str, str], more: Sequence[Any] = ()
) -> Any:
    """The columns, with what `datasets` calls features as metadata.

    columns: name of each extra's column to the extra. more: of parquet_objects.
    """
    image = pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])
    kinds = {
        "image": (image, {"_type": "Image"}),
        "text": (pa.string(), _value("string")),
        "binary": (pa.binary(), _value("binary")),
    }
    fields = [
        ("image", *kinds["image"]),
        ("label", pa.int64(), {"names": list(classes), "_type": "ClassLabel"}),
    ]
    fields.append(("key", *kinds["text"]))
    fields += [(column, *kinds[_kind(name)]) for column, name in columns.items()]
    fields += more
    features = {name: feature for name, _, feature in fields}
    return pa.schema(
        [pa.field(name, kind) for name, kind, _ in fields],
        metadata={METADATA: json.dumps({"info": {"features": features}})},
    )


def _value(dtype: str) -> dict[str, str]:
    return {"dtype": dtype, "_type": "Value"}


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
    return sorted({extra.name for sample in chosen.tolist() for extra in _extras(reader, sample)})
