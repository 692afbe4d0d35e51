"""What a worker process asks of its heap, and when it leaves it alone."""

import types

import pytest

from fastload.system import heap


@pytest.fixture
def asked(monkeypatch):
    """What glibc's mallopt is called with."""
    calls = []
    library = types.SimpleNamespace(mallopt=lambda *what: calls.append(what) or 1)
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda _: library)
    for name in (*heap.VARIABLES, "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    return calls


def test_freed_arrays_stay_in_the_heap(asked):
    assert heap.keep()
    assert asked == [(-3, 32 << 20), (-1, 64 << 20)]  # mallopt(3)'s numbers


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MALLOC_TRIM_THRESHOLD_", "1"),
        ("MALLOC_MMAP_THRESHOLD_", "1"),
        ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=1"),
    ],
)
def test_what_the_program_says_of_its_heap_counts(asked, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert not heap.keep()
    assert asked == []


def test_another_librarys_heap_is_left_alone(asked, monkeypatch):
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda _: types.SimpleNamespace())
    assert not heap.keep()
    assert asked == []
