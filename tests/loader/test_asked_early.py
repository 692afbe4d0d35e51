"""Where the caller waits for a batch, the feeder is asked for the next one before."""

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.engine.epoch import Threaded

OPS = [T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.ToImage()]
STEPS, SIZE, DEPTH = 6, 2, 2


class Counting(torch.utils.data.Sampler):
    """How many samples it was asked for."""

    asked = 0

    def __iter__(self):
        for number in range(STEPS * SIZE):
            self.asked += 1
            yield number

    def __len__(self) -> int:
        return STEPS * SIZE


def loader(folder, sampler, kind=fastload.DataLoader, ops=OPS, **given):
    data = fastload.open(folder, ops)
    return kind(data, SIZE, sampler=sampler, num_workers=1, **given)


@pytest.fixture
def steps(monkeypatch):
    """What an epoch does, in order."""
    found, request, take = [], Threaded._request, Threaded.__next__

    def noted(self, spent=None):
        found.append("request")
        request(self, spent)

    def taken(self):
        found.append("next")
        finish = self.engine.finish

        def finished(*args):
            found.append("finish")
            return finish(*args)

        monkeypatch.setattr(self.engine, "finish", finished)
        try:
            return take(self)
        finally:
            monkeypatch.setattr(self.engine, "finish", finish)

    monkeypatch.setattr(Threaded, "_request", noted)
    monkeypatch.setattr(Threaded, "__next__", taken)
    return found


@pytest.mark.parametrize(
    ("ready", "order"),
    [(0, ["next", "request", "finish"]), (1, ["next", "finish", "request"])],
)
def test_the_next_batch_is_asked_for_before_a_wait(folder, monkeypatch, steps, ready, order):
    monkeypatch.setattr(Threaded, "ready", property(lambda _: ready))
    sampler = Counting()
    batches = iter(loader(folder, sampler, backend="native"))
    assert steps == ["request"] * DEPTH
    for step in range(1, STEPS + 1):
        steps.clear()
        next(batches)
        assert steps == order
        assert sampler.asked == min(STEPS, DEPTH + step) * SIZE  # as PyTorch's
    assert next(batches, None) is None


def test_pytorch_asks_for_as_many(folder):
    sampler = Counting()
    batches = iter(loader(folder, sampler, torch.utils.data.DataLoader))
    for step in range(1, STEPS + 1):
        next(batches)
        assert sampler.asked == min(STEPS, DEPTH + step) * SIZE


def test_a_wait_that_failed_has_asked_once(folder, monkeypatch, steps):
    monkeypatch.setattr(Threaded, "ready", property(lambda _: 0))
    wait = Threaded._wait

    def late(self):
        raise RuntimeError("late")

    want = list(loader(folder, Counting(), backend="native", seed=1))
    batches = iter(loader(folder, Counting(), backend="native", seed=1, timeout=60))
    monkeypatch.setattr(Threaded, "_wait", late)
    steps.clear()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="late"):
            next(batches)
    assert steps == ["next", "request", "next", "next"]
    monkeypatch.setattr(Threaded, "_wait", wait)
    for one, other in zip(want, batches, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
