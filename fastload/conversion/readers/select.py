"""Some samples of a reader, or other labels."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastload import rng
from fastload.conversion.readers import manifest
from fastload.conversion.readers.base import Extra, Listing, Reader, stamp_of
from fastload.errors import SourceError, UsageError
from fastload.files.names import shown
from fastload.sources import labels as labelling
from fastload.spec import Longs
from fastload.system import limits

DRAW = 1  # epoch of the keyed permutation that subsets are drawn by; --shuffle has 0


@dataclass(frozen=True, eq=False)
class Selected(Listing):
    """Rows of another reader."""

    whole: Reader
    rows: Longs

    @property
    def beside(self) -> Longs:
        return self.whole.beside[self.rows]

    @property
    def in_order(self) -> bool:
        return self.whole.in_order

    def name(self, sample: int) -> str:
        return self.whole.name(int(self.rows[sample]))

    def read(self, sample: int) -> bytes:
        return self.whole.read(int(self.rows[sample]))

    def extras(self, sample: int) -> tuple[Extra, ...]:
        return self.whole.extras(int(self.rows[sample]))


def notes(reader: Reader) -> tuple[str, ...]:
    """What a user should know of what a reader does not give."""
    while isinstance(reader, Selected):
        reader = reader.whole
    found: tuple[str, ...] = getattr(reader, "notes", ())
    return found


def rows(reader: Reader, chosen: Longs) -> Selected:
    """The samples `chosen`, in that order."""
    keys = [reader.keys[row] for row in chosen.tolist()]
    stamp = stamp_of([reader.stamp], chosen)
    return Selected(
        reader.where,
        keys,
        reader.sizes[chosen],
        reader.labels[chosen],
        reader.classes,
        stamp,
        reader,
        chosen,
    )


def labelled(reader: Reader, labels: Longs, classes: tuple[str, ...]) -> Selected:
    """All samples with other labels."""
    everything = np.arange(len(reader), dtype=np.int64)
    return Selected(
        reader.where, reader.keys, reader.sizes, labels, classes, reader.stamp, reader, everything
    )


def unlabelled(reader: Reader) -> Reader:
    """All samples without their labels."""
    if reader.classes == (labelling.NO_CLASS,):
        return reader
    return labelled(reader, *labelling.none(len(reader)))


def subset(reader: Reader, text: str, seed: int) -> Selected:
    """A number of samples ("1000") or a share of them ("10%", "0.1"), drawn by `seed`, in the
    source's order. Raises UsageError.
    """
    count = count_of(text, len(reader))
    drawn = rng.permute(np.arange(len(reader), dtype=np.int64), len(reader), seed, DRAW)[:count]
    return rows(reader, np.sort(drawn))


def count_of(text: str, total: int) -> int:
    """What "1000", "10%" or "0.1" means of `total` samples: at least 1. Raises UsageError."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    share = text.endswith("%") or "." in text
    if not (0 < value <= 1 if share else value >= 1 and value.is_integer()):
        raise UsageError(
            f"subset: {text!r} is no number of samples; write it like 1000, 10% or 0.1"
        )
    if not share and value > total:
        raise UsageError(
            f"subset: {int(value)} samples are asked for (got {total}); ask for fewer, or leave "
            "--subset out"
        )
    return max(1, round(value * total)) if share else int(value)


def relabelled(reader: Reader, path: str) -> Selected:
    """Names of the classes from a text file, one per line; or each sample's label from a CSV or
    JSONL file with key and label.

    Raises SourceError.
    """
    if not manifest.looks_like_one(path):
        names = _lines(path)
        if len(names) < len(reader.classes):
            raise SourceError(
                f"{path}: names {len(names)} classes, want at least {len(reader.classes)}; add the "
                "others"
            )
        return labelled(reader, reader.labels, tuple(names))
    known: dict[str, str] = {}
    for row in manifest.read_rows(path):
        key = row.get("key")
        text = next(
            (row[name] for name in manifest.LABELS if row.get(name) not in (None, "")), None
        )
        if type(key) is not str or type(text) not in (str, int):
            raise SourceError(
                f"{path}: a row has no key or no label (has {', '.join(map(str, row))}); write both"
            )
        if known.setdefault(key, str(text)) != str(text):
            raise SourceError(
                f"{path}: key {shown(key)} has two labels (got {shown(known[key])} and "
                f"{shown(str(text))}); remove one of its rows"
            )
    lacking = [key for key in reader.keys if key not in known]
    if lacking:
        raise SourceError(
            f"{path}: no label for {len(lacking)} of {len(reader)} samples (first: {lacking[0]}); "
            "add them"
        )
    return labelled(reader, *labelling.numbered(path, [known[key] for key in reader.keys]))


def _lines(path: str) -> Sequence[str]:
    try:
        with open(path, "rb") as file:
            names = limits.small(file, limits.NAMES).decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path}: cannot be read ({error}); give a text file with a class per line"
        ) from error
    if len(set(names)) < len(names) or not all(names):
        raise SourceError(
            f"{path}: a class is there twice or has no name ({os.path.basename(path)} has "
            f"{len(names)} lines); correct it"
        )
    return names
