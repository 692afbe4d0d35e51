"""Loaders in several threads and several iterators at once: what docs/differences.md promises."""

import gc
import json
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.datasets import ImageFolder

import fastload
from fastload import transforms as T
from fastload.order import samplers

from .thread_helpers import HOW, THREADS, chain, flat, in_threads, loader


@pytest.mark.parametrize("name", HOW)
def test_each_thread_has_an_epoch_of_its_own(name, folder):
    """A fresh loader, whose engine nobody has made yet."""
    want = flat(loader(name, folder))
    turns, epochs = (1, 2) if "processes" in name else (3, THREADS)
    for _ in range(turns):
        made = loader(name, folder)
        assert in_threads(lambda _, made=made: flat(made), epochs) == [want] * epochs
        counted = made.stats()
        assert (counted["images"], counted["batches"], counted["bad_samples"]) == (
            40 * epochs,
            6 * epochs,
            0,
        )


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffled_epochs_of_threads_are_different_epochs(workers, folder):
    """With a seed each iter() is one epoch further, whichever thread calls it, and none comes
    twice.
    """
    made = loader(
        "native", folder, shuffle=True, seed=5, **({"num_workers": workers} if workers else {})
    )
    orders = [
        tuple(label for _, labels in epoch for label in labels)
        for epoch in in_threads(lambda _: flat(made))
    ]
    again = loader("native", folder, shuffle=True, seed=5)
    want = [tuple(label for _, labels in flat(again) for label in labels) for _ in range(THREADS)]
    assert sorted(orders) == sorted(want)
    assert made._epoch == THREADS


@pytest.mark.parametrize(
    "make", [lambda: fastload.ShuffleSampler(40), lambda: fastload.DistributedSampler(40)]
)
def test_no_epoch_of_a_sampler_comes_twice(make):
    sampler = make()
    found = in_threads(lambda _: [samplers.next_epoch(sampler) for _ in range(300)])
    assert sorted(epoch for some in found for epoch in some) == list(range(300 * THREADS))


def test_threads_and_what_else_asks_the_loader(folder):
    """stats, explain, decodes and state_dict from other threads, all the time."""
    made, over = loader("native, threads", folder), threading.Event()

    def work(number: int) -> None:
        if number < 2:
            for _ in range(4):
                assert len(flat(made)) == 6
            over.set()
        while not over.is_set():
            assert made.stats()["images"] <= 320
            json.dumps(made.state_dict())
            assert made.explain().startswith("backend native")
            made.decodes()

    in_threads(work, 5)
    assert made.stats()["images"] == 320


def test_bad_samples_are_counted_by_epoch(bad_folder):
    """Two epochs at once, each with its own budget."""
    data = fastload.open(
        bad_folder({f"{number}.jpg": b"no image" for number in range(1, 9)}), [T.Resize((6, 9))]
    )
    made = fastload.DataLoader(data, 1, on_error="skip", max_bad=8)
    ones, others = iter(made), iter(made)
    first, second = ones._progress, others._progress
    assert [len(list(one)) for one in (ones, others)] == [1, 1]
    assert (first.bad, second.bad) == (8, 8)
    made = fastload.DataLoader(data, 1, on_error="skip", max_bad=8, num_workers=2)
    assert in_threads(lambda _: len(list(made))) == [1] * THREADS
    assert made.stats()["bad_samples"] == 8 * THREADS


@pytest.mark.parametrize("name", HOW)
def test_two_iterators_at_once(name, folder):
    made, want = loader(name, folder), flat(loader(name, folder))
    ones, others = iter(made), iter(made)
    pairs = [(flat([one])[0], flat([other])[0]) for one, other in zip(ones, others, strict=True)]
    assert [one for one, _ in pairs] == [other for _, other in pairs] == want
    nested = [(a[1].tolist(), b[1].tolist()) for a in made for b in made]
    assert len(nested) == 36


@pytest.mark.parametrize("name", HOW)
def test_an_iterator_is_handed_from_thread_to_thread(name, folder):
    made, want = loader(name, folder), flat(loader(name, folder))
    batches, found = iter(made), [flat([next(iter(loader(name, folder)))])[0]]
    next(batches)
    for _ in range(5):
        thread = threading.Thread(target=lambda: found.extend(flat([next(batches)])))
        thread.start()
        thread.join()
    assert found == want
    assert next(batches, None) is None
    assert made.stats()["batches"] == 6


@pytest.mark.parametrize("kind", [DataLoader, fastload.DataLoader])
def test_persistent_workers_have_one_iterator(kind, folder):
    """As in PyTorch: the next iter() ends the epoch of the one before."""
    made = kind(ImageFolder(folder, chain()), 7, num_workers=1, persistent_workers=True)
    ones = iter(made)
    next(ones)
    assert iter(made) is ones
    assert len(list(ones)) == 6


def test_a_sampler_may_iterate_its_own_loader(folder):
    class Curious:
        def __iter__(self) -> Iterator[int]:
            self.loader.sampler_asked = True
            return iter(range(4) if next(iter(self.plain)) else [])

        def __len__(self) -> int:
            return 4

    sampler = Curious()
    made = fastload.DataLoader(ImageFolder(folder, chain()), 2, sampler=sampler)
    sampler.loader, sampler.plain = made, fastload.DataLoader(ImageFolder(folder, chain()))
    assert len(list(made)) == 2


class Slow(Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(index)


def test_counts_of_threads_that_have_ended_stay():
    made = fastload.DataLoader(Slow())
    for _ in range(20):
        in_threads(lambda _: list(made), 3)
    gc.collect()
    assert Counter(made.stats())["images"] == 8 * 60
