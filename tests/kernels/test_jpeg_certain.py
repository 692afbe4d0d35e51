"""What the native engine takes for certain without asking Pillow: one whole structure of markers,
and nothing beside it.
"""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import encoded, fetch, files, jpeg, scene
from .jpeg_writer import segment

HEIGHT, WIDTH = 45, 61  # px
UNUSUAL, BETWEEN = "jpeg: an unusual segment in the header", "jpeg: bytes between its segments"
STRAY = "jpeg: a marker in its scan that does not belong there"
MISSING, ENDLESS = "jpeg: restart markers missing", "jpeg: ends without an end marker"
GOOD = jpeg(scene(HEIGHT, WIDTH))
RESTARTS = jpeg(scene(HEIGHT, WIDTH), restart_marker_blocks=2)
if b"\xff\xd1" not in RESTARTS:
    pytest.skip("needs Pillow 10.2 or newer, which writes restart markers", allow_module_level=True)
PROGRESSIVE = jpeg(scene(HEIGHT, WIDTH), progressive=True)
HEADER, SCAN = GOOD.index(b"\xff\xdb"), GOOD.index(b"\xff\xda")
MIDDLE = (SCAN + len(GOOD)) // 2


def put(data, at, new, instead=0):
    return data[:at] + new + data[at + instead :]


def scan_of(data):
    at = data.index(b"\xff\xda")
    return at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def why(folder, data):
    pool = native.Pool(0)
    job = fetch(pool, files(folder, [data]))
    job.wait_fetched()
    return job.message(0) if job.status[0] == native.FOREIGN else ""


def restart(data, number):
    """Where the restart marker stands that is the number-th one from 0."""
    at = scan_of(data)
    for turn in range(number + 1):
        at = data.index(bytes([0xFF, 0xD0 + turn % 8]), at) + (turn < number)
    return at


CERTAIN = {
    "baseline": GOOD,
    "restart markers": RESTARTS,
    "progressive": PROGRESSIVE,
    "grey": encoded(scene(HEIGHT, WIDTH)[..., 0], "JPEG"),
    "grey with restart markers": encoded(
        scene(HEIGHT, WIDTH)[..., 0], "JPEG", restart_marker_rows=1
    ),
    "an interval of the whole image": put(GOOD, SCAN, segment(0xDD, b"\xff\xff")),
    "an interval of 0": put(GOOD, SCAN, segment(0xDD, bytes(2))),
    "bytes behind its end": GOOD + b"\xff\xd8\xff\xd0",
    "fill bytes before its end": put(GOOD, len(GOOD) - 2, b"\xff\xff"),
    "fill bytes before a restart marker": put(RESTARTS, restart(RESTARTS, 1), b"\xff"),
    "bytes before its end": put(GOOD, len(GOOD) - 2, bytes(3)),
    "stuffed bytes": put(GOOD, MIDDLE, b"\xff\0" * 9),
    "a comment": put(GOOD, HEADER, segment(0xFE, b"\xff\xd9")),
    "segments that nobody reads": put(
        GOOD, HEADER, segment(0xEB, b"x") + segment(0xE1, b"y") + segment(0xE0, b"JFXX")
    ),
}
UNCERTAIN = {
    "no end": (GOOD[:-2], ENDLESS),
    "half an end": (GOOD[:-1], ENDLESS),
    "fill bytes for ever": (GOOD[:-2] + b"\xff" * 99, STRAY),
    "progressive, no end": (PROGRESSIVE[:-2], ENDLESS),
    "a start in the scan": (put(GOOD, MIDDLE, b"\xff\xd8"), STRAY),
    "a comment in the scan": (put(GOOD, MIDDLE, segment(0xFE, b"late")), STRAY),
    "a comment behind the scan": (put(GOOD, len(GOOD) - 2, segment(0xFE, b"late")), STRAY),
    "a height behind the scan": (put(GOOD, len(GOOD) - 2, segment(0xDC, b"\0\x2d")), STRAY),
    "a second scan": (put(GOOD, len(GOOD) - 2, GOOD[SCAN:-2]), STRAY),
    "a stuffed byte with fill bytes": (put(GOOD, MIDDLE, b"\xff\xff\0"), STRAY),
    "a restart marker without an interval": (put(GOOD, MIDDLE, b"\xff\xd0"), STRAY),
    "one restart marker too many": (put(RESTARTS, len(RESTARTS) - 2, b"\xff\xd3"), STRAY),
    "a restart marker twice": (put(RESTARTS, restart(RESTARTS, 2), b"\xff\xd2"), STRAY),
    "a restart marker lost": (put(RESTARTS, restart(RESTARTS, 0), b"", 2), STRAY),
    "restart markers that nobody wrote": (put(GOOD, SCAN, segment(0xDD, b"\0\1")), MISSING),
    "one byte behind the frame": (put(GOOD, SCAN, b"\0"), BETWEEN),
    "a marker alone": (put(GOOD, SCAN, b"\xff\xd0"), "jpeg: a segment longer than the file"),
    "a byte before the frame": (put(GOOD, HEADER, b"\0"), "jpeg: no frame header"),
    "an interval of three bytes": (put(GOOD, SCAN, segment(0xDD, bytes(3))), UNUSUAL),
    "a table of half its length": (put(GOOD, HEADER, segment(0xDB, bytes(33))), UNUSUAL),
    "a table of 3 bytes per value": (
        put(GOOD, HEADER, segment(0xDB, b"\x20" + bytes(192))),
        UNUSUAL,
    ),
    "a second frame": (put(GOOD, SCAN, GOOD[GOOD.index(b"\xff\xc0") :][:19]), UNUSUAL),
    "arithmetic conditions": (put(GOOD, HEADER, segment(0xCC, bytes(2))), UNUSUAL),
    "an extension": (put(GOOD, HEADER, segment(0xF0, bytes(2))), UNUSUAL),
    "a short JFIF": (put(GOOD, HEADER, segment(0xE0, b"JFIF\0")), UNUSUAL),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_certain(name, tmp_path):
    assert why(tmp_path, CERTAIN[name]) == ""
    assert native.probe(CERTAIN[name])[:3] == (native.OK, HEIGHT, WIDTH)


@pytest.mark.parametrize("name", UNCERTAIN)
def test_uncertain(name, tmp_path):
    data, reason = UNCERTAIN[name]
    assert why(tmp_path, data) == reason


def test_every_count_of_restart_markers_but_one(tmp_path):
    """37 intervals in turns of 8: the file is certain with 36 markers, and with no other number."""
    rng = np.random.default_rng(3)
    data = jpeg(scene(53, 88), "4:4:4", restart_marker_blocks=2)
    places = [
        at
        for at in range(scan_of(data), len(data) - 1)
        if data[at] == 0xFF and 0xD0 <= data[at + 1] <= 0xD7
    ]
    assert len(places) == -(-7 * 11 // 2) - 1
    assert why(tmp_path, data) == ""
    for count in (0, 1, 7, 8, 9, 16, len(places) - 1):
        assert why(tmp_path, data[: places[count]] + b"\xff\xd9") == MISSING, count
    for at in rng.choice(places, 9, replace=False).tolist():
        wrong = bytes([0xD0 + (data[at + 1] - 0xD0 + int(rng.integers(1, 8))) % 8])
        assert why(tmp_path, put(data, at + 1, wrong, 1)) == STRAY
