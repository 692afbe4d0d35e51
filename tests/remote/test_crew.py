"""Which requests are sent a second time."""

from fastload.remote import crew
from fastload.remote.crew import Job, State
from fastload.remote.stores import Store
from fastload.remote.urls import parse


def test_a_slow_request_takes_four_times_its_latency_and_its_bytes(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(crew.time, "monotonic", lambda: now[0])
    state = State(Store(parse("https://server/a")), None, None)
    job = Job(0, 1, 1000, first_s=2.0)
    state.active.append(job)
    state.store.traffic.answered(2.0, 1000)
    now[0] = 3.0  # 2 s of latency, and 1 s for 1000 bytes
    state.ended(job, 1000)
    for size, limit in ((1000, 12.0), (2000, 16.0)):
        job = Job(1, 2, size, begun=now[0])
        now[0] += limit - 0.01
        assert not state.slow(job)
        now[0] += 0.02
        assert state.slow(job)
