"""Torch's operators in threads of a loader."""

import threading

import pytest
import torch

from fastload.system import openmp
from fastload.system.threads import Threads


@pytest.fixture
def four():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def told(begin):
    """How many threads torch takes in a new thread that begins so, and in one after it."""
    found = []
    for enter in (begin, lambda: None):
        thread = threading.Thread(target=lambda enter=enter: (enter(), found.append(number())))
        thread.start()
        thread.join()
    return found


def number():
    return torch.get_num_threads()


@pytest.mark.skipif(not list(openmp._loaded()), reason="torch has no OpenMP that Linux tells of")
def test_only_that_thread_computes_alone(four):
    assert told(openmp.one_thread) == [1, 4]
    assert number() == 4


@pytest.mark.skipif(not list(openmp._loaded()), reason="torch has no OpenMP that Linux tells of")
def test_threads_begin_so(four):
    crew = Threads(2, "test", openmp.one_thread)
    each = [
        future.result() for future in crew.begin(lambda _: number(), [(n, "") for n in range(6)])
    ]
    crew.close()
    assert (each, number()) == ([1] * 6, 4)


def test_nothing_changes_where_libraries_are_not_told(four, monkeypatch, tmp_path):
    monkeypatch.setattr(openmp, "MAPS", str(tmp_path / "none"))
    assert told(openmp.one_thread) == [4, 4]


def test_data_that_is_mapped_is_not_loaded(monkeypatch, tmp_path):
    """A file of a data set may have any name."""
    maps = tmp_path / "maps"
    maps.write_text(f"7f00-7f01 r--p 0 00:00 1  {tmp_path}/libgomp.so\n")
    monkeypatch.setattr(openmp, "MAPS", str(maps))
    assert list(openmp._loaded()) == []


def test_what_is_no_library_is_passed_over(four, monkeypatch, tmp_path):
    maps = tmp_path / "maps"
    (tmp_path / "libgomp.so.1").write_bytes(b"no library")
    maps.write_text(
        f"7f00-7f01 r-xp 0 00:00 1  {tmp_path}/libgomp.so.1\n7f02-7f03 rw-p 0 00:00 0 \n"
    )
    monkeypatch.setattr(openmp, "MAPS", str(maps))
    assert told(openmp.one_thread) == [4, 4]
