"""The log of collected indexes: its layout, its locks, and what is left of it after any damage."""

import os
import resource
import struct

import numpy as np
import pytest

from fastload import _native as native

from .collector_helpers import CROPS, MEMORY, blobs, decode, files_of, index_files, into, pictures
from .helpers import encoded, jpeg, scene


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
