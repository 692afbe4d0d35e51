"""What only watches never raises, waits or changes: counting, `fastload profile -- …` and
`fastload.watch` over batches that are traps.
"""

import gc
import itertools
import sys
import threading
import traceback
import weakref
from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision.transforms import Compose

import fastload
from fastload.attach import hooks, looking, recorder
from fastload.attach.looking import images_in, samples_in
from fastload.attach.recorder import Recorder

ASKED: list[str] = []  # what of a trap has run


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
        (torch.zeros(3, 2), 3), ([torch.zeros(4, 1), 5], 4), ({"a": "x", "b": torch.zeros(2, 2)}, 2), ((np.zeros((6, 1)), 1), 6),
        (UserDict({"pixels": torch.zeros(5, 2)}), 5), (Pair(torch.zeros(8), 1), 8), (torch.tensor(1), 0),
        ([torch.tensor(1), torch.zeros(9)], 9), ([["x"] * 300, torch.zeros(2)], 2), (deep(8), 7), (deep(9), 0), (jagged(), 2),
        ([7] * 16 + [torch.zeros(2)], 0), (torch.nn.Parameter(torch.zeros(4)), 4), (Point(), 0), ("abc", 0), (None, 0),
    ],
)  # fmt: skip
def test_samples_in_a_batch(batch, samples):
    assert samples_in(batch) == samples


def test_a_look_is_bounded(monkeypatch):
    looks = 0
    first_side = looking._first_side

    def counted(thing: Any) -> int | None:
        nonlocal looks
        looks += 1
        return first_side(thing)

    monkeypatch.setattr(looking, "_first_side", counted)
    wide: Any = 0
    for _ in range(20):
        wide = [wide] * 20
    assert samples_in(wide) == 0
    assert looks == looking.COUNT


class Gives(Dataset):
    """Its collate function gives these batches, one each."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> int:
        return index

    def collate(self, indices: list[int]) -> Any:
        return self.batches[indices[0]]


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


class FailingLog:
    """A disk that is full."""

    def __init__(self, fails: int) -> None:
        self.left = fails

    def write(self, *_: Any, **__: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(28, "No space left on device")

    tell = write


@pytest.mark.parametrize("fails", range(8))
@pytest.mark.parametrize("kind", [DataLoader, fastload.DataLoader])
def test_a_watcher_that_fails_is_not_the_programs(kind, fails, tmp_path, capsys, monkeypatch):
    """Whatever of the watcher's own fails, and when: the program gets each of its batches once, and
    its own errors.
    """

    class Fails(Gives):
        def __getitem__(self, index: int) -> int:
            if index == 3:
                raise KeyError("the program's")
            return index

    monkeypatch.setattr(recorder.log, "Log", lambda _: FailingLog(fails))
    data = Fails([torch.zeros(2), 1, 2, 3, 4, 5])
    loader = kind(data, 1, collate_fn=data.collate)
    with fastload.watch(loader, every=0):
        batches = iter(loader)
        found: list[Any] = []
        for _ in range(10):
            try:
                found.append(next(batches))
            except StopIteration:
                break
            except KeyError as error:
                found.append(str(error))
    assert found[1:] == [1, 2, '"the program\'s"', 4, 5]
    said = capsys.readouterr().err
    assert said.count("is not measured any more (OSError(28, 'No space left on device'))") == 1, (
        said
    )


def test_a_program_keeps_its_errors_and_its_tracebacks():
    """Of PyTorch's loader, of ours, and of both while somebody looks on: the same type, text, cause
    and last frame.
    """

    class Bad(Dataset):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> int:
            try:
                raise LookupError("inner")
            except LookupError as error:
                raise self.kinds[index]("outer") from error

    Bad.kinds = (ValueError, StopIteration)  # type: ignore[attr-defined]

    def errors(kind: type, *, watched: bool) -> list[Any]:
        loader, found = kind(Bad()), []
        with fastload.watch(loader, every=0) if watched else nullcontext():
            batches = iter(loader)
            for _ in range(2):
                try:
                    next(batches)
                except Exception as error:
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    found.append(
                        (
                            type(error),
                            error.args,
                            repr(error.__cause__),
                            error.__suppress_context__,
                            last.name,
                            last.lineno,
                        )
                    )
        return found

    want = errors(DataLoader, watched=False)
    assert len(want) == 2
    for kind in (DataLoader, fastload.DataLoader):
        for watched in (False, True):
            assert errors(kind, watched=watched) == want


class Refuses(Dataset):
    """Fails where it is asked for what only watchers want."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(2)

    @property
    def transform(self) -> Any:
        ASKED.append("transform")
        raise RuntimeError("not yet")

    transforms = dataset = samples = transform


