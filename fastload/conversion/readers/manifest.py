"""Lists of images:

CSV or JSON lines with a path and a label, and folders of images and of masks.
"""

import csv
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as short
from typing import BinaryIO

import numpy as np

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers.base import Choice, Extra, Listing, stamp_of
from fastload.conversion.readers.files import file_sizes, file_times, read_file
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError, listed
from fastload.files.names import outside
from fastload.sources import labels as labelling
from fastload.sources import masks as pairing
from fastload.spec import Json, Longs
from fastload.system import limits

NAMES = (".csv", ".jsonl")
DELIMITED = (".csv", ".tsv")
# What the columns are called; the first that is there is taken
PATHS = ("path", "file_name", "filename", "image", "file")
LABELS = ("label", "class", "class_name", "target")
MASKS = ("mask", "mask_path")
COLUMNS = {"path": PATHS, "label": LABELS, "mask": MASKS}
IMAGES, MASKED = "images", "masks"  # folders of pairs
PARSE = (ValueError, csv.Error, RecursionError)


@dataclass(frozen=True, eq=False)
class FilesReader(Listing):
    """Whole files, each perhaps with a mask."""

    paths: Sequence[str]
    masks: Sequence[str]  # empty, or [N]

    @cached_property
    def beside(self) -> Longs:
        return (
            np.maximum(file_sizes(self.masks), 0)
            if self.masks
            else np.zeros(len(self.sizes), np.int64)
        )

    def name(self, sample: int) -> str:
        return self.paths[sample]

    def read(self, sample: int) -> bytes:
        return read_file(self.paths[sample], int(self.sizes[sample]))

    def extras(self, sample: int) -> tuple[Extra, ...]:
        if not self.masks:
            return ()
        path = self.masks[sample]
        extension = os.path.splitext(path)[1].lower().lstrip(".") or "bin"
        try:
            data = read_file(path, int(file_sizes([path])[0]))
        except BadSampleError as error:
            raise BadSampleError(f"its mask {path} {error}") from error
        return (Extra(f"mask.{extension}", data),)


def looks_like_one(name: str) -> bool:
    return name.lower().endswith(NAMES)


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> FilesReader:
    """The images that the list `where` names. Raises SourceError with every problem."""
    return load(where, choice.root, labelled=choice.labelled, optional=choice.optional)


def load(
    where: str, root: str | None = None, *, labelled: bool = True, optional: bool = False
) -> FilesReader:
    """The images that a list names, below `root` (None: the list's own folder). optional: a list
    without a column of labels will do.

    Raises SourceError with every problem.
    """
    base = root or os.path.dirname(os.path.abspath(where))
    numbered = list(numbered_rows(where))
    rows = [row for _, row in numbered]
    if not rows:
        raise SourceError(
            f"{where}: has no rows; give a list with a header and a row for each image"
        )
    column = {
        name: next((known for known in names if known in rows[0]), None)
        for name, names in COLUMNS.items()
    }
    labelled = labelled and not (optional and column["label"] is None)
    has = f"has {', '.join(map(str, rows[0]))}, want one of"
    if column["path"] is None:
        raise SourceError(f"{where}: no column with paths ({has} {', '.join(PATHS)}); name it so")
    if column["label"] is None and labelled:
        raise SourceError(
            f"{where}: no column with labels ({has} {', '.join(LABELS)}); add it, or pass --labels "
            "none"
        )
    if problems := list(_problems(where, numbered, column, labelled=labelled)):
        raise SourceError(listed(problems))
    names = [row[column["path"] or ""] for row in rows]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SourceError(f"{where}: {name!r} is there twice; remove one of its rows")
        seen.add(name)
    texts = [str(row[column["label"] or ""]).strip() for row in rows] if labelled else []
    labels, classes = labelling.numbered(where, texts) if labelled else labelling.none(len(names))
    masks = (
        [os.path.join(base, row[column["mask"] or ""]) for row in rows] if column["mask"] else []
    )
    return _reader(
        where, names, [os.path.join(base, name) for name in names], masks, labels, classes
    )


def _problems(
    where: str,
    rows: Sequence[tuple[int, Json]],
    column: dict[str, str | None],
    *,
    labelled: bool,
) -> Iterator[str]:
    """What is wrong with the rows, each in one line."""
    for line, row in rows:
        for name in (column["path"], column["mask"]):
            if name and (wrong := _wrong(row.get(name))):
                yield f"{where}, line {line}: {name} {row.get(name)!r} {wrong}"
        text = row.get(column["label"] or "")
        if labelled and (text is None or not str(text).strip()):
            yield f"{where}, line {line}: has no label; add it, or pass --labels none"
        elif labelled and type(text) not in (str, int):
            yield (
                f"{where}, line {line}: label {short(text)} is no text and no whole number; "
                "correct it"
            )


def read_rows(where: str) -> Iterator[Json]:
    """The rows of a list. Raises SourceError."""
    return (row for _, row in numbered_rows(where))


def numbered_rows(where: str) -> Iterator[tuple[int, Json]]:
    """The same, each with the number of the line that it ends on."""
    try:
        with open(where, "rb") as file:
            texts = _texts(file)
            if where.lower().endswith(DELIMITED):
                delimiter = "\t" if where.lower().endswith(".tsv") else ","
                rows = csv.DictReader(texts, strict=True, delimiter=delimiter)
                yield from ((rows.line_num, row) for row in rows)
                return
            for line, text in enumerate(texts, start=1):
                row = json.loads(text) if text.strip() else None
                if row is not None and type(row) is not dict:
                    raise SourceError(
                        f"{where}, line {line}: is no JSON object; write one per line"
                    )
                if row is not None:
                    yield line, row
    except OSError as error:
        raise SourceError(
            f"{where}: cannot be read ({error.strerror or error}); make it readable"
        ) from error
    except PARSE as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{where}: cannot be read ({' '.join(str(error).split())}); write it as UTF-8 with a "
            "row for each image"
        ) from error


def _texts(file: BinaryIO) -> Iterator[str]:
    """The lines of a file in UTF-8; some programs put a mark before the first one."""
    for number, line in enumerate(limits.lines(file)):
        yield line.decode("utf-8" if number else "utf-8-sig")


def _wrong(name: object) -> str:
    """Why a path is not taken, or nothing."""
    if type(name) is not str or not name or "\0" in name:
        return "is no path; correct it"
    if os.path.isabs(name):
        return "is absolute; give it relative to --root"
    return "leads out of the folder; give it without '..'" if outside(name) else ""


def pairs(where: str, images: str, masks: str) -> FilesReader:
    """Images and masks with the same stems; classes are the images' folders, if they have any.

    Raises SourceError.
    """
    source, paths = pairing.pairs(images, masks, "uint8", None)
    names = [os.path.relpath(path, images) for path in source.paths]
    if all("/" in name for name in names):
        labels, classes, names = labelling.of_folders(where, names)
    else:
        labels, classes = labelling.none(len(names))
    return _reader(where, names, source.paths, paths.paths, labels, classes)


def _reader(
    where: str,
    names: Sequence[str],
    paths: Sequence[str],
    masks: Sequence[str],
    labels: Longs,
    classes: tuple[str, ...],
) -> FilesReader:
    stamp = stamp_of(file_times(paths), file_times(masks))
    return FilesReader(
        where,
        unique_keys(names),
        file_sizes(paths),
        labels,
        classes,
        stamp,
        list(paths),
        list(masks),
    )
