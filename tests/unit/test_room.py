"""Memory that is asked for first: claims in turn, one giant alone, limits of the process and of its
control groups.
"""

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fastload import _native, errors
from fastload.system import machine, room
from tests.waiting import HANGS

MIB = 1 << 20


@pytest.fixture
def most(monkeypatch):
    """Sets what claims may add up to, for one test."""
    before = _native.claims_most()
    yield _native.claims_most
    _native.claims_most(before)


def begun(call: Callable[[], object]) -> "queue.SimpleQueue[object]":
    """In a thread; what it returns."""
    done: queue.SimpleQueue[object] = queue.SimpleQueue()
    threading.Thread(target=lambda: done.put(call()), daemon=True).start()
    return done


def test_claims_wait_until_there_is_room_and_are_granted_in_turn(most):
    most(100 * MIB)
    first, second = _native.Claim(60 * MIB), _native.Claim(40 * MIB)
    third = begun(lambda: _native.Claim(50 * MIB))
    fourth = begun(lambda: (time.sleep(0.1), _native.Claim(1 * MIB))[1])
    time.sleep(0.3)
    assert third.empty()
    assert fourth.empty()  # behind the third, though it would fit
    first.drop()
    held = third.get(timeout=HANGS)
    assert held.bytes == 50 * MIB
    assert fourth.get(timeout=HANGS).bytes == MIB
    second.drop()


def test_a_giant_is_alone(most):
    most(100 * MIB)
    small = _native.Claim(1 * MIB)
    giant = begun(lambda: _native.Claim(400 * MIB))
    time.sleep(0.2)
    assert giant.empty()
    small.drop()
    found = giant.get(timeout=HANGS)
    after = begun(lambda: _native.Claim(1 * MIB))
    time.sleep(0.2)
    assert after.empty()
    found.drop()
    assert after.get(timeout=HANGS).bytes == MIB


def test_a_claim_goes_back_with_its_object_and_twice_is_once(most):
    most(10 * MIB)
    for _ in range(3):
        claim = _native.Claim(10 * MIB)
        claim.drop()
        claim.drop()
        assert claim.bytes == 0
        del claim
        with room.claimed(10 * MIB):
            pass


LIMITED = """
import resource, threading
from fastload import _native
from fastload.system import room
MIB = 1 << 20
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 500 * MIB, used + 500 * MIB))
for nbytes in (100, 400):
    with room.claimed(nbytes * MIB):
        print("claimed", nbytes)
for nbytes in (450, 5000):  # the margin is left
    try:
        with room.claimed(nbytes * MIB):
            print("claimed", nbytes)
    except MemoryError as error:
        print(error)
room.check("a batch", 100 * MIB)
try:
    room.check("a batch", 450 * MIB)
except room.HostMemoryError as error:
    print(error)
"""


def test_limits_of_the_process_refuse_what_does_not_fit(program):
    done = program("-c", LIMITED)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "claimed 100", "claimed 400", "450 MiB are needed", "5,000 MiB are needed",
        f"loader: no memory is left for a batch (514 MiB cannot be had); {room.ADVICE}",
    ]  # fmt: skip


def test_a_control_group_limits_large_claims(tmp_path, most):
    most(MIB)
    for number, (files, left) in enumerate(
        [
            (
                {
                    "memory.max": "700000000",
                    "memory.current": "500000000",
                    "memory.stat": "anon 5\ninactive_file 100000000\n",
                },
                300000000,
            ),
            ({"memory.limit_in_bytes": "400000000", "memory.usage_in_bytes": "1000"}, 399999000),
            ({"memory.max": "1000", "memory.current": "5000", "memory.stat": ""}, 0),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        _native.memory_groups([str(folder)])
        try:
            assert _native.memory_available() == left
            _native.Claim(200 * MIB).drop()  # below what is looked at
            if left < 310 * MIB:
                with pytest.raises(MemoryError):
                    _native.Claim(310 * MIB)
            else:
                _native.Claim(310 * MIB).drop()
        finally:
            _native.memory_groups(machine.memory_groups())


@pytest.mark.parametrize("text", ["max", "9223372036854771712"])
def test_a_group_without_a_limit_limits_nothing(tmp_path: Path, text: str):
    before = _native.memory_available()
    for name in ("memory.max", "memory.current"):
        (tmp_path / name).write_text(text if name == "memory.max" else "5")
    _native.memory_groups([str(tmp_path)])
    assert _native.memory_available() > before // 2
    _native.memory_groups(machine.memory_groups())


def test_a_child_of_fork_has_no_claims_of_its_parent(program):
    code = """
import os
from fastload import _native
_native.claims_most(10 << 20)
held = _native.Claim(10 << 20)
child = os.fork()
if child == 0:
    mine = _native.Claim(9 << 20)
    held.drop()
    other = _native.Claim(1 << 20)
    os._exit(_native.claims_most() >> 20)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = program("-c", code)
    assert (done.stdout, done.stderr) == ("10\n", "")


def test_the_default_is_a_share_of_what_ranks_have():
    assert room.most(64 << 30, 1) == 8 << 30
    assert room.most(64 << 30, 4) == 2 << 30
    assert room.most(1 << 30, 1) == room.LEAST
    assert room.most(64 << 30, 0) == 8 << 30


def test_what_says_that_memory_is_missing_is_typed():
    for error in (
        MemoryError(),
        RuntimeError("can't start new thread"),
        RuntimeError("std::bad_alloc"),
    ):
        found = room.typed(error)
        assert type(found) is errors.HostMemoryError
        assert found.__cause__ is error
        with pytest.raises(errors.HostMemoryError, match="out of memory"), room.Told():
            raise error
    others = (
        RuntimeError("something else"),
        errors.SampleError("x", 1, "y"),
        ValueError("std::bad_alloc"),
    )
    for other in others:
        assert room.typed(other) is other
    assert str(room.typed(MemoryError("x\ny"))) == (
        "loader: out of memory (x); take fewer workers or smaller batches, or allow the process "
        "more memory"
    )
    assert str(room.typed(MemoryError())).startswith("loader: out of memory (MemoryError); ")
