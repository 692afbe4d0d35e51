"""Copies to a GPU from ordinary and from page-locked memory, timed at a program's stop. The GPU is
played: its copies move a clock.
"""

from types import SimpleNamespace

import pytest
import torch

from fastload.attach import copies, recorder
from fastload.attach.control import Control, Limits
from fastload.attach.recorder import Recorder
from fastload.profiler import logs

RATE = {False: 1e9, True: 4e9}  # bytes/s, from ordinary and from page-locked memory


@pytest.fixture
def clock(monkeypatch):
    """A GPU that the program uses; what is asked of it is done when it is waited for."""
    now, asked = [100.0], [0.0]

    def settle():
        now[0] += asked[0]
        asked[0] = 0.0

    def copy(host):
        asked[0] += host.nbytes / RATE[host.pinned]

    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(recorder, "_event", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", settle)
    monkeypatch.setattr(
        copies,
        "allocated",
        lambda nbytes, *, pinned=False, device="cpu": SimpleNamespace(
            nbytes=nbytes, pinned=pinned, copy_=copy, device=device
        ),
    )
    return now


def test_each_copy_is_timed_by_itself(clock):
    took = copies.measure(4_000_000)
    assert took["bytes"] == 4_000_000
    assert took["plain_s"] == pytest.approx([0.004] * copies.TURNS)
    assert took["pinned_s"] == pytest.approx([0.001] * copies.TURNS)


def test_a_gpu_without_room_for_a_batch_says_so(clock, monkeypatch):
    def full(nbytes, **_):
        raise torch.OutOfMemoryError("CUDA out of memory.\nMore lines")

    monkeypatch.setattr(copies, "allocated", full)
    assert copies.measure(5) == {"bytes": 5, "problem": "CUDA out of memory."}


def test_bytes_that_a_loop_has_to_copy():
    batch = {"images": torch.zeros(4, 3, 5, dtype=torch.uint8), "more": [torch.zeros(2), "x"]}
    assert copies.bytes_on_host(batch) == 60 + 8
    assert copies.bytes_on_host(["x", 3, None]) == 0


@pytest.mark.parametrize(("pinned", "found"), [(False, True), (True, False)])
def test_a_program_is_measured_where_its_batches_lie_in_ordinary_memory(
    tmp_path, clock, monkeypatch, pinned, found
):
    loader = torch.utils.data.DataLoader(torch.zeros(40, 10), 4, pin_memory=pinned)
    control = Control(Limits(steps=10), str(tmp_path))
    monkeypatch.setattr(control, "trial", lambda *_: {"tier": None})
    made = Recorder(str(tmp_path), control)
    batch = [torch.zeros(4, 10)]
    with pytest.raises(SystemExit):
        for _ in range(30):
            made.next(loader, lambda: batch)
            made.step()
    (process,) = logs.read(str(tmp_path))
    assert ("copies" in process.facts) == found
    if found:
        assert process.facts["copies"]["bytes"] == 160
