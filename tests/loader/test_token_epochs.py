"""Epochs of patches under way: their pace, and interrupts."""

import time

import numpy as np
import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.engine.pace import Pace
from fastload.engine.tokens import TokenEngine


def make(folder, workers=0):
    data = fastload.open(folder, [T.Resize((40, 40)), T.ToImage()])
    sampler = fastload.TokenSampler(data, 80, lengths=(12, 20), patch=8, seed=5)
    return fastload.DataLoader(data, batch_sampler=sampler, seed=3, num_workers=workers)


@pytest.fixture(autouse=True)
def own_cache(cache):
    """No sizes of other tests."""


@pytest.mark.parametrize("workers", [0, 2])
def test_an_interrupt_takes_one_batch_and_moves_no_part_of_it_to_others(
    folder, monkeypatch, workers
):
    """It comes while the first part is handed over."""
    loader = make(folder)
    first = next(loader.batch_sampler.batches())
    loader = make(folder)
    assert len(np.unique(first.tokens.grids, axis=0)) > 1
    wanted, finish, calls = list(loader), TokenEngine.finish, []

    def interrupted(self, *given):
        calls.append(None)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return finish(self, *given)

    monkeypatch.setattr(TokenEngine, "finish", interrupted)
    batches = iter(make(folder, workers))
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    torch.testing.assert_close([*batches], wanted[1:], rtol=0, atol=0)


def test_the_pace_is_that_of_batches_not_of_their_parts(folder, monkeypatch):
    """All that may be under way are done: they have more parts."""
    gave, found = Pace.gave, []

    def noted(self, away, ready):
        found.append(ready)
        gave(self, away, ready)

    monkeypatch.setattr(Pace, "gave", noted)
    batches = iter(make(folder, 1))
    under_way, end = batches._batches, time.monotonic() + 30
    depth = len(under_way.inner.under_way)
    assert sum(batch.parts for batch in under_way.inner.under_way) > depth
    while under_way.ready < depth and time.monotonic() < end:
        time.sleep(0.01)
    next(batches)
    assert found == [depth]
