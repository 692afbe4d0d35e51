"""Coded bytes without their stuffing, on every instruction set, against ITU-T T.81, F.1.2.3, byte
by byte.
"""

import numpy as np
import pytest

from .pixel_steps import TARGETS, steps

SPARE = 77  # behind what may be written


def reference(file, begin, stop, room):
    """What is written, the first byte not taken, and whether it is at a marker or at the end of the
    file.
    """
    at, out = begin, []
    while at < stop and len(out) < room:
        if file[at] == 0xFF and (at + 1 >= len(file) or file[at + 1] != 0):
            return out, at, True
        out.append(file[at])
        at += 2 if file[at] == 0xFF else 1
    return out, at, at >= len(file)


def check(file, begin, stop, room, target):
    out = np.full(room + SPARE, 99, np.uint8)
    taken, written, ended = steps.unstuff(file, begin, stop, out[:room], target)
    want = reference(file.tolist(), begin, stop, room)
    assert (out[:written].tolist(), taken, ended) == want
    assert (out[room:] == 99).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.9])
def test_stuffed_bytes_wherever_they_stand(target, share):
    rng = np.random.default_rng(int(share * 100))
    for size in [*range(1, 140), 500, 1000]:
        file = rng.integers(0, 255, size).astype(np.uint8)
        for at in np.flatnonzero(rng.random(size - 1) < share).tolist():
            file[at : at + 2] = 0xFF, 0
        begin, stop = sorted(rng.integers(0, size + 1, 2).tolist())
        check(file, 0, size, size, target)
        check(file, begin, stop, stop - begin, target)
        check(file, begin, stop, int(rng.integers(0, size + 1)), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("marker", [0xD9, 0xD0, 0xFF, 1])
def test_markers_end_it_wherever_they_stand(target, marker):
    file = np.arange(300).astype(np.uint8) % 255
    file[[10, 11, 100, 101]] = 0xFF, 0, 0xFF, 0
    for at in range(12, 299):
        found = file.copy()
        found[at : at + 2] = 0xFF, marker
        check(found, 0, 300, 300, target)
        check(found, 0, at + 1, at + 1, target)
        check(found[: at + 1], 0, at + 1, at + 1, target)  # the file is cut off behind its 0xFF
