"""Data sets, samplers and iterators with a state of their own: stopped before each step, they go on
as if nothing had happened.
"""

import copy
import itertools
import random

import pytest
import torch
import torch.utils.data

import fastload

from .resume_helpers import digest
from .stateful_kinds import COUNT, KINDS, Items, Numbers, Plain

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
WHERE = "DataLoader.load_state_dict: "
ENDED = -1  # in place of a step

COMBINATIONS = [
    {"num_workers": workers, "persistent_workers": persistent, "snapshot_every_n_steps": every}
    for workers, persistent, every in itertools.product((1, 3), (False, True), (1, 2, 5, 0))
]


def make(kind, **options):
    return fastload.DataLoader(KINDS[kind].data(), **{**KINDS[kind].options(), **options})


def told(loader, epochs):
    """(epoch, step, the state before it) of every step and, with ENDED, of each epoch's end; and
    the epochs' batches.
    """
    found, whole = [], []
    for epoch in range(epochs):
        iterator, given = iter(loader), []
        states = [copy.deepcopy(loader.state_dict())]
        while (batch := next(iterator, None)) is not None:
            given.append(digest(batch))
            states.append(copy.deepcopy(loader.state_dict()))
        found += [
            *((epoch, step, state) for step, state in enumerate(states)),
            (epoch, ENDED, copy.deepcopy(loader.state_dict())),
        ]
        whole.append(given)
    return found, whole


def check(kind, chosen, **options):
    """States of two epochs, of which `chosen` picks some, each give what was left of their epoch,
    and the next one; how many.
    """
    torch.manual_seed(11)
    states, whole = told(make(kind, **options), 4)
    states = [each for each in states if each[0] < 2]
    assert len(states) > 7
    some = chosen(states)
    for epoch, step, state in some:
        torch.manual_seed(random.Random(step).getrandbits(32))  # another process
        loader = make(kind, **options)
        loader.load_state_dict(state)
        epoch, rest = (
            (epoch + 1, whole[epoch + 1]) if step == ENDED else (epoch, whole[epoch][step:])
        )
        assert [digest(batch) for batch in loader] == rest, (epoch, step, options)
        assert [digest(batch) for batch in loader] == whole[epoch + 1], (
            epoch,
            step,
            "next",
            options,
        )
    return len(some)


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_without_workers(kind):
    check(kind, list)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_some_steps_with_workers(kind):
    """One combination of each kind: tests/loader/stateful_release.py stops at every step of all of
    them.
    """
    options = random.Random(kind).choice(COMBINATIONS)
    check(kind, lambda states: random.Random(kind).sample(states, 2), **options)


@pytest.mark.filterwarnings("ignore:.set_vital. is deprecated")  # torchdata calls torch so
@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].exact])
@pytest.mark.parametrize("workers", [0, 2])
def test_torchdatas_loader_gives_the_same(kind, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    given = []
    for cls in (stateful.StatefulDataLoader, fastload.DataLoader):
        torch.manual_seed(5)
        loader = cls(KINDS[kind].data(), num_workers=workers, **KINDS[kind].options())
        given.append([[digest(batch) for batch in loader] for _ in range(2)])
    assert given[0] == given[1]


def test_what_is_handed_out_of_order():
    """Batches that came before earlier ones are not handed out again."""

    class Slow(Numbers):
        def __getitem__(self, index):
            if index == 0:
                event.wait(20)
            return index

    event = torch.multiprocessing.get_context("fork").Event()
    options = {"num_workers": 2, "in_order": False}
    loader = fastload.DataLoader(Slow(), **options)
    iterator = iter(loader)
    first = [int(next(iterator)) for _ in range(3)]  # torch 2.6 gives no more to the other one
    state = loader.state_dict()
    event.set()
    assert 0 not in first
    assert state["ahead"] == sorted(first)
    other = fastload.DataLoader(Slow(), **options)
    other.load_state_dict(state)
    rest = [int(batch) for batch in other]
    assert sorted(first + rest) == list(range(COUNT))
    assert sorted(int(batch) for batch in iterator) == [
        number for number in range(COUNT) if number not in first
    ]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_is_not_changed_by_what_comes_after(workers):
    for kind in ("rows", "items", "own iterator", "generator"):
        loader = make(kind, num_workers=workers)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
        kept = copy.deepcopy(state)
        list(iterator)
        other = make(kind, num_workers=workers)
        other.load_state_dict(state)
        list(other)
        assert state == kept


def test_the_first_state_is_the_workers():
    """It is asked for before iter(), which then goes on with the same workers."""
    loader = make("drawing", num_workers=2)
    state = loader.state_dict()
    assert [
        len(each["dataset_state"]["generator"])
        for each in state["_snapshot"]["_worker_snapshots"].values()
    ] == [5056] * 2
    whole = [digest(batch) for batch in loader]
    other = make("drawing", num_workers=2)
    other.load_state_dict(state)
    assert [digest(batch) for batch in other] == whole


def test_workers_see_the_users_data_set():
    class Told(Plain):
        def __iter__(self):
            assert torch.utils.data.get_worker_info().dataset is self
            return iter([self.count])

    def init(worker):
        torch.utils.data.get_worker_info().dataset.count = worker

    assert [
        int(batch) for batch in fastload.DataLoader(Told(), num_workers=2, worker_init_fn=init)
    ] == [0, 1]


class Failing(Items):
    def __getitem__(self, index):
        if index == 3:
            raise KeyError("no sample 3")
        return super().__getitem__(index)


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 2])
def test_errors_are_steps_too(workers):
    def taken(loader, most):
        iterator, found = iter(loader), []
        for _ in range(most):
            try:
                found.append(digest(next(iterator)))
            except KeyError:
                found.append(b"error")
        return found

    whole = taken(fastload.DataLoader(Failing(), num_workers=workers), COUNT)
    assert whole.count(b"error") == 1
    for step in (3, 4, 5, 9):
        loader = fastload.DataLoader(Failing(), num_workers=workers)
        first = taken(loader, step)
        other = fastload.DataLoader(Failing(), num_workers=workers)
        other.load_state_dict(loader.state_dict())
        assert first + taken(other, COUNT - step) == whole


