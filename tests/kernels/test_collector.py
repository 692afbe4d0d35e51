"""Indexes noted while samples are decoded: the bytes that jpeg_index gives, the same pixels, and a
log that survives anything.
"""

import os
import resource
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import _native as native

from .helpers import encoded, jpeg, picture, scene
from .jpeg_writer import Writer

CROPS = [
    (0, 0, 1, 1),
    (0.3, 0.4, 0.5, 0.45),
    (0, 0, 0.1, 0.1),
    (0.9, 0.9, 0.1, 0.1),
]  # top, left, height, width; shares
MEMORY = 1 << 20


def files_of(tmp_path, payloads):
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{n}.jpg" for n in range(len(payloads))]
    for path, payload in zip(paths, payloads, strict=True):
        path.write_bytes(payload)
    return native.Files([str(path) for path in paths], False), f"{folder}/"


def decode(source, crop, collect=None, seek=None, status=native.OK):
    """Pixels [N, 24, 20, 3] of the crop, as shares of each image."""
    count, pool = len(source), native.Pool(2)
    job = pool.fetch(
        source,
        np.arange(count),
        np.zeros(count, int),
        np.full(count, -1),
        None,
        seek=seek,
        collect=collect,
    )
    job.wait_fetched()
    crops = np.zeros((count, 9), np.int32)
    crops[:, :4] = np.tile(job.sizes, 2) * np.array(crop)
    crops[:, 2:4] = np.maximum(crops[:, 2:4], 1)
    crops[:, 4:6] = 24, 20
    out = np.zeros((count, 24, 20, 3), np.uint8)
    job.run([picture(crops, "bilinear", None, out, 24, 20, True)])
    job.wait_done()
    assert set(job.status.tolist()) == {status}
    return out, pool.ways()


def into(collector, count, no_index=0):
    return collector, np.arange(count), np.full(count, no_index)


def blobs(collector, count):
    """What was collected of each row: bytes, b"" for none, None for nothing."""
    out, source = [None] * count, collector.open_logs([])
    for row, log, offset, size, _ in collector.entries().tolist():
        out[row] = source.read(log, offset, size) if size else b""
    return out


def pictures():
    shapes = ((61, 93), (200, 75), (48, 160), (33, 34), (8, 300))
    return [jpeg(scene(*shapes[n % 5], n), ("4:4:4", "4:2:0", "4:2:2")[n % 3]) for n in range(15)]


@pytest.mark.parametrize("crop", CROPS)
def test_the_index_on_the_way_is_the_index(tmp_path, crop):
    payloads = pictures()
    source, root = files_of(tmp_path, payloads)
    want, _ = decode(source, crop)
    collector = native.Collector(source, root, str(tmp_path / "cache"), MEMORY)
    found, ways = decode(source, crop, into(collector, 15))
    np.testing.assert_array_equal(found, want)
    assert ways == {"indexed": 0, "whole": 15, "library": 0, "refused": 0, "scaled": 0}
    assert blobs(collector, 15) == [native.jpeg_index(data, 8) for data in payloads]
    again, ways = decode(source, crop, into(collector, 15), index_files(collector, 15))
    np.testing.assert_array_equal(again, want)
    assert ways == {"indexed": 15, "whole": 0, "library": 0, "refused": 0, "scaled": 0}
    assert (collector.count, collector.problem) == (15, "")


def index_files(collector, count):
    file, offset, size = np.zeros((3, count), np.int64)
    row, log, start, length, _ = collector.entries().T
    file[row], offset[row], size[row] = log, start, length
    return collector.open_logs([]), file, offset, size


