"""Orders without a table."""

import torch.utils.data

from fastload import ShuffleSampler


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
    loader = torch.utils.data.DataLoader(list(range(10)), batch_size=5, sampler=ShuffleSampler(10, seed=1))
    assert sorted(torch.cat(list(loader)).tolist()) == list(range(10))
