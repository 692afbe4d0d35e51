"""LMDB databases of encoded images, read where they lie, without that library.

Large values lie in one piece in the file, so an image is a span of it (lmdb_tree.py). What the keys
mean, nothing in the file tells; three ways are clear, and others are refused:

    image-KEY (or image_KEY), and label-KEY       the label is text: a number, or a class's name
    KEY.jpg (or another image), and KEY.cls       likewise
    CLASS/NAME                                    each class is what is before the slash

The file is not locked: nobody is to write to it meanwhile. Nothing is unpickled.
"""

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fastload.errors import SourceError
from fastload.files.names import check_keys, shown, whole_problem
from fastload.sources import labels as labelling
from fastload.sources import lmdb_tree, span_files
from fastload.sources.lmdb_tree import Entry
from fastload.sources.mapped import SpanSource
from fastload.sources.signatures import check_image
from fastload.sources.span_index import Part
from fastload.spec import Longs

FILE = "data.mdb"
PAIRED = re.compile(rb"(?:image|img)([-_:].+)", re.DOTALL)
NAMED = re.compile(rb"(.+)\.(?:jpe?g|png|webp|bmp|gif|tiff?|ppm|pgm)", re.DOTALL | re.IGNORECASE)
# Keys that tell about a database and have no image
BESIDE = re.compile(rb"__.*|num[-_]samples|length|len|size|keys|classes|meta(data)?", re.DOTALL)
LONGEST_LABEL = 1 << 12  # bytes
REMEDY = (
    "write image-KEY and label-KEY, KEY.jpg and KEY.cls, or CLASS/NAME, with the bytes of image "
    "files as values"
)
Found = Mapping[bytes, Entry]


class Pair(NamedTuple):
    """The key of an image, and that of its label."""

    image: bytes
    label: bytes


def load(where: str) -> SpanSource:
    """The database in a file, or in a folder's data.mdb. Raises SourceError."""
    path = os.path.join(where, FILE) if os.path.isdir(where) else where
    return span_files.opened(path, lambda file: _source(where, path, file))


def _source(where: str, path: str, file: int) -> SpanSource:
    """Raises SourceError and OSError."""
    found = dict[bytes, Entry]()
    for entry in lmdb_tree.entries(path, file):
        if found.setdefault(entry.key, entry) is not entry:
            raise SourceError(f"{path}: has the key {_text(entry.key)} twice; {lmdb_tree.REMEDY}")
    if pairs := _pairs(found):
        images = [found[pair.image] for pair in pairs]
        if lacking := [pair.image for pair in pairs if pair.label not in found]:
            raise _unlabelled(path, lacking, len(pairs))
        texts = [_label(path, file, found[pair.label]) for pair in pairs]
    else:
        images = [entry for key, entry in found.items() if not BESIDE.fullmatch(key)]
    if not images:
        raise SourceError(f"{path}: has no images among its {len(found)} keys; {REMEDY}")
    if empty := [entry.key for entry in images if not entry.size]:
        raise SourceError(f"{path}: {_text(empty[0])} has an empty image; {REMEDY}")
    first = images[0]
    check_image(f"{path}: {_text(first.key)}", file, first.offset, first.size, REMEDY)
    labels, classes = labelling.numbered(path, texts) if pairs else _folders(path, images)
    offset, size = (np.array([entry[part] for entry in images], np.int64) for part in (1, 2))
    return span_files.joined(where, [path], [Part(offset, size, labels)], classes)


def _pairs(found: Found) -> list[Pair]:
    """Images with keys of labels; empty where no label has such a key."""
    for pattern, label in ((PAIRED, b"label%s"), (NAMED, b"%s.cls")):
        matches = ((key, pattern.fullmatch(key)) for key in found)
        pairs = [Pair(key, label % match[1]) for key, match in matches if match]
        if any(pair.label in found for pair in pairs):
            return pairs
    return []


def _folders(path: str, images: list[Entry]) -> tuple[Longs, tuple[str, ...]]:
    """Labels and classes of CLASS/NAME. Raises SourceError."""
    if lacking := [entry.key for entry in images if b"/" not in entry.key.strip(b"/")]:
        raise _unlabelled(path, lacking, len(images))
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
            f"{path}: {_text(entry.key)} is no text of a label (begins with {data[:4].hex(' ')}); "
            "write numbers, or names of classes, as text"
        )
    return text


def _unlabelled(path: str, lacking: list[bytes], count: int) -> SourceError:
    return SourceError(
        f"{path}: {len(lacking)} of {count} images have no label (such as {_text(lacking[0])}); "
        f"{REMEDY}"
    )


def _text(key: bytes) -> str:
    """A key as a message shows it."""
    return shown(key.decode("utf-8", "replace"))
