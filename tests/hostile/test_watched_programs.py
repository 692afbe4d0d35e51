"""What only watches leaves the program as it is: its errors, its tracebacks, its streams and
objects.
"""

import gc
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision.transforms import Compose

import fastload
from fastload.attach import hooks, recorder
from fastload.attach.recorder import Recorder

from .traps import ASKED, Gives


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


class Bad(Dataset):
    kinds = (ValueError, StopIteration)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        try:
            raise LookupError("inner")
        except LookupError as error:
            raise self.kinds[index]("outer") from error


def test_a_program_keeps_its_errors_and_its_tracebacks():
    """Of PyTorch's loader, of ours, and of both while somebody looks on: the same type, text, cause
    and last frame.
    """

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


def test_threads_that_begin_together_share_one_recorder(tmp_path):
    """A second one would cut off the file that the first has mapped, and end the process."""
    made: list[Recorder] = []
    together = threading.Barrier(6)

    def make() -> Recorder:
        time.sleep(0.05)  # so that all threads come while the first is at it
        made.append(Recorder(str(tmp_path), lambda *given: given[-1]()))
        return made[-1]

    def run(numbers: list[int | None]) -> None:
        together.wait()
        active = hooks.recorder()
        numbers.append(None if active is None else active.number(loaders[len(numbers)]))

    loaders = [DataLoader([1])]
    seen: list[list[int | None]] = [[] for _ in range(6)]
    hooks.install(make)
    try:
        threads = [threading.Thread(target=run, args=(numbers,)) for numbers in seen]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        hooks.uninstall()
    assert len(made) == 1
    assert seen == [[0]] * 6


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
