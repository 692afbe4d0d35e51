"""fastload.DistributedSampler: one order, shared by ranks."""

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler

import fastload
from fastload import DistributedSampler, ShuffleSampler


def parts(length, world, **named):
    return [DistributedSampler(length, world, rank, **named) for rank in range(world)]


def in_turn(samplers, size=7):
    """Samples, occurrences and validity in the global order."""
    every = [list(sampler.batches(size)) for sampler in samplers]
    joined = [
        [np.concatenate([getattr(part, name) for part in own]) for own in every]
        for name in ("samples", "occurrences")
    ]
    assert len({len(own) for own in every}) == 1  # equal numbers of batches
    return [np.stack(one, axis=1).ravel().tolist() for one in joined]


@pytest.mark.parametrize(("length", "world"), [(40, 4), (41, 4), (3, 5), (1, 1), (5000, 3)])
@pytest.mark.parametrize("drop_last", [True, False])
def test_the_order_is_shuffle_samplers(length, world, drop_last):
    mine = parts(length, world, seed=3, drop_last=drop_last)
    theirs = [
        ShuffleSampler(length, 3, num_replicas=world, rank=rank, drop_last=drop_last)
        for rank in range(world)
    ]
    for _ in range(2):
        assert [list(one) for one in mine] == [list(one) for one in theirs]
    assert [len(one) for one in mine] == [len(one) for one in theirs]
    mine[0].set_epoch(7)
    theirs[0].set_epoch(7)
    assert list(mine[0]) == list(theirs[0])


def test_in_order():
    assert [list(one) for one in parts(7, 2, shuffle=False)] == [[0, 2, 4, 6], [1, 3, 5, 0]]


