"""Where the leaves of the samples lie in a chunk of LitData.

A chunk has the number of samples (uint32), where each begins and the last one ends (uint32
[N + 1]), and the samples: the sizes (uint32) of the leaves, then the bytes of all. Or the samples
are empty, and a table of Arrow behind them has their values (litdata_table.py).
"""

import os

import numpy as np

from fastload.errors import SourceError
from fastload.sources import litdata_table
from fastload.sources.litdata_index import REMEDY, Chunk
from fastload.sources.span_files import gathered
from fastload.spec import Longs

WORD = np.dtype("<u4")


def layout(chunk: Chunk, leaves: int, file: int) -> tuple[Longs, Longs] | None:
    """Offset and size of each leaf of each sample: int64 [N, leaves]; None: a table has them.

    Raises SourceError and OSError.
    """
    path, heads, begins = chunk.path, WORD.itemsize * leaves, _begins(chunk, file)
    if begins[0] == begins[-1] and litdata_table.is_there(file):
        return None
    if (np.diff(begins) < heads).any():
        raise SourceError(f"{path}: has samples that are too small; {REMEDY}")
    sizes = gathered(path, file, begins[:-1], heads).view(WORD).astype(np.int64)
    ends = begins[:-1, None] + heads + np.cumsum(sizes, 1)
    if len(wrong := np.flatnonzero(ends[:, -1] != begins[1:])):
        sample = int(wrong[0])
        raise SourceError(
            f"{path}: sample {sample} ends at byte {int(ends[sample, -1])}, want "
            f"{int(begins[sample + 1])}; {REMEDY}"
        )
    return ends - sizes, sizes


def _begins(chunk: Chunk, file: int) -> Longs:
    """int64 [N + 1]: where samples begin, and the last one ends. Raises SourceError and OSError."""
    size, table = os.fstat(file).st_size, WORD.itemsize * (chunk.samples + 2)
    wrong = f"has {size} bytes, want {table} and more" if size < table else ""
    if not wrong:
        words = np.frombuffer(os.pread(file, table, 0), WORD).astype(np.int64)
        if words[0] != chunk.samples:
            wrong = f"has {words[0]} samples, want {chunk.samples}"
        elif words[1] < table or words[-1] > size or (np.diff(words[1:]) < 0).any():
            wrong = "has samples outside of it, or not in their order"
    if wrong:
        raise SourceError(f"{chunk.path}: {wrong}; {REMEDY}")
    return words[1:]
