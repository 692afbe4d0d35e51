"""Batch memory: which of it is used again."""

import weakref

import numpy as np
import pytest
import torch

from fastload.engine import slots
from fastload.engine.slots import Ring

BYTES = np.dtype(np.uint8)


@pytest.fixture
def made(monkeypatch):
    """Weak references to all memory that rings take; ordinary memory, since no GPU is needed."""
    out = []

    def allocated(nbytes, *, pinned):
        memory = torch.empty(nbytes, dtype=torch.uint8)
        out.append(weakref.ref(memory))
        return memory

    monkeypatch.setattr(slots, "allocated", allocated)
    return out


@pytest.mark.parametrize(("pinned", "lent"), [(False, True), (False, False), (True, False)])
def test_a_slot_is_used_again(made, pinned, lent):
    ring = Ring(2, pinned=pinned, lent=lent)
    for _ in range(3):
        ring.take((4, 5), BYTES)
    assert len(made) == 1


def test_pinned_memory_that_the_user_had_goes_back_to_torch(made):
    """Its copy to a GPU may be under way still: only torch knows when it is not."""
    ring = Ring(2, pinned=True)
    for count in (1, 2, 3):
        batch = torch.from_numpy(ring.take((4, 5), BYTES))
        assert len(made) == count
        kept = batch[1:]
        del batch
        assert made[-1]() is not None
        del kept
        assert made[-1]() is None
