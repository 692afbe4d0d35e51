"""Loaders and programs that the tests of threads and forked children share."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload

THREADS = 6


class Mine(ImageFolder):
    """Runs on PyTorch's own engine."""

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(hash(index))  # a call that is not followed


def chain() -> Any:
    return v1.Compose([v1.Resize((6, 9)), v1.ToTensor()])


@contextmanager
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(call: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """What each gave; they begin together. Raises what one raised."""
    gate, found, errors = threading.Barrier(count), [None] * count, []

    def run(number: int) -> None:
        try:
            gate.wait()
            found[number] = call(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    with switching():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(240)  # a hang; forks under load take a minute
    assert not any(thread.is_alive() for thread in threads)
    for error in errors:
        raise error
    return found


HOW = {
    "native": (ImageFolder, {}), "native, threads": (ImageFolder, {"num_workers": 2}),
    "torch": (Mine, {}),
    "torch, processes": (Mine, {"num_workers": 1}), "reference": (None, {"backend": "torch"}),
}  # fmt: skip


def loader(name: str, folder: str, **more: Any) -> Any:
    kind, how = HOW[name]
    data = fastload.open(folder, chain()) if kind is None else kind(folder, chain())
    return fastload.DataLoader(data, 7, **how, **more)


def flat(batches: Any) -> list[Any]:
    return [(images.sum().item(), labels.tolist()) for images, labels in batches]
