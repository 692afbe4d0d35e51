"""Arrow's arrays, made of their buffers: `pyarrow.array` imports pandas where it is installed, and
an epoch that begins would wait a third of a second for that.
"""

from collections.abc import Sequence
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np

from fastload.sources.arrow import BATCH
from fastload.spec import Longs


def integers(pa: ModuleType, values: Longs) -> Any:
    """An int64 array [N] without nulls, over the values' own memory where they are contiguous."""
    whole = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def binaries(pa: ModuleType, values: Sequence[bytes]) -> Any:
    """A chunked array of byte strings, of arrow.BATCH each: an array holds 2 GiB at most."""
    chunks = [_binary(pa, values[at : at + BATCH]) for at in range(0, len(values), BATCH)]
    return pa.chunked_array(chunks, pa.binary())


def _binary(pa: ModuleType, values: Sequence[bytes]) -> Any:
    """Of less than 2 GiB, as the paths of one batch always are."""
    ends = np.array([0, *accumulate(map(len, values))], np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)
