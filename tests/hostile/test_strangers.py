"""Mocks, proxies and liars in every argument of DataLoader: what PyTorch's class makes of them,
fastload's does too.
"""

import itertools
import re
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    Subset,
    default_collate,
)
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader

import fastload
from tests.hostile.strangers import STRANGERS

ORDER, BATCHES = [4, 2, 1, 0, 7, 9], [[4, 2], [1], [0, 7, 9]]
FORK = torch.multiprocessing.get_context("fork")
Make = Callable[[Any], Any]


class Squares(Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> torch.Tensor:
        if not 0 <= index < 10:
            raise IndexError(f"no item {index}")
        return torch.tensor([index, index * index])


def chain() -> Any:
    return v1.Compose([v1.Resize((6, 9)), v1.ToTensor()])


def nothing(worker: int) -> None:
    """A worker_init_fn."""


def same(value: Any) -> Any:
    return value


# Each argument: of a data set and of what makes a stranger of something, DataLoader's keywords.
ARGUMENTS: dict[str, Callable[[Any, Make], dict[str, Any]]] = {
    "dataset": lambda data, s: {"dataset": s(data)},
    "sampler": lambda data, s: {"dataset": data, "sampler": s(ORDER)},
    "RandomSampler": lambda data, s: {"dataset": data, "sampler": s(RandomSampler(data))},
    "batch_sampler": lambda data, s: {"dataset": data, "batch_sampler": s(BATCHES)},
    "sampler of batches": lambda data, s: {
        "dataset": data,
        "batch_sampler": BatchSampler(s(ORDER), 4, False),
    },
    "BatchSampler": lambda data, s: {
        "dataset": data,
        "batch_sampler": s(BatchSampler(RandomSampler(data), 4, False)),
    },
    "collate_fn": lambda data, s: {"dataset": data, "collate_fn": s(default_collate)},
    "worker_init_fn": lambda data, s: {"dataset": data, "worker_init_fn": s(nothing)},
    "generator": lambda data, s: {"dataset": data, "generator": s(torch.Generator())},
    "generator of an order": lambda data, s: {
        "dataset": data,
        "generator": s(torch.Generator()),
        "shuffle": True,
    },
    "multiprocessing_context": lambda data, s: {
        "dataset": data,
        "multiprocessing_context": s(FORK),
    },
    "batch_size": lambda data, s: {"dataset": data, "batch_size": s(3)},
    "num_workers": lambda data, s: {"dataset": data, "num_workers": s(0)},
    "pin_memory": lambda data, s: {"dataset": data, "pin_memory": s(True)},
    "drop_last": lambda data, s: {"dataset": data, "drop_last": s(True), "batch_size": 4},
    "timeout": lambda data, s: {"dataset": data, "timeout": s(1)},
    "shuffle": lambda data, s: {"dataset": data, "shuffle": s(True)},
    "prefetch_factor": lambda data, s: {"dataset": data, "prefetch_factor": s(2)},
    "persistent_workers": lambda data, s: {"dataset": data, "persistent_workers": s(True)},
    "pin_memory_device": lambda data, s: {"dataset": data, "pin_memory_device": s("cuda")},
    "in_order": lambda data, s: {"dataset": data, "in_order": s(True)},
    "indices": lambda data, s: {"dataset": Subset(data, s(ORDER))},
    "part of a Subset": lambda data, s: {"dataset": Subset(s(data), ORDER)},
    "part of a ConcatDataset": lambda data, s: {"dataset": ConcatDataset([data, s(data)])},
}
IMAGES: dict[str, Callable[[str, Make], dict[str, Any]]] = {
    "transform": lambda root, s: {"dataset": ImageFolder(root, s(chain()))},
    "a member": lambda root, s: {
        "dataset": ImageFolder(root, v1.Compose([s(v1.Resize((6, 9))), v1.ToTensor()]))
    },
    "target_transform": lambda root, s: {"dataset": ImageFolder(root, chain(), s(same))},
    "loader": lambda root, s: {"dataset": ImageFolder(root, chain(), loader=s(default_loader))},
}
# In workers each takes a fifth of a second.
WORKERS = [(name, stranger) for name in ("worker_init_fn", "multiprocessing_context",
    "prefetch_factor", "persistent_workers", "sampler",
                                         "collate_fn") for stranger in ("Mock", "Unknown",
                                         "Odd")]  # fmt: skip


def clean(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+|id='\d+'", "…", text)


def flat(batch: Any) -> Any:
    if type(batch) is torch.Tensor:
        return str(batch.dtype), batch.tolist()
    return [flat(part) for part in batch] if type(batch) in (list, tuple) else clean(repr(batch))


def seen(kind: type, make: Callable[[], dict[str, Any]]) -> list[Any]:
    """The length and two epochs of a loader, or the error on the way; and whether as much was
    drawn.
    """
    found: list[Any] = []
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loader = kind(**make())
            found.append(len(loader))
            found += [[flat(batch) for batch in loader] for _ in range(2)]
        except Exception as error:
            found.append((type(error).__name__, clean(str(error))))
    return [*found, torch.rand(1).item()]


def spares_torch(name: str, stranger: str) -> None:
    if name.startswith("generator") and stranger == "Unknown" and not gil_is_there():
        pytest.skip("torch 2.11 crashes on such a generator where Python has no GIL")


def gil_is_there() -> bool:
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def compared(make: Callable[[], dict[str, Any]]) -> None:
    ours, theirs = seen(fastload.DataLoader, make), seen(DataLoader, make)
    assert ours == theirs


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_in_every_argument_over_any_data_set(name, stranger):
    spares_torch(name, stranger)
    compared(lambda: {"batch_size": 1, **ARGUMENTS[name](Squares(), STRANGERS[stranger])})


def over_images() -> list[Any]:
    """Arguments that any data set has go with every other stranger, so that each argument meets
    half of them and each of them half of the arguments; the other half is in the long set.
    """
    every = enumerate(itertools.product([*IMAGES, *ARGUMENTS], STRANGERS))
    width = len(STRANGERS)
    return [
        pytest.param(
            name,
            stranger,
            marks=pytest.mark.long
            if name in ARGUMENTS and (number // width + number % width) % 2
            else (),
        )
        for number, (name, stranger) in every
    ]


@pytest.mark.parametrize(("name", "stranger"), over_images())
def test_in_every_argument_over_images(name, stranger, folder):
    spares_torch(name, stranger)

    def make() -> dict[str, Any]:
        given = IMAGES[name](folder, STRANGERS[stranger]) if name in IMAGES else None
        part = Subset(ImageFolder(folder, chain()), range(10))
        return {"batch_size": 1, **(given or ARGUMENTS[name](part, STRANGERS[stranger]))}

    compared(make)


@pytest.mark.parametrize(("name", "stranger"), WORKERS)
def test_with_workers(name, stranger):
    compared(lambda: {"num_workers": 1, **ARGUMENTS[name](Squares(), STRANGERS[stranger])})


def test_what_trainers_tests_do():
    """Mocks of samplers, with the class of what they stand for, as Lightning's and Accelerate's
    tests make them.
    """
    data = Squares()
    for sampler in (
        mock.Mock(),
        mock.MagicMock(),
        mock.Mock(spec=DistributedSampler),
        mock.create_autospec(RandomSampler(data)),
    ):
        for how in (
            {"sampler": sampler},
            {"batch_sampler": sampler},
            {"batch_sampler": BatchSampler(sampler, 2, False)},
        ):
            loader = fastload.DataLoader(data, **how)
            assert loader.explain().startswith("PyTorch's own engine")
            assert loader.state_dict()["step"] == 0
            loader.set_epoch(3)
    sampler.set_epoch = mock.Mock()
    fastload.DataLoader(data, sampler=sampler).set_epoch(5)
    sampler.set_epoch.assert_called_once_with(5)


@pytest.mark.parametrize(
    "loader",
    [mock.Mock(), mock.MagicMock(spec=DataLoader), mock.create_autospec(DataLoader), [1]],
    ids=["Mock", "of the class", "of its shape", "a list"],
)
def test_accelerate_takes_loaders_only(loader):
    with pytest.raises(
        fastload.UsageError, match=r"^accelerate: got \w+, want a torch\.utils\.data\.DataLoader$"
    ):
        fastload.accelerate(loader)


def test_accelerate_keeps_strangers():
    for stranger in STRANGERS.values():
        theirs = DataLoader(
            Squares(), 3, sampler=stranger(ORDER), collate_fn=stranger(default_collate)
        )
        ours = fastload.accelerate(theirs)
        assert (ours.sampler is theirs.sampler, ours.collate_fn is theirs.collate_fn) == (
            True,
            True,
        )
        assert [flat(batch) for batch in ours] == [flat(batch) for batch in theirs]


@pytest.mark.parametrize(
    "function",
    [partial(nothing), Squares().__getitem__, STRANGERS["Odd"](nothing)],
    ids=["partial", "method", "Odd"],
)
def test_explain_runs_no_repr(function):
    text = fastload.DataLoader(Squares(), collate_fn=function).explain()
    assert re.search(
        r"\n  collate_fn is (functools\.partial\(<function nothing at 0x\w+>\)|<[\w.]+ object>)\n",
        text,
    ), text
