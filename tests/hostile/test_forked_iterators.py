"""Iterators in forked children: what docs/differences.md promises."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.system.opening import Opening

from .thread_helpers import flat, in_threads, loader


def forked(call: Callable[[], Any]) -> Any:
    """What `call` gives in a child; its error's text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        try:
            text = json.dumps(call())
        except BaseException as error:
            text = json.dumps(f"{type(error).__name__}: {error}")
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with open(read) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def listed(batches: Any) -> list[Any]:
    return json.loads(json.dumps(flat(batches)))


@pytest.mark.parametrize("name", ["native", "torch", "reference"])
@pytest.mark.parametrize("taken", [0, 1, 3, 6])
def test_an_open_iterator_goes_on_in_a_forked_child(name, taken, folder):
    want = listed(loader(name, folder))
    made = loader(name, folder)
    batches = iter(made)
    assert listed([next(batches) for _ in range(taken)]) == want[:taken]
    for _ in range(2):
        assert forked(lambda: listed(batches)) == want[taken:]
    assert forked(lambda: listed(made)) == want
    assert listed(batches) == want[taken:]  # the parent's own is where it was


def test_augmentation_is_the_same_in_a_child(folder):
    chain = v1.Compose([v1.RandomResizedCrop(8), v1.RandomHorizontalFlip(), v1.ToTensor()])
    made = fastload.DataLoader(ImageFolder(folder, chain), 7, shuffle=True, seed=3)
    assert made.explain().startswith("backend native")
    batches = iter(made)
    next(batches)
    in_child = forked(lambda: listed(batches))
    assert in_child == listed(batches)
    assert len(in_child) == 5


def test_a_child_leaves_its_parents_indexes_alone(folder, cache):
    made = loader("native", folder)
    batches = iter(made)
    next(batches)

    def logs() -> dict[str, int]:
        return {str(path): path.stat().st_size for path in Path(cache).rglob("*") if path.is_file()}

    before = logs()
    assert before
    assert len(forked(lambda: listed(batches))) == 5
    assert logs() == before


def test_an_iterator_with_threads_says_whose_it_is(folder):
    """Nobody makes its batches in a child: an error, and no waiting."""
    made, want = loader("native, threads", folder), listed(loader("native", folder))
    batches = iter(made)
    next(batches)
    found = forked(lambda: listed(batches))
    text = (
        "loader: an iterator with workers was opened in another process; call iter() of the "
        "loader in this one"
    )
    assert found == f"BackendError: {text}"
    assert forked(lambda: listed(made)) == want
    assert listed(batches) == want[1:]


@pytest.mark.long
def test_children_while_all_threads_iterate(folder):
    """Forks at any moment, also while another thread is inside iter(): each child reads the whole
    data set.
    """
    made, want, over = (
        loader("native, threads", folder),
        listed(loader("native", folder)),
        threading.Event(),
    )

    def work(number: int) -> None:
        if number:
            while not over.is_set():
                assert len(flat(made)) == 6
            return
        try:
            for _ in range(12):
                assert forked(lambda: listed(made)) == want
        finally:
            over.set()

    in_threads(work, 3)


def test_a_lock_that_another_thread_holds_is_open_in_a_child():
    opening, held, over = Opening(), threading.Event(), threading.Event()

    def hold() -> None:
        with opening.alone():
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def take() -> bool:
        with opening.alone():
            return True

    assert forked(take) is True
    over.set()
    thread.join()
    with opening.alone():  # a fork inside leaves through the lock that it came by
        assert forked(take) is True


@pytest.mark.filterwarnings("ignore::fastload.FallbackWarning")
@pytest.mark.parametrize("name", ["native", "torch", "reference"])
def test_a_child_that_drops_its_copy_ends_no_worker_of_its_parent(name, folder):
    want = listed(loader(name, folder))
    held = {"batches": iter(loader(name, folder, num_workers=1, timeout=60))}
    got = [next(held["batches"])]
    assert forked(held.clear) is None
    assert listed([*got, *held["batches"]]) == want
