"""What a conversion reads. `open_reader` finds out what lies at a path."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastload.conversion.keys import readable, tidy_key, unique_keys
from fastload.conversion.readers import manifest, select, spans, tables, tars, zips
from fastload.conversion.readers.base import Extra, Reader, Record, record, records
from fastload.conversion.readers.beton import BetonReader, beton_reader
from fastload.conversion.readers.folder import FolderReader, ShardsReader, file_sizes, shards_reader
from fastload.errors import SourceError, UsageError
from fastload.sources import FileSource, open_source
from fastload.sources.beton import BetonSource
from fastload.sources.beton_file import looks_like_one as looks_like_beton
from fastload.sources.shard_index import INDEX
from fastload.sources.shards import ShardSource, looks_unfinished

__all__ = [
    "ANYTHING", "BetonReader", "Choice", "Extra", "FolderReader", "Reader", "Record",
    "ShardsReader", "file_sizes",
    "from_iterable", "open_reader", "readable", "record", "records", "tidy_key", "unique_keys",
]  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What of a source is read, and how."""

    split: str | None = None  # its folder SPLIT, or its files SPLIT-…
    labels: str | None = None  # "none", or a file: names of the classes, or a label per key
    root: str | None = None  # of the paths in a CSV or JSONL file
    masks: str | None = None  # a folder with a mask for each image
    subset: str | None = None  # how many samples: "1000", "10%"
    seed: int = 0  # that a subset is drawn by

    @property
    def labelled(self) -> bool:
        return self.labels != "none"


ANYTHING = Choice()


def open_reader(path: str, choice: Choice = ANYTHING) -> Reader:
    """What lies at `path`, ready to be converted. Raises SourceError, UsageError."""
    reader = _open(path, choice)
    if not len(reader):
        raise SourceError(f"{path}: holds no samples; give another source")
    if choice.labels and choice.labelled:
        reader = select.relabelled(reader, choice.labels)
    return select.subset(reader, choice.subset, choice.seed) if choice.subset else reader


def from_iterable(
    items: Iterable[tuple[str, bytes, int]] | Iterable[Record],
    classes: Sequence[str],
    where: str = "samples",
) -> Reader:
    """Samples that a program makes: (key, encoded image, label) or Record; kept in a nameless
    temporary file until they are written.

    Raises SourceError, ConversionError.
    """
    made = (item if isinstance(item, Record) else Record(*item, ()) for item in items)
    reader = spans.of_records(
        where,
        (_checked(where, number, item, len(classes)) for number, item in enumerate(made)),
        classes,
    )
    if len(set(reader.keys)) < len(reader):
        seen: set[str] = set()
        for key in reader.keys:
            if key in seen:
                raise SourceError(f"{where}: key {key!r} is there twice; give each sample its own")
            seen.add(key)
    return reader


def _checked(where: str, number: int, item: Record, classes: int) -> Record:
    if type(item.key) is not str or tidy_key(f"{item.key}.x") != item.key or not item.key:
        raise SourceError(
            f"{where}, sample {number}: key {item.key!r} cannot stand in a tar (want text without "
            "dots in its last part); rename it"
        )
    if not isinstance(item.data, bytes):
        raise SourceError(
            f"{where}, sample {number}: image is {type(item.data).__name__}, want the encoded "
            "bytes; encode it"
        )
    if not 0 <= int(item.label) < classes:
        raise SourceError(
            f"{where}, sample {number}: label {item.label} (want 0 to {classes - 1}); name all "
            "classes"
        )
    return item


def _open(path: str, choice: Choice) -> Reader:
    """The reader for what lies there."""
    where = os.fspath(path)
    if choice.split is not None and os.path.isdir(os.path.join(where, choice.split)):
        where, choice = (
            os.path.join(where, choice.split),
            Choice(None, choice.labels, choice.root, choice.masks),
        )
    if choice.masks is not None:
        return manifest.pairs(where, where, choice.masks)
    if os.path.isfile(where):
        return _of_file(where, choice)
    if (
        os.path.isdir(where)
        and not os.path.exists(os.path.join(where, INDEX))
        and not looks_unfinished(where)
    ):
        if (found := _of_files(where, choice)) is not None:
            return found
        parts = [os.path.join(where, name) for name in (manifest.IMAGES, manifest.MASKED)]
        if sorted(_folders(where)) == [manifest.IMAGES, manifest.MASKED]:
            return manifest.pairs(where, *parts)
    if choice.split is not None:
        raise SourceError(
            f"{where}: has no split {choice.split!r} (no folder and no files of that name); leave "
            "--split out or give another"
        )
    return _of_source(where)


def _of_source(where: str) -> Reader:
    source = open_source(where)
    if isinstance(source, FileSource):
        prefix = os.path.join(source.where, "")
        keys = unique_keys(file[len(prefix) :] for file in source.paths)
        return FolderReader(source, keys, file_sizes(source.paths))
    if isinstance(source, ShardSource):
        return shards_reader(source)
    if isinstance(source, BetonSource):
        return beton_reader(source)
    raise SourceError(
        f"{where}: cannot be converted (got {type(source).__name__}, want a folder of classes, "
        "shards or FFCV's); give these"
    )


def _of_file(where: str, choice: Choice) -> Reader:
    name = where.lower()
    if choice.split is not None:
        raise UsageError(f"split: {where} is one file, which has no splits; leave --split out")
    if tars.looks_like_one(name):
        return tars.load(where, [where], labelled=choice.labelled)
    if name.endswith(".zip"):
        return zips.load(where, labelled=choice.labelled)
    if tables.looks_like_one(name):
        return tables.load(where, [where], labelled=choice.labelled)
    if manifest.looks_like_one(name):
        return manifest.load(where, choice.root, labelled=choice.labelled)
    if looks_like_beton(name):
        return _of_source(where)
    raise SourceError(
        f"{where}: is of no known kind (want a folder, .tar, .tar.gz, .zip, .parquet, .arrow, "
        ".csv, .jsonl or .beton); give one of these"
    )


def _of_files(where: str, choice: Choice) -> Reader | None:
    """A folder of tar archives or of tables; None if it is none."""
    for kind, load in ((tars, tars.load), (tables, tables.load)):
        for folder in (where, os.path.join(where, "data")):  # data: where the Hub has tables
            if folder == where and _folders(where):
                continue  # classes, and an archive that happens to lie there
            names = sorted(
                entry.name
                for entry in _entries(folder)
                if kind.looks_like_one(entry.name) and entry.is_file()
            )
            if names and choice.split is not None:
                names = [
                    name
                    for name in names
                    if name.startswith((f"{choice.split}-", f"{choice.split}_", f"{choice.split}."))
                ]
                if not names:
                    raise SourceError(
                        f"{where}: has no split {choice.split!r} (no folder and no files of that "
                        "name); leave --split out or give another"
                    )
            if names:
                return load(
                    where, [os.path.join(folder, name) for name in names], labelled=choice.labelled
                )
    return None


def _folders(where: str) -> list[str]:
    return [entry.name for entry in _entries(where) if entry.is_dir()]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
