"""LMDB databases of encoded images, read where they lie, without that library.

Large values lie in one piece in the file, so an image is a span of it (lmdb_tree.py). What the keys
mean, nothing in the file tells; some ways are clear (lmdb_keys.py), and others are refused. What
was found is kept in the user's cache (first_look.py).

The file is not locked: nobody is to write to it meanwhile. Nothing is unpickled.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from fastload.errors import SourceError
from fastload.files.names import check_keys, whole_problem
from fastload.sources import fields, first_look, lmdb_keys, span_files, span_index
from fastload.sources import labels as labelling
from fastload.sources.columns import bounds
from fastload.sources.fields import Field
from fastload.sources.lmdb_keys import REMEDY, Found, Layout, unlabelled
from fastload.sources.lmdb_keys import text as text_of
from fastload.sources.lmdb_tree import Entry
from fastload.sources.mapped import SpanSource
from fastload.sources.signatures import check_image
from fastload.sources.span_index import Part, Spans
from fastload.spec import Longs
from fastload.system import limits

FILE = "data.mdb"
LONGEST_LABEL = 1 << 12  # bytes
NAMES = limits.METADATA // 2  # bytes of the names of all classes, in an index that has more


def load(where: str) -> SpanSource:
    """The database in a file, or in a folder's data.mdb. Raises SourceError."""
    path = os.path.join(where, FILE) if os.path.isdir(where) else where
    index = span_index.path_of("lmdb", where)
    found = first_look.parts(where, index, {path: ""}, _part)
    return span_files.joined(where, (path,), found, _classes(found))


def with_fields(source: SpanSource, names: Sequence[str]) -> SpanSource:
    """The same data set, with the values under these keys beside its images': `txt-KEY` beside
    `image-KEY`, `KEY.txt` beside `KEY.jpg`.

    Raises SourceError.
    """
    fields.refuse_pickled(source.where, names)
    (path,) = source.paths
    found = span_files.opened(path, lambda file: lmdb_keys.found(path, file))
    images, layout = lmdb_keys.images(path, found)
    offset = np.array([found[key].offset for key in images], np.int64)
    if not np.array_equal(offset, source.offset):
        raise SourceError(f"{source.where}: changed since it was read; open it again")
    added = tuple(beside(source.where, found, images, layout, name) for name in names)
    return replace(source, fields=added)


def beside(
    where: str, found: Found, images: list[bytes], layout: Layout | None, name: str
) -> Field:
    """The values with this name beside the images. Raises SourceError."""
    keys = [layout.beside(image, name) if layout else None for image in images]
    lacks = np.array([key not in found for key in keys])
    if lacks.all():
        raise fields.lacking(where, name, lmdb_keys.others(found, images))
    if lacks.any():
        first = text_of(images[int(np.argmax(lacks))])
        raise fields.incomplete(where, name, int(lacks.sum()), len(lacks), first)
    entries = [found[key] for key in keys if key is not None]
    offset, size = (np.array([entry[part] for entry in entries], np.int64) for part in (1, 2))
    return Field(name, fields.of_suffix(name), offset, size)


def _classes(spans: Spans) -> tuple[str, ...]:
    """As the index has them. Raises SourceError where it says what cannot be."""
    try:
        classes = json.loads(spans.said[0])
    except (ValueError, RecursionError):
        classes = None
    good = type(classes) is list and all(type(name) is str for name in classes)
    low, high = bounds(spans.column("label"))
    if not good or low < 0 or high >= len(classes):
        raise spans.damaged(0, "labels without classes")
    return tuple(classes)


def _part(path: str, opened: IO[bytes], _: int) -> Part:
    """Raises SourceError and OSError."""
    return part_of(path, opened.fileno(), lmdb_keys.found(path, opened.fileno()))


def part_of(path: str, file: int, found: Found) -> Part:
    """Where the images lie, and their labels; it says the classes. Raises SourceError, OSError."""
    keys, layout = lmdb_keys.images(path, found)
    images = [found[key] for key in keys]
    if not images:
        raise SourceError(f"{path}: has no images among its {len(found)} keys; {REMEDY}")
    if empty := [entry.key for entry in images if not entry.size]:
        raise SourceError(f"{path}: {text_of(empty[0])} has an empty image; {REMEDY}")
    first = images[0]
    check_image(f"{path}: {text_of(first.key)}", file, first.offset, first.size, REMEDY)
    if layout and layout.labelled:
        beside = (found[layout.label(key)] for key in keys)
        texts = [_label(path, file, entry) for entry in beside]
        labels, classes = labelling.numbered(path, texts)
    elif layout and not layout.folders:
        labels, classes = labelling.none(len(images))
    else:
        labels, classes = _folders(path, images)
    said = json.dumps(classes)
    if wrong := limits.too_many(len(said), NAMES):
        raise SourceError(f"{path}: names of classes are too long ({wrong}); write numbers")
    offset, size = (np.array([entry[part] for entry in images], np.int64) for part in (1, 2))
    return Part(offset, size, labels, said=said)


def _folders(path: str, images: list[Entry]) -> tuple[Longs, tuple[str, ...]]:
    """Labels and classes of CLASS/NAME. Raises SourceError."""
    if lacking := [entry.key for entry in images if b"/" not in entry.key.strip(b"/")]:
        raise unlabelled(path, lacking, len(images))
    keys = [os.fsdecode(entry.key) for entry in images]
    check_keys(path, keys)
    labels, classes, _ = labelling.of_folders(path, keys)
    return labels, classes


def _label(path: str, file: int, entry: Entry) -> str:
    """Raises SourceError and OSError."""
    data = os.pread(file, min(entry.size, LONGEST_LABEL + 1), entry.offset)
    text = data.decode("utf-8", "surrogateescape").strip()
    if len(data) > LONGEST_LABEL or whole_problem(text) or not text.isprintable():
        raise SourceError(
            f"{path}: {text_of(entry.key)} is no text of a label (begins with "
            f"{data[:4].hex(' ')}); write numbers, or names of classes, as text"
        )
    return text
