"""Names of samples: unique, and such that WebDataset reads them."""

import os
import re
from collections.abc import Iterable

from fastload.files.names import CONTROL, readable
from fastload.sources.tar_samples import SKIPPED

# Parts that would lead out of a folder, or that are empty
UNSAFE = re.compile(r"(^|/)\.{0,2}(?=/|$)")


def unique_keys(names: Iterable[str]) -> list[str]:
    """One key per file name (relative to the root): the second `a` becomes `a_2`, in the order of
    the names.
    """
    unique = Unique()
    return [unique(tidy_key(name)) for name in names]


class Unique:
    """Gives names, each once: the second `a` is `a_2`. However many are equal, each takes a few
    steps.
    """

    def __init__(self) -> None:
        self.given = dict[str, int]()  # names, and the last number that was behind each

    def __call__(self, wanted: str) -> str:
        """This name, or the first one behind it that nobody has."""
        name, number = wanted, self.given.get(wanted, 0)
        while name in self.given:
            number += 1
            name = f"{wanted}_{number}"
        self.given[name] = 1
        if name != wanted:
            self.given[wanted] = number
        return name


def tidy_key(name: str) -> str:
    """CLASS/NAME without extension, as WebDataset can read it: no dot in NAME, since it splits keys
    at the first one.
    """
    folder, base = os.path.split(readable(name))
    key = (
        f"{folder}/{os.path.splitext(base)[0].replace('.', '_')}"
        if folder
        else os.path.splitext(base)[0].replace(".", "_")
    )
    key = UNSAFE.sub(r"\1_", CONTROL.sub("_", key))
    return f"_{key.lstrip('_')}" if SKIPPED.match(key) else key
