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
    keys: list[str] = []
    taken: set[str] = set()
    for name in names:
        key = wanted = tidy_key(name)
        number = 1
        while key in taken:
            number += 1
            key = f"{wanted}_{number}"
        taken.add(key)
        keys.append(key)
    return keys


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
