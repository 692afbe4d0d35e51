"""The fuzz targets of files of boxes, on what they begin with and on changes of that."""

import numpy as np
import pytest

from fastload.detection.objects import Objects, target
from fuzz import boxes

CHANGES = 40
BYTES = b"\x00\xff\n,:[]{}\"'*&!-.0159eNa/ "


def changed(seed, rng):
    """A few bytes of it replaced, removed or doubled."""
    out = bytearray(seed)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, max(1, len(out))))
        what = bytes([BYTES[rng.integers(0, len(BYTES))]])
        out[at : at + int(rng.integers(0, 3))] = [what, b"", bytes(out[at : at + 8]) * 2][
            rng.integers(0, 3)
        ]
    return bytes(out)


@pytest.mark.parametrize("name", boxes.TARGETS)
def test_changed_files_keep_the_promise(tmp_path, name):
    seeds, run = boxes.TARGETS[name]
    rng = np.random.default_rng(1)
    for seed in seeds(tmp_path):
        run(tmp_path, seed)
        for _ in range(CHANGES):
            run(tmp_path, changed(seed, rng))


@pytest.mark.parametrize(
    "outline",
    [
        {"size": [4, 6], "counts": "zzzzPPPP0"}, {"size": [4, 6], "counts": [1, 10**9, 3]},
        {"size": [4, 6], "counts": [-1]}, {"size": [4, 6]}, [[0, 0]], [], None, "x", [["a"] * 6],
    ],
)  # fmt: skip
def test_outlines_that_are_none_raise(outline):
    pytest.importorskip("pycocotools", reason="masks need pycocotools")
    found = Objects(0, np.zeros((1, 4)), np.zeros(1, np.int64), "XYWH", outlines=(outline,))
    with pytest.raises(Exception, match=r"."):  # pycocotools raises what it likes
        target(found, (4, 6), ("masks",))