def refused(loader, state):
    with pytest.raises(fastload.UsageError) as caught:
        loader.load_state_dict(state)
    return str(caught.value)


def after(kind, steps, **options):
    """A loader's state after so many steps."""
    loader = make(kind, **options)
    iterator = iter(loader)
    for _ in range(steps):
        next(iterator)
    return loader.state_dict()


def test_states_of_other_workers_are_refused():
    state = after("items", 2, num_workers=2)
    assert refused(make("items", num_workers=1), state) == (
        WHERE
        + "the state is of 2 workers, the loader has 1, and it holds the data set's own state in "
        "each worker; use as many workers"
    )
    state = after("plain", 2)
    assert refused(make("plain", num_workers=2), state) == (
        WHERE
        + "the state is of 0 workers, the loader has 2, and it holds each worker's part of an "
        "iterable data set; use as many workers"
    )


def test_states_of_other_data_sets_are_refused():
    state = after("items", 2)
    want = (
        "the state holds a data set's own state, and this data set has none to load; use the "
        "same data set"
    )
    assert refused(fastload.DataLoader(Numbers(), 2), state) == WHERE + want
    assert refused(fastload.DataLoader(Items(), 4), state) == (
        WHERE + "the state is of steps of 2 samples, the loader's have 4; use the same batch size"
    )
    old = {
        name: value
        for name, value in after("plain", 3).items()
        if name not in ("fetcher_state", "dataset_state", "_iterator_finished")
    }
    assert refused(make("plain"), old) == (
        WHERE
        + "step is 3, but the state does not say where the data set was; resume it at the start of "
        "an epoch"
    )


def test_between_epochs_workers_may_change():
    for kind in ("plain", "shuffled"):
        loader = make(kind, num_workers=2)
        list(loader)
        other = make(kind)
        other.load_state_dict(loader.state_dict())
        assert len(list(other)) == len(other) if kind == "shuffled" else 7


@pytest.mark.parametrize("steps", [-1, 1.5, True, "2"])
def test_steps_that_are_none(steps):
    with pytest.raises(fastload.UsageError) as caught:
        fastload.DataLoader(Numbers(), snapshot_every_n_steps=steps)
    assert (
        str(caught.value)
        == f"DataLoader: snapshot_every_n_steps is {steps!r}, want a whole number from 0, or None"
    )


@pytest.mark.long
def test_workers_that_are_not_forked():
    whole = [digest(batch) for batch in make("generator")]
    options = {"num_workers": 1, "multiprocessing_context": "forkserver"}
    loader = make("generator", **options)
    iterator = iter(loader)
    first = [digest(next(iterator)) for _ in range(2)]
    other = make("generator", **options)
    other.load_state_dict(loader.state_dict())
    assert first + [digest(batch) for batch in other] == whole


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterable_data_set_that_has_become_shorter(workers):
    class Short(Plain):
        def __iter__(self):
            return iter(range(4))

    loader = fastload.DataLoader(Short(), 2, num_workers=workers)
    loader.load_state_dict(after("plain", 5, num_workers=workers))
    assert list(loader) == []