@settings(deadline=None, max_examples=40)
@given(
    height=st.integers(1, 80), width=st.integers(1, 200), seed=st.integers(0, 99), density=st.floats(0, 0.5),
    factors=st.sampled_from([[(1, 1)], [(1, 1)] * 3, [(2, 2), (1, 1), (1, 1)], [(2, 1), (1, 1), (1, 1)], [(1, 2), (1, 1), (1, 1)]]),
)  # fmt: skip
def test_any_geometry(tmp_path_factory, height, width, seed, density, factors):
    data = Writer(height, width, factors, seed, density=density).encode()
    source, root = files_of(tmp_path_factory.mktemp("any"), [data])
    crop = (0.2, 0.1, 0.5, 0.6)
    collector = native.Collector(source, root, "", MEMORY)
    found, ways = decode(source, crop, into(collector, 1))
    np.testing.assert_array_equal(found, decode(source, crop)[0])
    if ways["whole"]:
        assert blobs(collector, 1) == [native.jpeg_index(data, 8)]


def test_what_has_no_index_is_tried_once(tmp_path):
    picture = scene(40, 61)
    payloads = [
        encoded(picture, "JPEG", progressive=True),
        Writer(40, 61, [(1, 1)] * 3, restart=3).encode(),
        Writer(40, 61, [(1, 1)] * 3, restart=3, seed=2).encode(),
    ]
    source, root = files_of(tmp_path, payloads)
    collector = native.Collector(source, root, "", MEMORY)
    want = decode(source, CROPS[1])
    for _ in range(2):
        found = decode(source, CROPS[1], into(collector, 3))
        np.testing.assert_array_equal(found[0], want[0])
        assert (
            found[1]
            == want[1]
            == {"indexed": 0, "whole": 2, "library": 1, "refused": 0, "scaled": 0}
        )
        assert (blobs(collector, 3), collector.count) == ([b""] * 3, 3)
    assert collector.entries()[:, 4].tolist() == [len(data) for data in payloads]
    sizes = np.array([len(data) for data in payloads])
    fresh = native.Collector(source, root, "", MEMORY)
    decode(source, CROPS[1], (fresh, np.arange(3), sizes))  # known from another run
    assert fresh.count == 0
    decode(
        source, CROPS[1], (fresh, np.arange(3), sizes + np.array([0, 1, 0]))
    )  # of a file that was replaced since
    assert fresh.entries()[:, 0].tolist() == [1]


