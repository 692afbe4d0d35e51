"""Loaders that are stopped before each of their steps and go on elsewhere."""

import copy
import itertools
import json
from collections.abc import Callable
from typing import Any

import torch

SMALL, LARGE = 1024, 8192  # bytes of a state as JSON: without and with a generator


def digest(batch: Any) -> bytes:
    """All bytes of a batch, whatever it is made of."""
    if isinstance(batch, torch.Tensor):
        return (
            str(batch.dtype).encode()
            + str(list(batch.shape)).encode()
            + batch.contiguous().view(torch.uint8).numpy().tobytes()
        )
    if isinstance(batch, dict):
        return digest([*batch.items()])
    return (
        b"|".join(digest(part) for part in batch)
        if isinstance(batch, (list, tuple))
        else repr(batch).encode()
    )


def told(loader: Any, epochs: int) -> tuple[list[list[bytes]], list[list[dict[str, Any]]]]:
    """Per epoch: the batches, and the states before each of them, before StopIteration and after
    it.
    """
    every = [told_once(loader) for _ in range(epochs)]
    return [given for given, _ in every], [before for _, before in every]


def told_once(loader: Any) -> tuple[list[bytes], list[dict[str, Any]]]:
    """`told` of one epoch."""
    iterator, given, before = iter(loader), [], []
    while True:
        before.append(copy.deepcopy(loader.state_dict()))
        batch = next(iterator, None)
        if batch is None:
            break
        given.append(digest(batch))
    before.append(copy.deepcopy(loader.state_dict()))
    return given, before


def check_every_step(
    make: Callable[[], Any],
    other: Callable[[], Any] | None = None,
    epochs: int = 2,
    most: int = SMALL,
    onward: bool = True,
) -> int:
    """Each state, as JSON, restored into a loader that `other` makes, gives what was left of its
    epoch, and the next one.

    onward: whether later epochs follow from `seed` alone, and nothing of them is yet to be drawn.
        Returns the number of states.
    """
    batches, states = told(make(), epochs + 2)
    count = 0
    for epoch in range(epochs):
        for step, state in enumerate(states[epoch]):
            text = json.dumps(state)
            assert len(text) <= most
            assert state.keys() == states[0][0].keys()
            loader = (other or make)()
            loader.load_state_dict(json.loads(text))
            assert loader.state_dict() == state  # taken again before anything ran
            now, rest = (
                (epoch, batches[epoch][step:])
                if step <= len(batches[epoch])
                else (epoch + 1, batches[epoch + 1])
            )
            count += 1
            if now > epoch and not onward:
                continue
            assert [digest(batch) for batch in loader] == rest, (epoch, step)
            if step % 5 == 1 and onward:
                assert [digest(batch) for batch in loader] == batches[now + 1]
    return count


def check_some(make: Callable[[], Any], steps: int, whole: int = 50) -> int:
    """As check_every_step over as many epochs as `steps` steps take; but a state's next two batches
    are looked at, and all that is left of its epoch for one state in `whole`. Number of states."""
    batches, states, epochs = [], [], 0
    loader = make()
    while len(states) < steps:
        given = told_once(loader)
        states += [(epochs, step, state) for step, state in enumerate(given[1][:-1])]
        batches.append(given[0])
        epochs += 1
    for number, (epoch, step, state) in enumerate(states):
        text = json.dumps(state)
        assert len(text) <= SMALL
        loader = make()
        loader.load_state_dict(json.loads(text))
        most = None if number % whole == 0 else 2
        rest = batches[epoch][step:][:most]
        assert [digest(batch) for batch in itertools.islice(loader, most)] == rest, (epoch, step)
    return len(states)
