"""JPEGs in other codings, and what their rewriting must give."""

import numpy as np
import pytest

from fastload import _native as native

tools = pytest.importorskip(
    "fastload._test_recode", reason="built with FASTLOAD_TEST_MODULES=ON only"
)

SIZE = 37, 53


def script(count, *, smooth=True):
    """A progressive script:

    DC, then the AC coefficients of each component in two bands and two steps; smooth=False: one
    step.
    """
    first = [(list(range(count)), 0, 0, 0, 1)] + [
        ([c], low, high, 0, 1) for c in range(count) for low, high in ((1, 5), (6, 63))
    ]
    last = [(list(range(count)), 0, 0, 1, 0)] + [([c], 1, 63, 1, 0) for c in range(count)]
    return first + (last if smooth else [])


def random_script(count, rng):
    """Any progressive script without gaps: bands, bits and order are drawn by a numpy generator."""
    parts, low = range(count), int(rng.integers(0, 3))
    together = count == 1 or rng.random() < 0.6
    begin = [(list(parts), 0, 0, 0, low)] if together else [([c], 0, 0, 0, low) for c in parts]
    chains = [[(list(parts), 0, 0, bit, bit - 1) for bit in range(low, 0, -1)]]
    for c in parts:
        cuts = sorted(rng.choice(np.arange(2, 64), int(rng.integers(0, 4)), False).tolist())
        for first, last in zip([1, *cuts], [*(cut - 1 for cut in cuts), 63], strict=True):
            bits = int(rng.integers(0, 4))
            chain = [([c], first, last, bit, bit - 1) for bit in range(bits, 0, -1)]
            chains.append([([c], first, last, 0, bits), *chain])
    out = begin
    while left := [chain for chain in chains if chain]:
        out.append(left[rng.integers(len(left))].pop(0))
    return out


def alone(count):
    return [([c], 0, 63, 0, 0) for c in range(count)]


def codings(count):
    """Name of the coding, and how to recode a baseline file of `count` components so."""
    yield "progressive", {"scans": script(count)}
    yield "progressive", {"scans": script(count), "restart": 3}
    yield "arithmetic", {"scans": [], "arithmetic": True}
    yield "arithmetic", {"scans": [], "arithmetic": True, "restart": 2}
    yield "arithmetic", {"scans": script(count), "arithmetic": True}
    yield "restart-marked", {"scans": [], "restart": 1}
    yield "restart-marked", {"scans": [], "restart": 5}
    if count > 1:
        yield "multi-scan", {"scans": alone(count)}
        yield "multi-scan", {"scans": alone(count), "restart": 4}
        yield "multi-scan", {"scans": [([0], 0, 63, 0, 0), ([1, 2], 0, 63, 0, 0)]}
        yield "arithmetic", {"scans": alone(count), "arithmetic": True}


def segments(data):
    """APPn and COM segments before the first scan, in their order."""
    at, out = 2, []
    while data[at + 1] != 0xDA:
        length = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] >= 0xE0:
            out.append(data[at : at + length])
        at += length
    return out


def rewritten(data, coding):
    """The result, after everything that can be asked of it without knowing the pixels."""
    assert native.jpeg_coding(data) == coding
    out, reason = native.jpeg_transcode(data)
    assert reason == ""
    assert segments(out) == segments(data)
    for before, after in zip(tools.coefficients(data), tools.coefficients(out), strict=True):
        np.testing.assert_array_equal(before, after)
    assert native.jpeg_coding(out) == "baseline"
    assert native.jpeg_transcode(out) == (None, "baseline already")
    return out
