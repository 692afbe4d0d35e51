"""States of a loader that somebody changed: one typed line for each thing, never several for
one.
"""

import base64
import zlib

import pytest
import torch

import fastload
from fastload.errors import UsageError

WHERE = "DataLoader.load_state_dict"


def a_loader() -> fastload.DataLoader:
    return fastload.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(12)), batch_size=3, shuffle=True, seed=1
    )


@pytest.mark.parametrize("name", ["sampler", "names"])
def test_texts_of_several_lines(name: str) -> None:
    loader = a_loader()
    with pytest.raises(UsageError) as refused:
        loader.load_state_dict(loader.state_dict() | {name: "a\nb"})
    assert str(refused.value) == f"{WHERE}: {name} is 'a\\nb', want one line"


@pytest.mark.parametrize(
    "given",
    [None, [], "version", {"version": 1, 2: 3}, {"version": [1]}, {"version": float("nan")}],
    ids=repr,
)
def test_what_is_no_state(given: object) -> None:
    with pytest.raises(UsageError) as refused:
        a_loader().load_state_dict(given)  # type: ignore[arg-type]  # on purpose
    assert all(line.startswith(f"{WHERE}: ") for line in str(refused.value).splitlines())


class Kept(torch.utils.data.TensorDataset):
    """A data set with a state."""

    def state_dict(self) -> dict[str, object]:
        return {"x": 1}

    def load_state_dict(self, state: object) -> None:
        raise AssertionError(f"{state!r} was handed on")


def a_worker(**changed: object) -> dict[str, object]:
    return {
        "worker_id": 0,
        "dataset_state": {"x": 1},
        "fetcher_state": None,
        "batches": 1,
        "given": 1,
    } | changed


def a_snapshot(worker: object, **changed: object) -> dict[str, object]:
    main = {"_num_workers": 1, "_base_seed": 5}
    told = {
        "_snapshot_step": 1,
        "_last_yielded_worker_id": 0,
        "_main_snapshot": main,
        "_worker_snapshots": {"worker_0": worker},
    }
    return {
        "_snapshot": told | changed,
        "_steps_since_snapshot": 0,
        "_iterator_finished": False,
        "ahead": [],
    }


BROKEN = {
    "no worker": (a_snapshot(None), "_snapshot is no state of workers"),
    "text": ({"_snapshot": "x", "_iterator_finished": False}, "_snapshot is no state of workers"),
    "no workers": (
        a_snapshot(a_worker(), _worker_snapshots={}),
        "_snapshot is no state of workers",
    ),
    "another name": (
        a_snapshot(0, _worker_snapshots={"worker_7": a_worker()}),
        "_snapshot is no state of workers",
    ),
    "a worker too many": (
        a_snapshot(a_worker(), _last_yielded_worker_id=1),
        "_snapshot is no state of workers",
    ),
    "less than nothing": (a_snapshot(a_worker(given=-1)), "_snapshot is no state of workers"),
    "more than given": (a_snapshot(a_worker(batches=2)), "_snapshot is no state of workers"),
    "a seed of text": (
        a_snapshot(a_worker(), _main_snapshot={"_num_workers": 1, "_base_seed": "1"}),
        "_snapshot is no state of workers",
    ),
    "fetcher": (a_snapshot(a_worker(fetcher_state=[])), "_snapshot is no state of workers"),
    "finished": (
        a_snapshot(a_worker()) | {"_iterator_finished": None},
        "_iterator_finished is neither true nor false",
    ),
    "ahead": (a_snapshot(a_worker()) | {"ahead": [1, 1]}, "ahead is no list of steps"),
    "order": ({"order": {"step": "1"}}, "order is no state of a sampler"),
    "later order": (
        {"order": {"step": 9, "over": False, "sampler": None, "iterator": None}},
        "order is of step 9, and the state of step 0; use the state as it was given",
    ),
    "base_seed": (
        {"base_seed": -1},
        "base_seed is -1, want a whole number from 0 to 9223372036854775807",
    ),
    "onward": ({"onward": "AAAA"}, "onward is no state of a torch.Generator on the CPU"),
    "bomb": (
        {"onward": base64.b64encode(zlib.compress(bytes(1 << 27))).decode()},
        "onward is no state of a torch.Generator on the CPU",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_states_of_data_sets_and_samplers(name: str) -> None:
    changed, text = BROKEN[name]
    loader = fastload.DataLoader(Kept(torch.arange(12)), batch_size=3, num_workers=1)
    state = fastload.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(12)), batch_size=3
    ).state_dict()
    with pytest.raises(UsageError) as refused:
        loader.load_state_dict(state | changed)
    assert str(refused.value) == f"{WHERE}: {text}"
