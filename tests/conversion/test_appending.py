"""A file that grows piece by piece: the bytes and checksum of one that was written at once,
whatever the pieces.
"""

import os
from contextlib import closing

import numpy as np
import pytest

from fastload import _native
from fastload.conversion import appending
from fastload.conversion.appending import Appender


def pieces(count, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.bytes(int(size)) for size in draw.integers(0, 300, count)]


@pytest.mark.parametrize("held", [1, 100, 5000, 1 << 20])
def test_the_file_and_its_checksum(tools, tmp_path, monkeypatch, held):
    monkeypatch.setattr(appending, "HELD", held)
    given, path = pieces(500), tmp_path / "file"
    with closing(Appender(tools.entry(path))) as file:
        for number in range(0, 500, 2):
            file.add(*given[number : number + 2])
            assert file.end == sum(map(len, given[: number + 2]))
        said = file.finish()
    whole = b"".join(given)
    assert path.read_bytes() == whole
    assert said == (len(whole), _native.xxh3(whole))


def test_never_more_pieces_than_linux_takes(tools, tmp_path):
    with closing(Appender(tools.entry(tmp_path / "file"))) as file:
        for _ in range(1500):
            file.add(b"a", b"b", b"c")
        file.finish()
    assert (tmp_path / "file").read_bytes() == b"abc" * 1500


def test_once_told_not_to_it_writes_nothing_more(tools, tmp_path, monkeypatch):
    monkeypatch.setattr(appending, "HELD", 10)
    said = [True, False, True]
    with closing(Appender(tools.entry(tmp_path / "file"), lambda: said.pop(0))) as file:
        file.add(b"0123456789")
        assert os.listdir(tmp_path) == ["file"]
        file.add(b"0123456789")
        assert os.listdir(tmp_path) == []
        file.add(b"0123456789")
        assert file.finish()[0] == 30
    assert os.listdir(tmp_path) == []
    assert said == [True]


def test_a_checksum_in_parts_is_that_of_the_whole():
    parts, sum_of = pieces(50), _native.Xxh3()
    for number, part in enumerate(parts):
        sum_of.update(part if number % 2 else memoryview(part))
        assert sum_of.digest() == _native.xxh3(b"".join(parts[: number + 1]))
