"""Orders without a table, and PyTorch's orders as arrays."""

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

import fastload
from fastload import ShuffleSampler
from fastload.order import samplers


def test_each_epoch_is_another_permutation_and_repeatable():
    sampler = ShuffleSampler(5000, seed=9)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(5000))
    assert first != second
    assert list(ShuffleSampler(5000, seed=9)) == first
    assert list(ShuffleSampler(5000, seed=10)) != first
    assert len(sampler) == 5000


def test_set_epoch_chooses_the_permutation():
    sampler = ShuffleSampler(100, seed=9)
    orders = [list(sampler) for _ in range(3)]
    sampler.set_epoch(1)
    assert [list(sampler), list(sampler)] == orders[1:]


def test_it_is_a_sampler_for_pytorchs_own_loader():
    data = list(range(10))
    loader = torch.utils.data.DataLoader(data, batch_size=5, sampler=ShuffleSampler(data))
    assert sorted(torch.cat(list(loader)).tolist()) == data


@pytest.mark.parametrize(("length", "ranks"), [(10, 3), (9, 3), (2, 5), (1, 2), (0, 2), (5000, 7)])
@pytest.mark.parametrize("drop_last", [True, False])
def test_ranks_share_one_order_as_torchs_distributed_sampler_does(length, ranks, drop_last):
    whole = list(ShuffleSampler(length, 4))
    parts = [
        list(ShuffleSampler(length, 4, num_replicas=ranks, rank=rank, drop_last=drop_last))
        for rank in range(ranks)
    ]
    theirs = (
        [
            DistributedSampler(range(length), ranks, rank, shuffle=False, drop_last=drop_last)
            for rank in range(ranks)
        ]
        if length
        else []
    )
    if length >= ranks:
        want = [[whole[position] for position in one] for one in theirs]
        assert parts == want
    sizes = {len(part) for part in parts}
    assert sizes == {
        len(ShuffleSampler(length, 4, num_replicas=ranks, rank=0, drop_last=drop_last))
    }
    assert all(len(set(part)) == len(part) for part in parts)
    if not drop_last:
        assert {sample for part in parts for sample in part} == set(range(length))


def test_it_asks_torch_distributed_where_told_to(monkeypatch):
    sampler = ShuffleSampler(10, num_replicas=None)
    assert (sampler.num_replicas, sampler.rank) == (1, 0)  # no process group
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 3)
    sampler = ShuffleSampler(10, num_replicas=None)
    assert (sampler.num_replicas, sampler.rank, len(sampler)) == (4, 3, 3)
    assert ShuffleSampler(10).num_replicas == 1


def test_wrong_arguments_of_a_shuffle():
    with pytest.raises(fastload.UsageError) as caught:
        ShuffleSampler(-1, -2, num_replicas=0, rank=3)
    assert str(caught.value).splitlines() == [
        "ShuffleSampler: data_source is -1, want 0 samples or more",
        "ShuffleSampler: seed is -2, want 0 to 2**64 - 1",
        "ShuffleSampler: num_replicas is 0, want 1 or more",
        "ShuffleSampler: rank is 3, want 0 to 0",
    ]


def test_a_huge_order_starts_at_once():
    sampler = iter(ShuffleSampler(1 << 40, seed=2))
    first = [next(sampler) for _ in range(3)]
    assert len({value for value in first if 0 <= value < 1 << 40}) == 3


@pytest.mark.parametrize("length", [1, 7, 8, 20])
@pytest.mark.parametrize("size", [1, 4, 30])
@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("kind", ["sequential", "default generator", "own generator"])
def test_torchs_orders_as_arrays(length, size, drop_last, kind):
    def run(read):
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(2)
        data = range(length)
        sampler = (
            SequentialSampler(data)
            if kind == "sequential"
            else RandomSampler(data, generator=generator if "own" in kind else None)
        )
        iterator, found = iter(read(BatchSampler(sampler, size, drop_last))), []
        for step in range(length + 2):  # the states after each batch, and at the end
            batch = next(iterator, None)
            found.append(
                (
                    None if batch is None else list(batch),
                    torch.get_rng_state().tolist(),
                    generator.get_state().tolist(),
                )
            )
            assert step or batch is not None or (drop_last and size > length)
        return found

    assert run(samplers.order) == run(lambda batches: batches)


def known(kind, length):
    """A sampler whose order is read as arrays."""
    if kind == "shuffle":
        return ShuffleSampler(length, 3, num_replicas=2, rank=1)
    if kind == "default generator":
        return RandomSampler(range(length))
    if kind == "own generator":
        return RandomSampler(range(length), generator=torch.Generator().manual_seed(2))
    return DistributedSampler(
        range(length), 3, 1, shuffle=kind == "torch's shuffled", seed=5, drop_last=length == 20
    )


@pytest.mark.parametrize("length", [1, 7, 20])
@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize(
    "kind", ["shuffle", "torch's", "torch's shuffled", "default generator", "own generator"]
)
def test_known_orders_can_begin_at_any_batch(length, drop_last, kind):
    torch.manual_seed(1)
    whole = [list(batch) for batch in BatchSampler(known(kind, length), 3, drop_last)]
    for first in range(len(whole) + 2):
        torch.manual_seed(1)
        batches = samplers.order(BatchSampler(known(kind, length), 3, drop_last), first)
        assert [batch.tolist() for batch in batches] == whole[first:]


def test_other_orders_are_left_to_their_classes():
    class Mine(RandomSampler):
        pass

    class Batches(BatchSampler):
        pass

    data = range(5)
    plain = RandomSampler(data)
    others = [
        RandomSampler(data, num_samples=7),
        RandomSampler(data, replacement=True),
        Mine(data),
        [1, 2],
    ]
    assert [samplers.order(BatchSampler(sampler, 2, False)) for sampler in others] == [None] * 4
    assert samplers.order(Batches(plain, 2, False)) is None
    assert samplers.order([[1, 2]]) is None
    assert samplers.order(BatchSampler(plain, 2, False)) is not None


def test_occurrences_count_up():
    seen = np.zeros(5, np.int64)
    assert samplers.occurrences(np.array([1, 1, 4]), seen).tolist() == [0, 1, 0]
    assert samplers.occurrences(np.array([1, 0]), seen).tolist() == [2, 0]
    assert samplers.occurrences(np.array([1, 1]), None).tolist() == [0, 0]


def test_known_orders_say_what_their_indices_are_below():
    kinds = (SequentialSampler, RandomSampler, samplers.ShuffleSampler)
    assert [samplers.below(kind(range(7))) for kind in kinds] == [7, 7, 7]
    assert samplers.below(DistributedSampler(range(5), 2, 1)) == 5