@pytest.mark.parametrize("world", [1, 2, 4])
def test_repeats_are_torchvisions_rule(world):
    """512 of 600 positions, each sample of the permutation three times in a row, copies on
    different ranks.
    """
    order = list(ShuffleSampler(600, 2))
    samples, copies = in_turn(parts(600, world, seed=2, repeats=3))
    assert samples == [order[position // 3] for position in range(512)]
    assert copies == [position % 3 for position in range(512)]
    assert {len(one) for one in parts(600, world, seed=2, repeats=3)} == {512 // world}


def test_repeats_of_a_small_data_set():
    samples, copies = in_turn(parts(10, 1, seed=2, repeats=2))
    assert len(samples) == 10
    assert copies == [0, 1] * 5
    assert len(set(samples)) == 5


def test_weights(p_value):
    weights = np.array([0.0, 1, 2, 0, 5, 0])
    sampler = DistributedSampler(6, seed=8, weights=weights, num_samples=20000)
    counts = np.bincount(list(sampler), minlength=6)
    assert p_value(counts, weights / weights.sum()) > 1e-3
    assert list(sampler) != list(
        DistributedSampler(6, seed=8, weights=weights, num_samples=20000)
    )  # epoch 1, epoch 0


@pytest.mark.parametrize("unit", [1.0, 1e307, 1e-318, 2.0**-1060])
def test_weights_of_any_unit(unit):
    weights = np.array([3.0, 1, 0, 4]) * unit
    found = list(DistributedSampler(4, seed=8, weights=weights, num_samples=400))
    assert found == list(DistributedSampler(4, seed=8, weights=[3.0, 1, 0, 4], num_samples=400))


def test_seeds_and_ranks_are_whole_numbers_of_any_kind():
    found = DistributedSampler(9, np.int64(2), torch.tensor(1), seed=np.uint64(2**63))
    assert [type(each) for each in (found.num_replicas, found.rank, found.seed)] == [int] * 3
    assert list(found) == list(DistributedSampler(9, 2, 1, seed=2**63))
    other = ShuffleSampler(9, np.uint8(7), num_replicas=np.int32(2), rank=np.int8(1))
    assert list(other) == list(ShuffleSampler(9, 7, num_replicas=2, rank=1))
    with pytest.raises(fastload.UsageError) as caught:
        DistributedSampler(4, "2", 0.0, seed=1.5)
    assert str(caught.value).splitlines() == [
        "DistributedSampler: seed is 1.5, want 0 to 2**64 - 1",
        "DistributedSampler: num_replicas is '2', want 1 or more",
        "DistributedSampler: rank is 0.0, want 0 to 0",
    ]


@pytest.mark.parametrize("world", [1, 2, 3])
def test_weighted_occurrences_count_in_the_global_order(world):
    samples, occurrences = in_turn(parts(9, world, seed=1, weights=np.arange(9), num_samples=90))
    seen = dict.fromkeys(range(9), 0)
    for sample, occurrence in zip(samples, occurrences, strict=True):
        assert occurrence == seen[sample]
        seen[sample] += 1


@pytest.mark.parametrize(
    "named", [{}, {"repeats": 3}, {"weights": np.arange(1000.0)}, {"eval_exact": True}]
)
@pytest.mark.parametrize("drop_last", [True, False])
def test_it_can_begin_at_any_batch(named, drop_last):
    def run(first):
        found = DistributedSampler(1000, 3, 1, seed=4, **named).batches(32, drop_last, first)
        return [[None if one is None else one.tolist() for one in part] for part in found]

    whole = run(0)
    assert [part[0] for part in whole] == list(
        BatchSampler(DistributedSampler(1000, 3, 1, seed=4, **named), 32, drop_last)
    )
    for first in range(len(whole) + 2):
        assert run(first) == whole[first:]


@pytest.mark.parametrize(("length", "world"), [(40, 3), (41, 4), (2, 5), (12, 4)])
def test_exact_evaluation(length, world):
    found = [
        part
        for one in parts(length, world, shuffle=False, eval_exact=True)
        for part in one.batches(4)
    ]
    valid = [sample for part in found for sample in part.samples[part.valid].tolist()]
    assert sorted(valid) == list(range(length))
    assert (
        len(
            {
                sum(len(part.samples) for part in one.batches(4))
                for one in parts(length, world, eval_exact=True)
            }
        )
        == 1
    )


def test_a_huge_order_starts_at_once():
    part = next(DistributedSampler(1 << 40, 8, 3, seed=1).batches(4, first=1 << 30))
    assert len(set(part.samples.tolist())) == 4


def test_everything_that_is_wrong_at_once():
    with pytest.raises(fastload.UsageError) as caught:
        DistributedSampler(
            5,
            2,
            3,
            seed=-1,
            repeats=0,
            weights=[1.0, 2],
            num_samples=4,
            eval_exact=True,
            drop_last=True,
        )
    assert str(caught.value).splitlines() == [
        "DistributedSampler: seed is -1, want 0 to 2**64 - 1",
        "DistributedSampler: rank is 3, want 0 to 1",
        "DistributedSampler: repeats is 0, want 1 or more",
        "DistributedSampler: repeats and weights are both given, want one of them",
        (
            "DistributedSampler: eval_exact and drop_last are both given, but drop_last leaves "
            "samples out"
        ),
        "DistributedSampler: eval_exact is given with repeats or weights; leave these out",
        "DistributedSampler: weights have shape [2], want [5], one per sample",
    ]
    for weights in ([0.0] * 3, [1, -1, 2], [float("nan")] * 3):
        with pytest.raises(
            fastload.UsageError,
            match=r"^DistributedSampler: weights are not all finite and 0 or more with a sum above "
            r"0; mend them$",
        ):
            DistributedSampler(3, weights=weights)
    with pytest.raises(
        fastload.UsageError,
        match=r"^DistributedSampler: num_samples is given without weights; leave it out$",
    ):
        DistributedSampler(3, num_samples=5)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"repeats": 1.5}, "repeats is 1.5, want 1 or more"),
        ({"repeats": "3"}, "repeats is '3', want 1 or more"),
        ({"weights": [1, 2, 3], "num_samples": 1.5}, "num_samples is 1.5, want 0 or more"),
    ],
)
def test_counts_are_whole_numbers(arguments, text):
    with pytest.raises(fastload.UsageError) as caught:
        DistributedSampler(3, 1, 0, **arguments)
    assert str(caught.value) == f"DistributedSampler: {text}"


def test_counts_may_be_numpys():
    weighted = DistributedSampler(3, 1, 0, weights=[1, 2, 3], num_samples=np.int64(5))
    assert list(weighted) == list(DistributedSampler(3, 1, 0, weights=[1, 2, 3], num_samples=5))
    assert list(DistributedSampler(600, 1, 0, repeats=np.int32(3))) == list(
        DistributedSampler(600, 1, 0, repeats=3)
    )
