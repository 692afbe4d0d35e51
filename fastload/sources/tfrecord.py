"""TFRecord files of tf.train.Example, read where they lie, without TensorFlow.

Opening goes over the records' heads (tf_records.py) and the small features (tf_example.py); it
reads no images.
"""

import re
from array import array
from functools import partial
from typing import NamedTuple

import numpy as np

from fastload.errors import SHOWN, SourceError
from fastload.sources import first_look, span_files, span_index, tf_fields, tf_names, tf_records
from fastload.sources.columns import bounds
from fastload.sources.labels import none
from fastload.sources.mapped import SpanSource
from fastload.sources.signatures import check_image
from fastload.sources.span_index import Part
from fastload.sources.tf_example import (
    BYTES,
    INTEGERS,
    KINDS,
    Value,
    Window,
    WireError,
    feature,
    one_bytes,
    one_integer,
    text,
)
from fastload.sources.tf_records import REMEDY

IMAGES = ("image/encoded", "image", "image_bytes", "image_raw", "encoded", "jpeg", "jpg", "png")
LABELS = ("image/class/label", "label", "class", "target", "cls")
LABELLED = re.compile(rb"label|class|cls|target")  # in the name of a feature: it may be a label
ASK = "name the features with images and labels: fields=(IMAGE, LABEL)"

with_fields, looks = tf_fields.with_fields, tf_fields.looks  # fastload.sources asks for them


class Names(NamedTuple):
    """The names of the features that are read."""

    image: bytes
    label: bytes | None  # None: there is none


def load(where: str, fields: tuple[str, str] | None = None) -> SpanSource:
    """The records of one file, of a folder of files, or of those that a pattern names.

    fields: the names of the features with images and labels; None takes the first of IMAGES and
    LABELS that the first record has. Raises SourceError with the first problem of each file.
    """
    paths = tf_names.files(where)
    names = _chosen(where, paths, fields)
    found = first_look.parts(
        where,
        span_index.path_of("tfrecord", where, *(fields or ())),
        dict.fromkeys(paths, repr(names)),
        lambda path, file, _: part_of(path, file.fileno(), names),
        span_files.READERS,
        paths=paths,
    )
    if names.label is None:
        return span_files.joined(where, paths, found, none(0)[1])
    labels = np.unique(bounds(found.column("label")))
    classes = tf_names.classes(paths[0], names.label.decode("utf-8", "surrogateescape"), labels)
    return span_files.joined(where, paths, found, classes)


def _chosen(where: str, paths: list[str], fields: tuple[str, str] | None) -> Names:
    """What the first record has. Raises SourceError."""
    for path in paths:
        if names := span_files.opened(path, partial(of_first, path, fields=fields)):
            return names
    raise SourceError(f"{where}: holds no records; {REMEDY}")


def of_first(path: str, file: int, fields: tuple[str, str] | None) -> Names | None:
    """What is read, as the first record of an open file has it; None: there is no record.

    Raises SourceError.
    """
    window = Window(file)
    for at, start, stop in tf_records.every(path, window):
        try:
            features = feature(window, start, stop, ())
            image = _one(path, features, BYTES, (fields[0],) if fields else IMAGES)
            label = None
            if fields or any(map(LABELLED.search, features)):
                label = _one(path, features, INTEGERS, (fields[1],) if fields else LABELS)
            place, length = one_bytes(window, features[image])
        except WireError as error:
            raise tf_records.damaged(path, at, error) from error
        check_image(f"{path}: feature {text(image)}", file, place, length, ASK)
        return Names(image, label)
    return None


def _one(path: str, features: dict[bytes, Value], kind: int, names: tuple[str, ...]) -> bytes:
    """The first of the names that is of this kind. Raises SourceError."""
    for name in names:
        data = name.encode("utf-8", "surrogateescape")
        if data in features and features[data].kind == kind:
            return data
    has = ", ".join(
        f"{text(name)} ({KINDS[value.kind]})" for name, value in list(features.items())[:SHOWN]
    )
    raise SourceError(
        f"{path}: has no {KINDS[kind]} feature {' or '.join(map(repr, names))} (has "
        f"{has or 'none'}); {ASK}"
    )


def part_of(path: str, file: int, names: Names) -> Part:
    """Where the images of an open file lie, and their labels. Raises SourceError and OSError."""
    offset, sizes, labels, window = array("q"), array("q"), array("q"), Window(file)
    wanted = [(names.image, BYTES)]
    if names.label is not None:
        wanted.append((names.label, INTEGERS))
    only = tuple(name for name, _ in wanted)
    for at, start, stop in tf_records.every(path, window):
        try:
            found = feature(window, start, stop, only)
            for name, kind in wanted:
                if name not in found or found[name].kind != kind:
                    raise WireError(f"has no {KINDS[kind]} feature {text(name)}")
            image, length = one_bytes(window, found[names.image])
            labels.append(0 if names.label is None else one_integer(window, found[names.label]))
        except WireError as error:
            raise tf_records.damaged(path, at, error) from error
        offset.append(image)
        sizes.append(length)
    columns = [np.array(one, np.int64) for one in (offset, sizes, labels)]
    return Part(columns[0], columns[1], columns[2])
