"""The feeder is asked for several small batches at once, where the order is known."""

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.engine import make
from fastload.engine.epoch import Threaded

OPS = [T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.ToImage()]
STEPS, SIZE = 20, 2


class Backwards(torch.utils.data.Sampler):
    """A sampler of the user's own."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self):
        return iter(range(self.count - 1, -1, -1))

    def __len__(self) -> int:
        return self.count


@pytest.fixture
def asked(monkeypatch):
    """How many batches the feeder was asked for each time."""
    found, real = [], Threaded._ask

    def ask(self) -> None:
        found.append(len(self.gathered))
        real(self)

    monkeypatch.setattr(Threaded, "_ask", ask)
    return found


def loader(folder, workers=1, ops=OPS, **given):
    data = fastload.open(folder, ops)
    few = torch.utils.data.Subset(data, [number % len(data) for number in range(STEPS * SIZE)])
    return fastload.DataLoader(
        few, SIZE, num_workers=workers, seed=3, backend="native", seek_index="off", **given
    )


def test_a_known_order_is_asked_for_in_groups_and_gives_the_same(folder, asked):
    batches = list(loader(folder))
    assert [count for count in asked if count] == [8, 1, 8, 3]
    assert sum(asked) == len(batches) == STEPS
    for one, other in zip(batches, loader(folder, 0), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_sampler_of_ones_own_is_read_as_far_ahead_as_by_pytorch(folder, asked):
    made = loader(folder, sampler=Backwards(STEPS * SIZE))
    assert len(list(made)) == STEPS
    assert [count for count in asked if count] == [1] * STEPS


def of_24(_):
    return 24


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ({"size_schedule": [24]}, [8, 1, 8, 3]),
        ({"size_schedule": of_24}, [1] * STEPS),  # it runs code of the user's
        ({"decode_scale": "fast"}, [1] * STEPS),  # the feeder draws each batch
    ],
)
def test_others_are_asked_for_one_by_one(folder, asked, given, groups):
    assert len(list(loader(folder, ops=[T.RandomResizedCrop(32), T.ToImage()], **given))) == STEPS
    assert [count for count in asked if count] == groups


@pytest.mark.parametrize("workers", [1, 2])
def test_as_many_as_pytorch_has_are_always_under_way(folder, workers):
    batches = iter(loader(folder, workers))
    epoch = batches._batches
    assert batches.depth == 2 * workers + 7
    for step in range(STEPS):
        under_way = epoch.pending - len(epoch.gathered)
        assert under_way >= min(2 * workers, STEPS - step)
        assert under_way <= batches.depth
        next(batches)


@pytest.mark.parametrize(
    ("images", "nbytes", "count"),
    [
        (1, 3 * 176 * 176, 8),
        (16, 3 * 176 * 176, 8),
        (32, 3 * 176 * 176, 4),
        (64, 3 * 176 * 176, 2),
        (128, 3 * 176 * 176, 1),
        (256, 3 * 176 * 176, 1),
        (64, 3 * 32 * 32, 8),
        (64, 4 * 3 * 32 * 32, 8),
        (512, 3 * 32 * 32, 5),
        (1024, 4 * 3 * 32 * 32, 1),
        (8, 4 * 3 * 600 * 800, 1),  # 44 MiB each
        (4, 4 * 3 * 600 * 800, 2),
        (None, 100, 1),
        (16, 0, 1),
    ],
)
def test_only_small_batches_are_asked_for_together(images, nbytes, count):
    assert make.together(images, nbytes) == count