def test_a_data_set_that_is_not_to_be_looked_at():
    ASKED.clear()
    for kind in (DataLoader, fastload.DataLoader):
        loader = kind(Refuses())
        with fastload.watch(loader, every=0):
            assert len(list(loader)) == 40
    assert ASKED == []


class Picky:
    """A chain that asks what its members are, as albumentations' does."""

    def __init__(self, members: list[Any]) -> None:
        self.transforms = members

    def __call__(self, value: Any) -> Any:
        assert [type(member) for member in self.transforms] == [int]
        return value


class Chained(Refuses):
    transform = transforms = None  # type: ignore[assignment]

    def __init__(self, chain: Any) -> None:
        self.transform = chain

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform(torch.zeros(2))


@pytest.mark.parametrize("workers", [0, 1])
def test_chains_of_others_are_left_alone(workers):
    loader = DataLoader(Chained(Picky([5])), num_workers=workers)
    with fastload.watch(loader, every=0):
        assert len(list(loader)) == 40


def test_several_threads_are_timed_each_for_itself():
    """Each makes batches of its own loader, with stages, while the others do."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            assert len(list(DataLoader(Chained(Compose([torch.neg, torch.neg]))))) == 40
        except BaseException as error:
            errors.append(error)

    loader, interval = DataLoader(Refuses()), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with fastload.watch(loader, every=0):
            threads = [threading.Thread(target=run) for _ in range(6)]
            for thread in threads:
                thread.start()
            list(loader)
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


@pytest.mark.parametrize("kind", [DataLoader, fastload.DataLoader])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_that_was_seen_is_the_programs_to_drop(kind, workers, tmp_path):
    """A program that makes a loader per epoch must not keep the workers of all of them."""
    hooks.install(
        lambda: Recorder(str(tmp_path), lambda it, number, _, fetch: it.wait(number, fetch))
    )
    try:
        gc.disable()
        loader = kind(
            Chained(Compose([torch.neg])), 8, num_workers=workers, persistent_workers=bool(workers)
        )
        assert len(list(loader)) == 5
        gone = weakref.ref(loader)
        del loader
        assert gone() is None
    finally:
        gc.enable()
        hooks.finish()
        hooks.uninstall()


def test_an_id_that_comes_again_is_another_loader(tmp_path):
    made = Recorder(str(tmp_path), lambda it, number, _, fetch: it.wait(number, fetch))
    numbers = []
    for _ in range(5):
        loader = DataLoader([1])
        numbers.append(made.number(loader))
        del loader
    assert numbers == [0, 1, 2, 3, 4]


def test_a_stream_is_not_asked_for_more():
    """Neither a length nor an item that the loop does not ask for."""

    class Stream(IterableDataset):
        def __iter__(self) -> Iterator[int]:
            for number in range(10):
                ASKED.append(str(number))
                yield number

        def __len__(self) -> int:
            ASKED.append("len")
            return 10

    for kind in (DataLoader, fastload.DataLoader):
        ASKED.clear()
        loader = kind(Stream(), 2)
        with fastload.watch(loader, every=0):
            batches = iter(loader)
            next(batches), next(batches)
        # PyTorch's iterator asks for the length, to warn where it lies.
        assert [asked for asked in ASKED if asked != "len"] == ["0", "1", "2", "3"]
