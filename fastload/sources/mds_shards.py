"""A shard of MosaicML Streaming's (MDS): where each sample's values lie in it."""

import os
from typing import NamedTuple

import numpy as np

from fastload.errors import SourceError
from fastload.sources.span_files import gathered
from fastload.spec import Longs

WORD = np.dtype("<u4")
REMEDY = "write the data set again"


class Shard(NamedTuple):
    """A shard as the index has it."""

    path: str
    samples: int
    columns: tuple[tuple[str, str, int], ...]  # name, encoding, bytes (0: they differ)


def layout(shard: Shard, file: int, size: int) -> list[tuple[Longs, Longs]]:
    """Offset and bytes of all values of each column: int64 [N] each; size: bytes of the file.

    Raises SourceError and OSError.
    """
    begins = begins_of(shard, file, size)
    differ = [number for number, (_, _, size) in enumerate(shard.columns) if not size]
    heads = gathered(shard.path, file, begins[:-1], WORD.itemsize * len(differ)).view(WORD)
    at, found = begins[:-1] + WORD.itemsize * len(differ), list[tuple[Longs, Longs]]()
    for number, (_, _, fixed) in enumerate(shard.columns):
        long = np.full_like(at, fixed) if fixed else heads[:, differ.index(number)].astype(np.int64)
        found.append((at, long))
        at = at + long
    if len(wrong := np.flatnonzero(at != begins[1:])):
        sample = int(wrong[0])
        raise SourceError(
            f"{shard.path}: sample {sample} ends at byte {int(at[sample])}, want "
            f"{int(begins[sample + 1])}; {REMEDY}"
        )
    return found


def begins_of(shard: Shard, file: int, size: int) -> Longs:
    """int64 [N + 1]: where samples begin, and the last one ends; each has room for its columns.

    Raises SourceError.
    """
    table = WORD.itemsize * (shard.samples + 2)
    wrong = f"has {size} bytes, want {table} and more" if size < table else ""
    if not wrong:
        words = np.frombuffer(os.pread(file, table, 0), WORD).astype(np.int64)
        least = sum(size or WORD.itemsize for _, _, size in shard.columns)
        if words[0] != shard.samples:
            wrong = f"has {words[0]} samples, want {shard.samples}"
        elif words[1] < table or words[-1] > size or (np.diff(words[1:]) < least).any():
            wrong = "has samples outside of it, or too small ones"
    if wrong:
        raise SourceError(f"{shard.path}: {wrong}; {REMEDY}")
    return words[1:]
