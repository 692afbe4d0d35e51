"""What only watches never raises, waits or changes: counting, `fastload profile -- …` and
`fastload.watch` over batches that are traps.
"""

import itertools
from collections import UserDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import fastload
from fastload.attach import looking
from fastload.attach.looking import images_in, samples_in

from .traps import ASKED, Gives


def trap(base: type) -> type:
    """A class whose every method notes that it has run, and fails."""

    def method(name: str):
        def run(self, *_: Any, **__: Any) -> Any:
            ASKED.append(f"{base.__name__}.{name}")
            raise RuntimeError(f"{name} has run")

        return run

    asked = [
        "__len__", "__iter__", "__getitem__", "__contains__", "__bool__", "__eq__", "__repr__",
        "__str__", "__hash__", "__getattr__",
        "__getattribute__", "values", "keys", "items", "__next__", "__array__", "__reversed__",
    ]  # fmt: skip
    body: dict[str, Any] = {name: method(name) for name in asked}
    body |= {
        name: property(method(name))
        for name in ("shape", "ndim", "__class__", "size", "data", "__dict__")
    }
    body["__torch_function__"] = classmethod(method("__torch_function__"))
    return type(f"Trap{base.__name__}", (base,), body)


class Looped(list):
    """Holds itself."""

    def __init__(self) -> None:
        super().__init__([self, self])


class Reads(Mapping):
    """Makes what it holds when it is asked for, as lazy batches do."""

    def __getitem__(self, key: object) -> Any:
        ASKED.append("Reads.__getitem__")
        return torch.zeros(3)

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[object]:
        ASKED.append("Reads.__iter__")
        return iter("ab")


class Endless:
    """A sequence without end."""

    def __getitem__(self, index: int) -> int:
        ASKED.append("Endless.__getitem__")
        return index


def deep(levels: int) -> Any:
    found: Any = torch.zeros(7, 2)
    for _ in range(levels):
        found = [found]
    return found


def jagged() -> Any:
    return torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)], layout=torch.jagged)


def ring() -> dict:
    found: dict = {}
    found["again"] = [found]
    return found


class Point(torch.Tensor):
    """A user's tensors."""

    @property
    def shape(self) -> Any:
        raise RuntimeError("no shape")


class Pair(NamedTuple):
    images: torch.Tensor
    label: int


TRAPS = {
    base.__name__: trap(base)
    for base in (object, list, tuple, dict, UserDict, np.ndarray, torch.Tensor, str)
}
BATCHES = {
    **{f"trap of {name}": kind.__new__(kind) if name != "ndarray" else kind.__new__(kind,
    3) for name, kind in TRAPS.items()},
    "a list of traps": [kind.__new__(kind) for name, kind in TRAPS.items() if name != "ndarray"],
    "looped": Looped(), "ring": ring(), "deep": deep(10**5), "wide": [[0] * 10**6] * 100,
    "reads": Reads(), "endless": Endless(),
    "a generator": itertools.count(), "a user's tensors": Point(), "nested": jagged(),
    "sparse": torch.eye(3).to_sparse(),
    "meta": torch.empty(4, 2, device="meta"), "none": None, "empty": [], "a number": 7,
    "a 0-d array": np.array(1),
    "objects": np.array([None]),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_a_look_runs_nothing(name):
    ASKED.clear()
    assert samples_in(BATCHES[name]) >= 0
    assert images_in(BATCHES[name]) >= 0
    assert ASKED == []


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        (torch.zeros(3, 2), 3), ([torch.zeros(4, 1), 5], 4),
        ({"a": "x", "b": torch.zeros(2, 2)}, 2), ((np.zeros((6, 1)), 1), 6),
        (UserDict({"pixels": torch.zeros(5, 2)}), 5), (Pair(torch.zeros(8), 1), 8),
        (torch.tensor(1), 0),
        ([torch.tensor(1), torch.zeros(9)], 9), ([["x"] * 300, torch.zeros(2)], 2), (deep(8), 7),
        (deep(9), 0), (jagged(), 2),
        ([7] * 16 + [torch.zeros(2)], 0), (torch.nn.Parameter(torch.zeros(4)), 4), (Point(), 0),
        ("abc", 0), (None, 0),
    ],
)  # fmt: skip
def test_samples_in_a_batch(batch, samples):
    assert samples_in(batch) == samples


def test_a_look_is_bounded(monkeypatch):
    looks = 0
    sides = looking._sides

    def counted(thing: Any) -> tuple[int, ...]:
        nonlocal looks
        looks += 1
        return sides(thing)

    monkeypatch.setattr(looking, "_sides", counted)
    wide: Any = 0
    for _ in range(20):
        wide = [wide] * 20
    assert samples_in(wide) == 0
    assert looks == looking.COUNT


@pytest.mark.parametrize("kind", [DataLoader, fastload.DataLoader])
@pytest.mark.parametrize("watched", [False, True], ids=["", "watched"])
def test_loaders_hand_out_traps_as_they_are(kind, watched, tmp_path):
    ASKED.clear()
    data = Gives(list(BATCHES.values()))
    loader = kind(data, 1, collate_fn=data.collate)
    if watched:
        with fastload.watch(loader, every=0):
            found = [id(batch) for batch in loader]
    else:
        found = [id(batch) for batch in loader]
    assert found == list(map(id, BATCHES.values()))
    assert ASKED == []
    if kind is fastload.DataLoader:
        assert loader.stats()["batches"] == len(BATCHES)
