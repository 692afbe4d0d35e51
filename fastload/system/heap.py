"""The heap of a worker process, which keeps what its images are made in.

glibc gives freed memory back to the kernel once as much as two large arrays is free at the heap's
end. A worker makes and frees several arrays for each image, so every image would have pages found
and cleared for it anew. That takes longer than many a step of a transform.
"""

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # mallopt(3)
KEPT = 64 << 20  # bytes that are free at the heap's end, at most
ARRAY = 32 << 20  # bytes: larger ones have mappings of their own, as glibc has it at most
# What a program says of it in its environment counts
VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")


def keep() -> bool:
    """In a worker process, for good; False where the heap stays as it is: other systems' and other
    libraries' heaps are left to themselves.
    """
    named = "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")
    if named or any(name in os.environ for name in VARIABLES):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, ARRAY) and mallopt(M_TRIM_THRESHOLD, KEPT))
