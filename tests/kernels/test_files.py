"""Files: reads and their errors."""

import errno
import os
import threading
from pathlib import Path

import pytest

from fastload import _native as native

from .helpers import files


@pytest.mark.parametrize("keep_open", [False, True])
def test_reads_ranges(tmp_path, keep_open):
    source = files(tmp_path, [b"abcdef", b""], keep_open=keep_open)
    assert len(source) == 2
    assert source.path(1) == str(tmp_path / "1.bin")
    assert source.read(0, 0, -1) == b"abcdef"
    assert source.read(0, 2, 3) == b"cde"
    assert source.read(0, 4, -1) == b"ef"
    assert source.read(0, 9, -1) == b""
    assert source.read(1, 0, -1) == b""
    assert source.read(0, 6, 0) == b""


@pytest.mark.parametrize("keep_open", [False, True])
def test_errors_name_the_file(tmp_path, keep_open):
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError) as gone:
        native.Files([str(missing)], keep_open).read(0, 0, -1)
    assert str(gone.value) == f"[Errno 2] No such file or directory: '{missing}'"
    assert gone.value.filename == str(missing)
    with pytest.raises(IsADirectoryError) as folder:
        native.Files([str(tmp_path)], keep_open).read(0, 0, -1)
    assert folder.value.errno == errno.EISDIR
    with pytest.raises(OSError) as short:
        files(tmp_path, [b"abcdef"], keep_open=keep_open).read(0, 4, 10)
    assert str(short.value) == f"{tmp_path / '0.bin'}: ends at byte 6 (want bytes 4..14)"


def test_bad_arguments_are_refused(tmp_path):
    source = files(tmp_path, [b"abc"])
    with pytest.raises(IndexError) as index:
        source.read(1, 0, -1)
    assert str(index.value) == "Files.read: no such file (got 1, want 0..0)"
    with pytest.raises(ValueError) as offset:
        source.read(0, -1, -1)
    assert str(offset.value) == "Files.read: offset (got -1, want 0 or more)"
    with pytest.raises(ValueError) as size:
        source.read(0, 0, -2)
    assert str(size.value) == "Files.read: size (got -2, want -1 or more)"


def test_descriptors_are_kept_or_not_and_closed_at_the_end(tmp_path):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    kept = files(tmp_path, [b"abc"] * 3, keep_open=True)
    for _ in range(5):
        kept.read(1, 0, -1)
    assert descriptors() == before + 1
    kept.read(2, 0, -1)
    assert descriptors() == before + 2
    del kept
    assert descriptors() == before
    source = files(tmp_path, [b"abc"] * 3)
    source.read(0, 0, -1)
    assert descriptors() == before


def test_threads_share_kept_descriptors(tmp_path):
    source, wrong = files(tmp_path, [bytes(range(256)) * 40], keep_open=True), []

    def work(start):
        def expected(offset):
            return bytes((offset + i) % 256 for i in range(7))

        wrong.extend(
            at for at in range(start, start + 300) if source.read(0, at, 7) != expected(at)
        )

    threads = [threading.Thread(target=work, args=(n * 17,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_path_with_odd_bytes(tmp_path):
    path = tmp_path / "bild ü 图.bin"
    path.write_bytes(b"x")
    assert native.Files([str(path)], False).read(0, 0, -1) == b"x"


def test_names_that_are_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/gr\xfcn \xff.bin"
    with open(path, "wb") as file:
        file.write(b"abc")
    for given in (path, os.fsdecode(path), Path(os.fsdecode(path))):
        source = native.Files([given], False)
        assert source.read(0, 0, -1) == b"abc"
        assert source.path(0) == os.fsdecode(path)
    with pytest.raises(OSError) as short:
        source.read(0, 1, 5)
    assert str(short.value) == f"{tmp_path}/gr\\xfcn \\xff.bin: ends at byte 3 (want bytes 1..6)"
    os.unlink(path)
    with pytest.raises(FileNotFoundError) as gone:
        source.read(0, 0, -1)
    assert gone.value.filename == os.fsdecode(path)


@pytest.mark.parametrize("name", ["a\0b", b"a\0b", 3, None])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(TypeError, match=r"^__init__\(\): incompatible function arguments"):
        native.Files([name], False)


def test_a_named_pipe_is_no_file_and_is_not_waited_for(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError) as pipe:
        native.Files([str(path)], False).read(0, 0, -1)
    assert str(pipe.value) == f"{path}: is a named pipe (want a file)"


def test_hashes_of_files_are_those_of_their_bytes(tmp_path):
    data = bytes(range(256)) * 9000  # more than is read at once
    source = files(tmp_path, [data, b""])
    assert source.xxh3(0, len(data)) == native.xxh3(data)
    assert source.xxh3(0, 1 << 20) == native.xxh3(data[: 1 << 20])
    assert source.xxh3(0, 1000) == native.xxh3(data[:1000])
    assert source.xxh3(1, 0) == native.xxh3(b"")
    with pytest.raises(OSError) as short:
        source.xxh3(0, len(data) + 5)
    assert str(short.value).endswith(
        f"ends at byte {len(data)} (want bytes {len(data) // (1 << 20) << 20}..{len(data) + 5})"
    )
    with pytest.raises(ValueError) as size:
        source.xxh3(0, -1)
    assert str(size.value) == "Files.xxh3: size (got -1, want 0 or more)"
