"""The order of batches by aspect-ratio buckets: a function of seed, epoch and global batch."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastload
from fastload.errors import UsageError

SHAPES = [(64, 32), (48, 48), (32, 64)]


def some_sizes(count, seed=0):
    """Photographs' sizes, more of them wide than tall."""
    generator = np.random.default_rng(seed)
    return np.stack(
        [generator.integers(40, 500, count), generator.integers(40, 700, count)], axis=1
    )


def ranks(world, count=203, together=28, **options):
    """The samplers of all ranks, which take `together` images in a step."""
    return [
        fastload.BucketSampler(
            some_sizes(count),
            together // world,
            pixels=256 * 256,
            num_replicas=world,
            rank=rank,
            **options,
        )
        for rank in range(world)
    ]


def test_each_batch_has_one_bucket_and_each_sample_comes_once():
    (batches,) = ranks(1)
    for _ in range(2):
        found = list(batches)
        assert len(found) == len(batches)
        assert sorted(itertools.chain(*found)) == list(range(203))
        for batch in found:
            assert len({batches.bucket_of(index) for index in batch}) == 1
    assert sum(batches.counts.values()) == 203
    assert batches.left_out == 0


@pytest.mark.parametrize("world", [1, 2, 4, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_all_ranks_have_the_same_steps(world, drop_last):
    samplers = ranks(world, drop_last=drop_last)
    one = ranks(1, drop_last=drop_last)[0]
    steps = [list(each.batches()) for each in samplers]
    whole = list(one.batches())
    assert {len(each) for each in steps} == {len(one)}
    seen = set()
    for number, parts in enumerate(zip(*steps, strict=True)):
        assert {part.size for part in parts} == {whole[number].size}
        assert len({len(part.samples) for part in parts}) == 1
        first = [
            sample
            for part in parts
            for sample, again in zip(part.samples, part.occurrences, strict=True)
            if not again
        ]
        # The same images as one rank alone has in this step
        assert sorted(first) == sorted(whole[number].samples)
        again = sum(int((part.occurrences > 0).sum()) for part in parts)
        assert again <= (0 if drop_last else world - 1)
        assert not seen & {*first}
        seen |= {*first}
    assert len(seen) == 203 - one.left_out
    assert (one.left_out == 0) == (not drop_last)


def test_the_order_is_of_seed_and_epoch():
    first, again, other = ranks(1)[0], ranks(1)[0], ranks(1, seed=1)[0]
    epochs = [list(first) for _ in range(3)]
    again.set_epoch(2)
    assert list(again) == epochs[2]
    assert epochs[0] != epochs[1]
    assert list(other) != epochs[0]
    assert [len(batch) for batch in epochs[0]] != [len(batch) for batch in epochs[1]]


def test_any_step_can_be_the_first():
    (batches,) = ranks(1, together=5)
    batches.set_epoch(3)
    whole = [part.samples.tolist() for part in batches.batches()]
    for first in range(len(whole) + 1):
        batches.set_epoch(3)
        assert [part.samples.tolist() for part in batches.batches(first)] == whole[first:]


def test_without_shuffle_all_come_by_number():
    (batches,) = ranks(1, shuffle=False)
    found = list(batches.batches())
    by_bucket = {}
    for part in found:
        by_bucket.setdefault(part.size, []).extend(part.samples.tolist())
    assert all(samples == sorted(samples) for samples in by_bucket.values())
    assert [part.size for part in found] == sorted(
        (part.size for part in found), key=[*by_bucket].index
    )


@settings(max_examples=40)
@given(
    count=st.integers(0, 60),
    world=st.integers(1, 5),
    batch=st.integers(1, 9),
    drop_last=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
def test_its_laws_hold_whatever_the_numbers_are(count, world, batch, drop_last, seed):
    samplers = [
        fastload.BucketSampler(
            some_sizes(count, 3),
            batch,
            buckets=SHAPES,
            num_replicas=world,
            rank=rank,
            drop_last=drop_last,
            seed=seed,
        )
        for rank in range(world)
    ]
    steps = [list(each.batches()) for each in samplers]
    assert {len(each) for each in steps} == {len(samplers[0])}
    every = np.concatenate([np.zeros(0, np.int64), *(p.samples for each in steps for p in each)])
    assert len(np.unique(every)) == count - samplers[0].left_out
    most = len(SHAPES) * (world - 1)
    assert len(every) - len(np.unique(every)) <= (0 if drop_last else most)


def test_a_budget_of_pixels_makes_batches_of_other_lengths():
    batches = fastload.BucketSampler(
        [(300, 300)] * 50 + [(40, 40)] * 50, batch_pixels=16 * 16 * 400, seed=1,
        buckets=[(256, 256), (32, 32)],
    )  # fmt: skip
    lengths = {(part.size, len(part.samples)) for part in batches.batches()}
    assert lengths == {((256, 256), 1), ((32, 32), 50)}


def test_a_mean_says_what_is_cut():
    found = fastload.BucketSampler([(100, 200), (100, 100)], 1, buckets=[(32, 32)])
    assert found.cropped == pytest.approx(0.25)
    assert found.said() == (
        "1 sizes (32x32 100%), 2 steps of 1 ranks; 25.0% of the pixels lie outside of the "
        "buckets' aspects"
    )


WRONG = {
    "no length": ({}, "0 of batch_size and batch_pixels are given, want exactly one"),
    "both": (
        {"batch_size": 2, "batch_pixels": 3},
        "2 of batch_size and batch_pixels are given, want exactly one",
    ),
    "nothing": ({"batch_size": 0}, "batch_size is 0, want 1 or more"),
    "seed": ({"batch_size": 1, "seed": -1}, "seed is -1, want 0 to 2**64 - 1"),
    "rank": ({"batch_size": 1, "num_replicas": 2, "rank": 2}, "rank is 2, want 0 to 1"),
    "ranks": (
        {"batch_size": 1, "num_replicas": 0, "rank": 0},
        "num_replicas is 0, want 1 or more",
    ),
    "pixels": ({"batch_size": 1, "pixels": 0}, "pixels is 0, want 1 or more"),
    "step": ({"batch_size": 1, "step": 1.5}, "step is 1.5, want 1 or more"),
    "aspect": ({"batch_size": 1, "max_aspect": 0.5}, "max_aspect is 0.5, want 1 or more"),
    "slack": ({"batch_size": 1, "slack": 1}, "slack is 1, want 0 or more, below 1"),
    "too small": (
        {"batch_size": 1, "pixels": 100},
        (
            "0 sizes have up to 100 px and are multiples of 64 px (want 1 to 4096); change step, "
            "slack or max_aspect"
        ),
    ),
    "no buckets": ({"batch_size": 1, "buckets": []}, "buckets has 0 sizes, want 1 to 4096"),
    "a bucket": (
        {"batch_size": 1, "buckets": [(32, 0)]},
        "bucket is (32, 0), want (height, width), each 1 to 16384 px",
    ),
    "twice": ({"batch_size": 1, "buckets": [(8, 8), (8, 8)]}, "buckets has a size twice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    options, text = WRONG[name]
    with pytest.raises(UsageError) as error:
        fastload.BucketSampler([(10, 10)], **options)
    assert str(error.value) == f"BucketSampler: {text}"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            "photos",
            (
                "data is of str, and nothing tells its images' sizes; give them in its place: "
                "heights and widths, int [N, 2]"
            ),
        ),
        (
            [(1, -2)],
            "data has a size of -2 px, want 0 to 2**31 - 1",
        ),
    ],
)
def test_data_without_sizes_is_refused(data, text):
    with pytest.raises(UsageError) as error:
        fastload.BucketSampler(data, 1)
    assert str(error.value) == f"BucketSampler: {text}"
