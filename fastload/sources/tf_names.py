"""Which files of TFRecords are one data set, and what its classes are called."""

import os
import re
from fnmatch import fnmatchcase

import numpy as np

from fastload.errors import SourceError
from fastload.files.formats import SOURCES, TFRECORD
from fastload.files.patterns import expanded
from fastload.sources.labels import numbered
from fastload.sources.span_files import opened
from fastload.spec import Longs
from fastload.system import limits

PACKED = (".gz", ".zlib", ".zz")
DIGITS = re.compile(r"[0-9]+")
REMEDY = "correct or remove it"
OF = re.compile(r"-[0-9]{5}-of-([0-9]{5})$")


def files(where: str) -> list[str]:
    """The paths of the files, in their order. Raises SourceError."""
    if os.path.isdir(where):
        paths = _in_folder(where)
    else:
        paths = [where] if os.path.exists(where) else expanded(where)
    if packed := [path for path in paths if path.lower().endswith(PACKED)]:
        raise SourceError(
            f"{packed[0]}: is compressed, want plain records; unpack it, or write it without "
            "compression"
        )
    return paths


def _in_folder(where: str) -> list[str]:
    """Raises SourceError."""
    try:
        with os.scandir(where) as entries:
            names = sorted(entry.name for entry in entries if not entry.is_dir())
    except OSError as error:
        raise SourceError(
            f"{where}: cannot be listed ({error.strerror}); make it readable"
        ) from error
    markers = SOURCES[TFRECORD].markers
    names = [name for name in names if any(fnmatchcase(name, marker) for marker in markers)]
    if not names:
        raise SourceError(f"{where}: holds no TFRecord files; give another folder")
    kinds = {DIGITS.sub("", name): name for name in reversed(names)}
    if len(kinds) > 1:
        one, other = sorted(kinds.values())[:2]
        raise SourceError(
            f"{where}: holds {len(kinds)} sets of files (such as {one!r} and {other!r}), and they "
            "may be splits; name those of one by braces: DIR/train-{00000..01023}-of-01024"
        )
    if (match := OF.search(names[0])) and int(match[1]) != len(names):
        raise SourceError(
            f"{where}: holds {len(names)} files of {int(match[1])} (such as {names[0]!r}); copy "
            "the others, or name those that are there by braces: DIR/x-{00000..00007}-of-00010"
        )
    return [os.path.join(where, name) for name in names]


def classes(path: str, label: str, labels: Longs) -> tuple[str, ...] | None:
    """The names that tensorflow_datasets keeps beside its files, LABEL.labels.txt; None without.

    labels: the class numbers that there are. Raises SourceError.
    """
    beside = os.path.join(os.path.dirname(path), f"{label}.labels.txt")
    if "/" in label or not os.path.isfile(beside):
        return None
    names = opened(beside, lambda file: _lines(beside, file), REMEDY)
    return numbered(beside, list(map(str, np.asarray(labels).tolist())), names)[1]


def _lines(path: str, file: int) -> list[str]:
    """Raises SourceError and OSError."""
    size = os.fstat(file).st_size
    if wrong := limits.too_many(size, limits.NAMES):
        raise SourceError(f"{path}: is too large ({wrong}); {REMEDY}")
    try:
        return os.pread(file, size, 0).decode("utf-8-sig").splitlines()
    except ValueError as error:
        raise SourceError(f"{path}: is no text in UTF-8; {REMEDY}") from error
