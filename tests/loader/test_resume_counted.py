"""States that Lightning asks for: it counts an epoch's batches and never asks for the end."""

import pytest
import torch
from torch.utils.data import TensorDataset

import fastload
from fastload.state.resume import COUNTING


def asked_by(module):
    """loader.state_dict(), called from a module of that name."""
    return eval("lambda loader: loader.state_dict()", {"__name__": module})


def order(iterator):
    return [batch[0].tolist() for batch in iterator]


@pytest.mark.parametrize("taken", [0, 3, 4])
@pytest.mark.parametrize("module", [*COUNTING, "mine"])
def test_after_the_last_batch_it_is_the_next_epochs_state(module, taken):
    def made():
        return fastload.DataLoader(TensorDataset(torch.arange(10)), 3, shuffle=True, seed=1)

    loader = made()
    iterator = iter(loader)
    loader.sampler.set_epoch(0)  # as Lightning does, after iter()
    first = [next(iterator)[0].tolist() for _ in range(taken)]
    state = asked_by(module)(loader)
    ended = taken == 4 and module != "mine"
    assert (state["epoch"], state["step"]) == ((1, 0) if ended else (0, taken))
    resumed, whole = made(), made()
    resumed.load_state_dict(state)
    epochs = [order(whole), order(whole)]
    assert first == epochs[0][:taken]
    assert order(resumed) == (epochs[1] if ended else epochs[0][taken:])


def test_without_a_length_the_end_is_not_known():
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(2))

    loader = fastload.DataLoader(Stream(), 1)
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(2)] == [[0], [1]]
    assert asked_by(COUNTING[0])(loader)["step"] == 2
