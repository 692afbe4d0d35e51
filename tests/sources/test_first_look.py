"""The first look at many files: it is told of on a terminal, and what was read is kept though it is
interrupted.
"""

import errno
import os
import pickle
import sys

import numpy as np
import pytest

from fastload.errors import SourceError
from fastload.sources import first_look, span_index
from fastload.sources.span_index import Keeping, Part
from fastload.system.terminal import CLEAR
from tests.remote.test_waiting import Terminal

COUNT = 9


@pytest.fixture
def files(tmp_path):
    paths = {}
    for number in range(COUNT):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(bytes(100 + number))
        paths[str(path)] = ""
    return paths


@pytest.fixture
def index():
    return span_index.path_of("toys", "data")


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(first_look.time, "monotonic", lambda: now[0])
    return now


class Reader:
    """Reads one image per file, and notes which ones."""

    def __init__(self, clock=None, seconds=0.0, stop=""):
        self.clock, self.seconds, self.stop = clock, seconds, stop
        self.seen = []

    def __call__(self, path, file, size):
        if os.path.basename(path) == self.stop:
            raise KeyboardInterrupt
        self.seen.append(os.path.basename(path))
        if self.clock:
            self.clock[0] += self.seconds
        one = np.array([size - 10])
        return Part(one, np.array([10]), one * 0, said=file.read().hex()[:4])


def looked(files, index, read, threads=1):
    return first_look.parts("the data", index, files, read, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_files_are_read_once(files, index, threads):
    read = Reader()
    found = looked(files, index, read, threads)
    assert span_index.recall(index).paths == list(files)
    assert found.column("offset")[:].tolist() == list(range(90, 90 + COUNT))
    assert sorted(read.seen) == [f"{number}.bin" for number in range(COUNT)]
    again = Reader()
    kept = looked(files, index, again, threads)
    assert again.seen == []
    assert kept.said == ["0000"] * COUNT
    other = Reader()
    looked(dict.fromkeys(files, "otherwise"), index, other, threads)
    assert len(other.seen) == COUNT


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_look_goes_on_where_it_was(files, index, threads):
    with pytest.raises(KeyboardInterrupt):
        looked(files, index, Reader(stop="5.bin"), threads)
    assert len(span_index.recall(index)) == 5
    rest = Reader()
    assert len(looked(files, index, rest)) == COUNT
    assert span_index.recall(index).paths == list(files)
    assert rest.seen == [f"{number}.bin" for number in range(5, COUNT)]


@pytest.fixture
def kept(monkeypatch):
    """How many files were kept each time; what it answers, and how long it takes."""
    written, keep = [], Keeping.keep

    def noted(keeping):
        written.append(len(keeping.files))
        return noted.slow() or keep(keeping)

    noted.slow, noted.written = lambda: None, written
    monkeypatch.setattr(Keeping, "keep", noted)
    return noted


def test_what_is_read_is_kept_from_time_to_time(files, index, clock, kept):
    """So that a look that is killed is not lost."""
    looked(files, index, Reader(clock, 4.0))
    assert kept.written == [3, 6, 9]
    kept.written.clear()
    looked(files, index, Reader(clock, 4.0))
    assert kept.written == []


def test_what_was_known_is_not_lost_on_the_way(files, index, clock, kept):
    """Nor where the look is killed behind the first files, which are new."""
    looked(dict.fromkeys([*files][3:], ""), index, Reader())
    sizes = []
    kept.slow = lambda: sizes.append(len(span_index.recall(index)))
    read = Reader(clock, 20.0)
    assert len(looked(files, index, read)) == COUNT
    assert span_index.recall(index).paths == list(files)
    assert read.seen == ["0.bin", "1.bin", "2.bin"]
    assert kept.written[1:] == [7, 8, 9]
    assert sizes == [6, 7, 8]


def test_keeping_takes_a_small_share_of_the_time(files, index, clock, kept):
    def slow():
        clock[0] += 1.5

    kept.slow = slow
    looked(files, index, Reader(clock, 10.0))
    assert kept.written == [1, 4, 7, 9]


def test_where_nothing_can_be_kept_that_is_tried_once(files, index, clock, kept, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert len(looked(files, index, Reader(clock, 20.0))) == COUNT
    assert kept.written == [1, COUNT]  # on the way, and at the end


def test_a_cache_that_is_full_on_the_way_is_left(files, index, clock, kept, monkeypatch):
    """What was kept stays; the rest goes on in memory."""
    pwrite = os.pwrite

    def full(file, content, at):
        if "memfd" not in os.readlink(f"/proc/self/fd/{file}") and len(kept.written) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(file, content, at)

    monkeypatch.setattr(os, "pwrite", full)
    found = looked(files, index, Reader(clock, 6.0))
    assert found.column("offset")[:].tolist() == list(range(90, 90 + COUNT))
    assert not found.kept
    assert pickle.loads(pickle.dumps(found)).column("size")[:].tolist() == [10] * COUNT
    monkeypatch.undo()
    assert len(span_index.recall(index)) == 2


def test_the_line_on_a_terminal(files, index, clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    looked(files, index, Reader(clock, 0.75))
    said = [
        f"{CLEAR}fastload: first look at the data: {done} of 9 files, {left} s left"
        for done, left in ((3, 4), (4, 4), (5, 3), (6, 2), (7, 2), (8, 1), (9, 0))
    ]
    assert screen.getvalue() == "".join(said) + CLEAR
    screen.seek(0), screen.truncate()
    looked(files, index, Reader(clock, 0.75))
    assert screen.getvalue() == ""


def test_nothing_is_said_where_it_is_quick_or_no_terminal(files, index, clock, monkeypatch, capsys):
    looked(files, index, Reader(clock, 5.0))
    assert capsys.readouterr().err == ""
    os.remove(index)
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    looked(files, index, Reader(clock, 0.2))
    assert screen.getvalue() == ""


def test_every_problem_is_told_at_once(files, index):
    paths = list(files)
    os.remove(paths[4])

    def read(path, file, size):
        if path == paths[1]:
            raise SourceError(f"{path}: is no toy; give another")
        return Reader()(path, file, size)

    with pytest.raises(SourceError) as error:
        looked(files, index, read)
    assert str(error.value).splitlines() == [
        f"{paths[1]}: is no toy; give another",
        f"{paths[4]}: cannot be read (No such file or directory); restore it, or make it readable",
    ]
    assert len(span_index.recall(index)) == COUNT - 2