def test_damage_behind_the_region_changes_no_pixel(tmp_path):
    good = jpeg(scene(200, 75), "4:2:0")
    cut = good[: len(good) * 2 // 3] + b"\xff\xd9"
    flipped = bytearray(good)
    flipped[len(good) * 3 // 4 : len(good) * 3 // 4 + 40] = b"\xaa" * 40
    for data in (cut, bytes(flipped)):
        source, root = files_of(tmp_path, [data])
        collector = native.Collector(source, root, "", MEMORY)
        want, ways = decode(source, (0, 0.2, 0.3, 0.5))
        assert ways["whole"] == 1
        found, after = decode(source, (0, 0.2, 0.3, 0.5), into(collector, 1))
        np.testing.assert_array_equal(found, want)
        assert (after, blobs(collector, 1)) == (ways, [b""])


def test_damage_in_the_region_is_still_foreign(tmp_path):
    good = jpeg(scene(200, 75), "4:2:0")
    source, root = files_of(tmp_path, [good[: len(good) // 2] + b"\xff\xd9"])
    collector = native.Collector(source, root, "", MEMORY)
    _, ways = decode(source, CROPS[0], into(collector, 1), status=native.FOREIGN)
    assert (ways["library"], blobs(collector, 1)) == (1, [b""])


def test_a_refused_index_is_replaced(tmp_path):
    payloads = pictures()
    source, root = files_of(tmp_path, payloads)
    lies = [native.jpeg_index(data, 8) for data in payloads[::-1]]
    (tmp_path / "lies").write_bytes(b"".join(lies))
    sizes = np.array([len(lie) for lie in lies])
    lies[7] = b""  # the middle one is its own
    seek = (
        native.Files([str(tmp_path / "lies")], True),
        np.zeros(15, int),
        np.cumsum(sizes) - sizes,
        sizes,
    )
    collector = native.Collector(source, root, "", MEMORY)
    found, ways = decode(source, CROPS[1], into(collector, 15), seek)
    np.testing.assert_array_equal(found, decode(source, CROPS[1])[0])
    assert ways == {"indexed": 1, "whole": 14, "library": 0, "refused": 14, "scaled": 0}
    assert blobs(collector, 15) == [
        None if n == 7 else native.jpeg_index(data, 8) for n, data in enumerate(payloads)
    ]


def test_only_rows_that_are_asked_for(tmp_path):
    source, root = files_of(tmp_path, pictures())
    collector = native.Collector(source, root, "", MEMORY)
    rows = np.where(np.arange(15) % 2, np.arange(15), -1)
    decode(source, CROPS[1], (collector, rows, np.zeros(15, int)))
    assert collector.entries()[:, 0].tolist() == [1, 3, 5, 7, 9, 11, 13]


@pytest.fixture
def log(tmp_path):
    """A collector with records of three files, the second of which has no index; its log and what
    it holds.
    """
    payloads = [
        jpeg(scene(30, 41), "4:4:4"),
        encoded(scene(31, 41), "JPEG", progressive=True),
        jpeg(scene(32, 41), "4:2:0"),
    ]
    source, root = files_of(tmp_path, payloads)
    collector = native.Collector(source, root, str(tmp_path / "cache"), MEMORY)
    for row in range(3):
        rows = np.where(np.arange(3) == row, row, -1)
        decode(source, CROPS[0], (collector, rows, np.zeros(3, int)))
    (path,) = collector.logs()
    return collector, path, payloads


def test_layout_of_the_log(log):
    collector, path, payloads = log
    names = [f"{n}.jpg".encode() for n in range(3)]
    assert collector.names == native.xxh3(b"\0".join(names))
    want = b"FASTSEEK" + struct.pack("<IIQ", 1, 8, collector.names)
    rows = []
    for n, data in enumerate(payloads):
        index = b"" if n == 1 else native.jpeg_index(data, 8)
        record = struct.pack("<IIQQ", len(names[n]), len(index), n, len(data)) + names[n] + index
        start = len(want) + 32
        rows.append([n, len(data), start, 5, start + 5 if index else 0, len(index)])
        want += struct.pack("<Q", native.xxh3(record)) + record
    with open(path, "rb") as file:
        assert file.read() == want
    said, end, records = native.read_seek_log(path, 0)
    assert (said, end, records.tolist()) == (collector.names, len(want), rows)
    assert native.read_seek_log(path, rows[1][2] - 32)[2].tolist() == rows[1:]
    assert native.read_seek_log(path, end)[1:2] == (end,)


def test_any_prefix_and_any_flipped_byte(log, tmp_path):
    _, path, _ = log
    with open(path, "rb") as file:
        content = file.read()
    _, _, whole = native.read_seek_log(path, 0)
    ends = [24, *(whole[1:, 2] - 32).tolist(), len(content)]
    other = str(tmp_path / "other")

    def read(changed):
        with open(other, "wb") as file:
            file.write(changed)
        return native.read_seek_log(other, 0)

    for length in range(len(content)):
        names, end, records = read(content[:length])
        count = max(sum(length >= e for e in ends) - 1, 0)
        assert records.tolist() == whole[:count].tolist()
        assert (end == ends[count]) if length >= 24 else (names, end) == (0, 0)
    for at in range(24, len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        count = sum(at >= e for e in ends) - 1
        assert read(changed)[2].tolist() == whole[:count].tolist()
    rng = np.random.default_rng(2)
    for size in (0, 1, 23, 24, 55, 56, 4096):
        assert len(read(content[:24] + rng.bytes(size))[2]) == 0
        assert read(rng.bytes(size))[:2] == (0, 0)
    huge = content[:24] + struct.pack("<QIIQQ", 0, 0xFFFFFFFF, 0xFFFFFFFF, 2**63, 2**63)
    assert len(read(huge)[2]) == 0
    with pytest.raises(FileNotFoundError):
        native.read_seek_log(str(tmp_path / "nowhere"), 0)


def test_a_log_is_locked_while_its_writer_lives(log):
    import fcntl

    collector, path, _ = log
    with open(path, "rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        del collector, log
    assert os.path.basename(path).startswith(f"fastload.seek.{os.getpid()}-")


def test_sealed_and_forgotten(tmp_path):
    payloads = pictures()
    source, root = files_of(tmp_path, payloads)
    collector = native.Collector(source, root, str(tmp_path / "cache"), MEMORY)
    first = np.where(np.arange(15) < 7, np.arange(15), -1)
    decode(source, CROPS[1], (collector, first, np.zeros(15, int)))
    before = index_files(collector, 15)
    collector.seal()
    decode(source, CROPS[1], into(collector, 15))
    assert len(set(collector.logs())) == 2
    want = [native.jpeg_index(data, 8) for data in payloads]
    assert blobs(collector, 15) == want
    collector.forget(0)
    collector.forget(0)
    assert collector.logs()[0] == ""
    assert blobs(collector, 15) == [None] * 7 + want[7:]
    assert (
        decode(source, CROPS[1], None, before)[1]["indexed"] == 7
    )  # an epoch that began before goes on


def test_logs_in_memory_where_there_is_no_folder(tmp_path):
    source, root = files_of(tmp_path, pictures())
    (tmp_path / "file").write_bytes(b"")
    collector = native.Collector(source, root, f"{tmp_path}/file/cache", MEMORY)
    assert collector.problem == ""
    decode(source, CROPS[1], into(collector, 15))
    assert collector.problem == f"{tmp_path}/file/cache: cannot be written (Not a directory)"
    assert (collector.logs(), collector.count) == ([""], 15)
    assert blobs(collector, 15) == [native.jpeg_index(data, 8) for data in pictures()]


def test_memory_is_bounded(tmp_path):
    source, root = files_of(tmp_path, pictures())
    collector = native.Collector(source, root, "", 1000)
    want, _ = decode(source, CROPS[1])
    found, _ = decode(source, CROPS[1], into(collector, 15))
    np.testing.assert_array_equal(found, want)
    assert 1 <= collector.count < 15
    for row, log, offset, size, _ in collector.entries().tolist():
        assert offset + size <= 1000
        assert collector.open_logs([]).read(log, offset, size) == native.jpeg_index(
            pictures()[row], 8
        )


def test_a_log_that_cannot_grow(tmp_path):
    """Neither on the disk nor in memory: what was whole stays, nothing is torn, and pixels are as
    ever.
    """
    source, root = files_of(tmp_path, pictures())
    collector = native.Collector(source, root, str(tmp_path / "cache"), MEMORY)
    want, _ = decode(source, CROPS[1])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        found, _ = decode(source, CROPS[1], into(collector, 15))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    np.testing.assert_array_equal(found, want)
    assert collector.problem == f"{tmp_path}/cache: cannot be written (File too large)"
    _, end, records = native.read_seek_log(collector.logs()[0], 0)
    assert end == os.path.getsize(collector.logs()[0]) <= 1000
    assert len(records) >= 1
    assert sum(blob is not None for blob in blobs(collector, 15)) == collector.count < 15


def test_arguments_are_checked(tmp_path):
    source, root = files_of(tmp_path, pictures()[:3])
    collector = native.Collector(source, root, "", MEMORY)
    rows, zeros, pool = np.arange(3), np.zeros(3, int), native.Pool(0)

    def fetch(*collect):
        pool.fetch(source, rows, zeros, np.full(3, -1), None, collect=collect)

    with pytest.raises(
        ValueError, match=r"^Pool\.fetch: collect: row\[2\]: no such row \(got 3, want -1\.\.2\)$"
    ):
        fetch(collector, np.array([0, 1, 3]), zeros)
    with pytest.raises(ValueError, match=r"^Pool\.fetch: collect: length \(got 2, want 3\)$"):
        fetch(collector, rows)
    with pytest.raises(ValueError, match=r"^Pool\.fetch: collect: no_index"):
        fetch(collector, rows, zeros[:2])
    with pytest.raises(
        ValueError, match=r"^Collector: most_memory \(got -1, want 0 or more bytes\)$"
    ):
        native.Collector(source, root, "", -1)
