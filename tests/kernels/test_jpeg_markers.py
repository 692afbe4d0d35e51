"""The next marker behind coded bytes, on every instruction set, against ITU-T T.81, B.1.1.2 and
F.1.2.3, byte by byte.
"""

import numpy as np
import pytest

from .pixel_steps import TARGETS, steps


def reference(file, begin):
    return next(
        (at for at in range(begin, len(file) - 1) if file[at] == 0xFF and file[at + 1] != 0),
        len(file),
    )


def check(file, target):
    for begin in {0, 1, len(file) // 2, len(file)} & set(range(len(file) + 1)):
        assert steps.next_marker(file, begin, target) == reference(file.tolist(), begin)


@pytest.mark.parametrize("target", TARGETS)
def test_a_marker_wherever_it_stands_in_a_file_of_any_length(target):
    rng = np.random.default_rng(5)
    for size in [*range(40), 63, 64, 65, 127, 129, 255, 256, 257, 258, 300, 520]:
        file = rng.integers(0, 255, size).astype(np.uint8)
        check(file, target)
        for at in range(size):
            found = file.copy()
            found[at] = 0xFF
            found[at + 1 : at + 2] = rng.choice([1, 0xD0, 0xD9, 0xFF])
            assert (
                steps.next_marker(found, 0, target)
                == reference(found.tolist(), 0)
                == (at if at + 1 < size else size)
            )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_stuffed_bytes_are_none(target, share):
    rng = np.random.default_rng(int(share * 100))
    for size in [2, 31, 64, 130, 257, 1000, 5000]:
        file = rng.integers(0, 255, size).astype(np.uint8)
        for at in np.flatnonzero(rng.random(size - 1) < share).tolist():
            file[at : at + 2] = 0xFF, 0
        check(file, target)
        file[-1] = 0xFF  # cut off behind it
        check(file, target)
        file[rng.integers(0, size, 3)] = 0xFF
        check(file, target)
