"""Labels as people write them: numbers, or names of classes."""

import json
import re
from collections.abc import Sequence

import numpy as np

from fastload.errors import SourceError
from fastload.spec import Longs

NUMBER = re.compile(r"[0-9]{1,18}")
MOST_CLASSES = 1 << 20  # numbers above are no class numbers
NO_CLASS = "unlabelled"  # the class of everything with --labels none


def numbered(
    where: str, texts: Sequence[str], names: Sequence[str] | None = None
) -> tuple[Longs, tuple[str, ...]]:
    """int64 [N] and the classes' names. Texts that are all numbers are class numbers; else sorted
    names are numbered.

    names: what class numbers are called, if the source says. Raises SourceError.
    """
    if not all(NUMBER.fullmatch(text) for text in texts):
        return named(where, texts, names)
    labels = np.array([int(text) for text in texts], np.int64)
    most = int(labels.max(initial=0))
    if most >= MOST_CLASSES:
        raise SourceError(
            f"{where}: label {most} is no class number (want 0 to {MOST_CLASSES - 1}); correct the "
            "labels"
        )
    if names is None:
        return labels, tuple(map(str, range(most + 1)))
    if most >= len(names):
        raise SourceError(
            f"{where}: label {most} is above the {len(names)} classes that have names; correct the "
            "labels or the names"
        )
    return labels, tuple(names)


def named(
    where: str, texts: Sequence[str], names: Sequence[str] | None = None
) -> tuple[Longs, tuple[str, ...]]:
    """The same of texts that are the names of classes, whatever they look like."""
    classes = sorted(set(texts)) if names is None else list(names)
    number_of = {name: number for number, name in enumerate(classes)}
    if lacking := sorted(set(texts) - set(number_of)):
        raise SourceError(
            f"{where}: label {lacking[0]!r} is none of the {len(classes)} classes; correct it "
            "or the list of classes"
        )
    return np.array([number_of[text] for text in texts], np.int64), tuple(classes)


def nameless(low: int, high: int) -> tuple[str, ...]:
    """Classes without names: their numbers as text; none where the labels, `low` to `high`, are no
    class numbers.
    """
    return tuple(map(str, range(high + 1))) if low >= 0 and high < MOST_CLASSES else ()


def of_json(text: bytes) -> str | None:
    """The label in a sample's JSON: a number or text under "label", "cls" or "class"."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    values = (
        next((said[name] for name in ("label", "cls", "class") if name in said), None)
        if type(said) is dict
        else None
    )
    return str(values) if type(values) in (int, str) else None


def none(count: int) -> tuple[Longs, tuple[str, ...]]:
    """Labels of samples that have none."""
    return np.zeros(count, np.int64), (NO_CLASS,)


def of_folders(where: str, names: Sequence[str]) -> tuple[Longs, tuple[str, ...], list[str]]:
    """Labels, classes, and names below the common folder, of files of an archive: each class is a
    folder. Raises SourceError.
    """
    parts = [name.split("/") for name in names]
    while all(len(part) > 2 for part in parts) and len({part[0] for part in parts}) == 1:
        parts = [part[1:] for part in parts]
    if lacking := [name for name, part in zip(names, parts, strict=True) if len(part) < 2]:
        raise SourceError(
            f"{where}: {len(lacking)} of {len(names)} images have no label (such as {lacking[0]}, "
            "want CLASS/IMAGE, "
            "or KEY.cls beside each); add them, or pass --labels none"
        )
    classes = sorted({part[0] for part in parts})
    number_of = {name: number for number, name in enumerate(classes)}
    return (
        np.array([number_of[part[0]] for part in parts], np.int64),
        tuple(classes),
        ["/".join(part) for part in parts],
    )
