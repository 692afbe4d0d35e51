"""Which Parquet files are one data set."""

import os
import re

from fastload.errors import SourceError
from fastload.files import formats
from fastload.files.formats import PARQUET, SOURCES
from fastload.files.patterns import expanded

DIGITS = re.compile(r"[0-9]+")
OF = re.compile(r"-[0-9]{5}-of-([0-9]{5})(?:-[0-9a-f]+)?\.parquet$", re.IGNORECASE)
SPLIT = re.compile(r"(train|training|validation|valid|val|dev|test|testing|eval)(?![a-z])")


def files(where: str) -> list[str]:
    """The paths of the files, in their order. Raises SourceError."""
    if not os.path.isdir(where):
        return [where] if os.path.exists(where) else expanded(where)
    paths = list(formats.files_in(SOURCES[PARQUET], where))
    if not paths:
        raise SourceError(f"{where}: holds no Parquet files; give another folder")
    names = [os.path.basename(path) for path in paths]
    kinds = {_kind(name): name for name in reversed(names)}
    pattern = os.path.join(os.path.dirname(paths[0]), "train-*.parquet")
    if len(kinds) > 1:
        one, other = sorted(kinds.values())[:2]
        raise SourceError(
            f"{where}: holds {len(kinds)} sets of files (such as {one!r} and {other!r}), and they "
            f"may be splits; name those of one: {pattern}"
        )
    if (match := OF.search(names[0])) and int(match[1]) != len(names):
        raise SourceError(
            f"{where}: holds {len(names)} files of {int(match[1])} (such as {names[0]!r}); copy "
            f"the others, or name those that are there: {pattern}"
        )
    return paths


def _kind(name: str) -> str:
    """Of the files of one split, the same; files with other names are all of one kind."""
    if OF.search(name):
        return DIGITS.sub("", OF.sub("", name))
    split = SPLIT.match(name.lower())
    return split[1] if split else ""
