"""Data sets and samplers that have a state of their own, of every kind that torchdata's protocol
knows.

What they give depends on all that they gave before, so that a state which is a step off, or another
worker's, shows.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch.utils.data
from torch.utils.data import RandomSampler, get_worker_info

COUNT = 13  # samples of each data set


def mixed(state: int, index: int) -> int:
    """The next of a row of numbers (Knuth's multiplier of MMIX), which knows all those before."""
    return (state * 6364136223846793005 + index + 1442695040888963407) % (1 << 62)


def share() -> tuple[int, int]:
    """Which worker this is, of how many."""
    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


class Numbers(torch.utils.data.Dataset):
    """Without a state: pairs of an index and its square."""

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, index * index


class Items(Numbers):
    """A map-style data set whose samples depend on those before."""

    def __init__(self) -> None:
        self.x = 1

    def __getitem__(self, index: int) -> tuple[int, int]:
        self.x = mixed(self.x, index)
        return index, self.x

    def state_dict(self) -> dict[str, Any]:
        return {"x": self.x}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.x = state["x"]


class Drawing(Numbers):
    """A map-style data set that draws from torch's generator, whose state is its own."""

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, int(torch.randint(1 << 40, ()))

    def state_dict(self) -> dict[str, Any]:
        return {"generator": torch.get_rng_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        torch.set_rng_state(state["generator"])


class Plain(torch.utils.data.IterableDataset):
    """Without a state; workers have unequal parts."""

    def __iter__(self) -> Iterator[int]:
        worker, workers = share()
        return iter(range(worker, COUNT + (workers - 1) * 3 * worker, workers))


class Generator(torch.utils.data.IterableDataset):
    """A state of the data set, taken up by its generator only when that is asked; counts epochs."""

    def __init__(self) -> None:
        self.position = self.epoch = 0
        self.resume: int | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        worker, workers = share()
        self.position = 0
        if self.resume is not None:
            self.position, self.resume = self.resume, None
        for number in range(self.position, COUNT - 5 * worker // workers):
            self.position += 1
            yield number * workers + worker, self.epoch
        self.position = 0
        self.epoch += 1

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.resume, self.epoch = state["position"], state["epoch"]


class Row:
    """An iterator with a state that it goes on changing."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers, self.seen = numbers, {"position": 0, "x": [7]}

    def __iter__(self) -> "Row":
        return self

    def __next__(self) -> tuple[int, int]:
        position: Any = self.seen["position"]
        if position >= len(self.numbers):
            raise StopIteration
        self.seen["position"] = position + 1
        self.seen["x"][0] = mixed(self.seen["x"][0], position)
        return self.numbers[position], self.seen["x"][0]

    def state_dict(self) -> dict[str, Any]:
        return self.seen

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = state


class Rows(torch.utils.data.IterableDataset):
    """Without a state; its iterators have one."""

    def __iter__(self) -> Row:
        worker, workers = share()
        return Row(list(range(worker, COUNT + 2, workers)))


class Own(torch.utils.data.IterableDataset):
    """Its own iterator."""

    def __init__(self) -> None:
        self.row = Row([])

    def __iter__(self) -> "Own":
        worker, workers = share()
        self.row = Row(list(range(worker, COUNT, workers)))
        return self

    def __next__(self) -> tuple[int, int]:
        return next(self.row)

    def state_dict(self) -> dict[str, Any]:
        return {"row": self.row.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.row.load_state_dict(state["row"])


class Sampler(torch.utils.data.Sampler):
    """An order that depends on the epochs before, with a state of the sampler."""

    def __init__(self, size: int = COUNT) -> None:
        self.size, self.position, self.epoch = size, 0, 0

    def __iter__(self) -> Iterator[int]:
        for position in range(self.position, self.size):
            self.position = position + 1
            yield mixed(self.epoch, position) % self.size
        self.position = 0
        self.epoch += 1

    def __len__(self) -> int:
        return self.size

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position, self.epoch = state["position"], state["epoch"]


class BySteps(torch.utils.data.Sampler):
    """No state of the sampler; its iterators have one."""

    class Steps:
        def __init__(self) -> None:
            self.position = 0

        def __iter__(self) -> "BySteps.Steps":
            return self

        def __next__(self) -> int:
            if self.position >= COUNT:
                raise StopIteration
            self.position += 1
            return self.position * 5 % COUNT

        def state_dict(self) -> dict[str, Any]:
            return {"position": self.position}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.position = state["position"]

    def __iter__(self) -> Iterator[int]:
        return self.Steps()

    def __len__(self) -> int:
        return COUNT


class Batches(Sampler):
    """A batch sampler with a state, whose batches have other lengths."""

    def __iter__(self) -> Iterator[list[int]]:
        for position in range(self.position, self.size, 3):
            self.position = position + 3
            yield [mixed(self.epoch, position + k) % self.size for k in range(1 + position % 2)]
        self.position = 0
        self.epoch += 1

    def __len__(self) -> int:
        return (self.size + 2) // 3


class Kind(NamedTuple):
    """How to make a loader. exact: whether torchdata's loader gives the same."""

    data: Callable[[], Any]
    options: Callable[[], dict[str, Any]] = dict
    exact: bool = True


KINDS = {
    "items": Kind(Items, lambda: {"batch_size": 2}),
    "items, shuffled": Kind(Items, lambda: {"batch_size": 2, "shuffle": True}, exact=False),
    "items, generator": Kind(
        Items,
        lambda: {
            "batch_size": 2,
            "sampler": RandomSampler(range(COUNT), generator=torch.Generator().manual_seed(3)),
        },
    ),
    "items, no batches": Kind(Items, lambda: {"batch_size": None}),
    "drawing": Kind(Drawing, lambda: {"batch_size": 2}),
    "drawing, shuffled": Kind(Drawing, lambda: {"batch_size": 2, "shuffle": True}, exact=False),
    "plain": Kind(Plain, lambda: {"batch_size": 2}),
    "generator": Kind(Generator, lambda: {"batch_size": 3, "drop_last": True}),
    "rows": Kind(Rows, lambda: {"batch_size": 2}),
    "rows, no batches": Kind(Rows, lambda: {"batch_size": None}),
    "own iterator": Kind(Own, lambda: {"batch_size": 2}),
    "sampler": Kind(Numbers, lambda: {"batch_size": 2, "sampler": Sampler()}),
    "sampler and items": Kind(
        Items, lambda: {"batch_size": 3, "sampler": Sampler(), "drop_last": True}
    ),
    "sampler, no batches": Kind(Numbers, lambda: {"batch_size": None, "sampler": Sampler()}),
    "sampler's iterator": Kind(Items, lambda: {"batch_size": 2, "sampler": BySteps()}),
    "batch sampler": Kind(Items, lambda: {"batch_sampler": Batches()}),
    "shuffled": Kind(Numbers, lambda: {"batch_size": 2, "shuffle": True}, exact=False),
}
