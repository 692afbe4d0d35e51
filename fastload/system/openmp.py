"""Torch's operators in threads of a loader. Each thread would share every operator out to as many
OpenMP threads as there are cores, while the loader's other threads have these cores already.
"""

import ctypes
import os
import re
from collections.abc import Iterator

MAPS = "/proc/self/maps"
LIBRARY = re.compile(r"lib(?:gomp|iomp5|omp)[-.]")  # of GCC, Intel and LLVM


def one_thread() -> None:
    """From now on torch computes in the calling thread alone, as in PyTorch's worker processes.

    Other threads keep what they have: `torch.set_num_threads` would be for all of them. Nothing
    changes where the system does not tell which libraries are loaded.
    """
    import torch

    torch.get_num_threads()  # gives this thread its number, which would come later otherwise
    for path in _loaded():
        try:
            ctypes.CDLL(path).omp_set_num_threads(1)
        except (OSError, AttributeError):
            continue  # a library of that name that is none, or whose file is gone


def _loaded() -> Iterator[str]:
    """Files of the OpenMP libraries in this process."""
    try:
        with open(MAPS, encoding="utf-8", errors="surrogateescape") as maps:
            # Data that is mapped is never code, whatever its name
            code = (line for line in maps if "x" in line.partition(" ")[2][:4])
            paths = {line.rstrip("\n").partition("/")[2] for line in code}
    except OSError:
        return
    yield from (f"/{path}" for path in sorted(paths) if LIBRARY.match(os.path.basename(path)))
