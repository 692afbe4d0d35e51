"""The order of batches of tokens: a function of seed, epoch and the images of a step."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastload
from fastload.errors import UsageError
from fastload.order import tokens

LENGTHS = (64, 128, 196)


def some_sizes(count, seed=0):
    """Photographs' sizes, more of them wide than tall."""
    generator = np.random.default_rng(seed)
    return np.stack(
        [generator.integers(40, 500, count), generator.integers(40, 700, count)], axis=1
    )


def ranks(world, count=203, tokens=2048, **options):
    """The samplers of all ranks."""
    return [
        fastload.TokenSampler(
            some_sizes(count),
            tokens,
            **{"lengths": LENGTHS, "num_replicas": world, "rank": rank, **options},
        )
        for rank in range(world)
    ]


@pytest.mark.parametrize("lengths", [100, LENGTHS])
@pytest.mark.parametrize("padding", [0.0, 0.03, 0.2])
def test_each_sample_comes_once_in_rows_with_little_padding(lengths, padding):
    (batches,) = ranks(1, lengths=lengths, padding=padding)
    for epoch in range(3):
        batches.set_epoch(epoch)
        assert len(batches) == len(list(batches))
        batches.set_epoch(epoch)
        found = list(batches.batches())
        assert sorted(itertools.chain(*(part.samples for part in found))) == list(range(203))
        for part in found:
            length, counts = part.tokens.length, part.tokens.grids.prod(axis=1)
            assert length * len(part.samples) <= 2048
            assert counts.max() <= length
            assert counts.min() >= length * (1 - padding)
            assert part.tokens.grids.tolist() == sorted(part.tokens.grids.tolist())
    assert 0 <= batches.padded <= padding
    assert batches.left_out == 0


def test_each_image_has_each_length_once_in_as_many_epochs():
    (batches,) = ranks(1)
    seen = np.zeros((203, len(LENGTHS)), int)
    for epoch in range(len(LENGTHS)):
        batches.set_epoch(epoch)
        for part in batches.batches():
            for sample, grid in zip(part.samples, part.tokens.grids, strict=True):
                seen[sample] += [batches.grid_of(sample, at) == (*grid,) for at in LENGTHS]
        assert abs(seen.sum(axis=0) - (epoch + 1) * 203 / 3).max() <= 3
    assert (seen == 1).all()


@pytest.mark.parametrize("world", [1, 2, 4, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_all_ranks_have_the_same_steps(world, drop_last):
    samplers = ranks(world, tokens=200 * 7 // world, drop_last=drop_last)
    steps = [list(each.batches()) for each in samplers]
    for each in samplers:
        each.set_epoch(0)
    assert {len(each) for each in steps} == {len(samplers[0])}
    seen, left_out = [], samplers[0].left_out
    for parts in zip(*steps, strict=True):
        assert len({part.tokens.length for part in parts}) == 1
        assert len({len(part.samples) for part in parts}) == 1
        seen += [s for part in parts for s in part.samples[part.occurrences == 0]]
        again = sum(int((part.occurrences > 0).sum()) for part in parts)
        assert again <= (0 if drop_last else world - 1)
    assert len(seen) == len({*seen}) == 203 - left_out
    assert (left_out == 0) == (not drop_last)


def test_the_order_is_of_seed_and_epoch():
    first, again, other = ranks(1)[0], ranks(1)[0], ranks(1, seed=1)[0]
    epochs = [list(first) for _ in range(4)]
    again.set_epoch(3)
    assert list(again) == epochs[3]
    assert epochs[0] != epochs[3]
    assert list(other) != epochs[0]


@pytest.mark.parametrize("drop_last", [False, True])
def test_any_step_can_be_the_first(drop_last):
    (batches,) = ranks(1, drop_last=drop_last)
    batches.set_epoch(3)
    whole = [part.samples.tolist() for part in batches.batches()]
    for first in range(len(whole) + 1):
        batches.set_epoch(3)
        assert [part.samples.tolist() for part in batches.batches(first)] == whole[first:]


@settings(max_examples=30)
@given(
    count=st.integers(0, 60), world=st.integers(1, 5), drop_last=st.booleans(),
    seed=st.integers(0, 2**64 - 1), shuffle=st.booleans(),
)  # fmt: skip
def test_its_laws_hold_whatever_the_numbers_are(count, world, drop_last, seed, shuffle):
    samplers = ranks(
        world, count, 700, lengths=(30, 90), drop_last=drop_last, seed=seed, shuffle=shuffle
    )
    left_out = samplers[0].left_out
    steps = [list(each.batches()) for each in samplers]
    assert len({len(each) for each in steps}) == 1
    every = np.concatenate([np.zeros(0, np.int64), *(p.samples for each in steps for p in each)])
    assert len(np.unique(every)) == count - left_out


def test_photographs_are_hardly_padded():
    """Of 100,000 sizes of photographs at timm's five lengths."""
    generator = np.random.default_rng(5)
    aspects = np.exp(generator.normal(0.2, 0.35, 100_000))
    area = generator.uniform(200, 600, 100_000)
    sizes = np.stack([area / np.sqrt(aspects), area * np.sqrt(aspects)], axis=1).astype(int)
    batches = fastload.TokenSampler(sizes, 16384, lengths=(128, 256, 576, 784, 1024))
    assert batches.padded < 0.015
    assert len(batches.rows) < 100


@pytest.mark.parametrize("world", [1, 2, 4, 7, 8])
def test_drop_last_leaves_hardly_a_photograph_out(world):
    """Of 50,000 sizes at timm's lengths, of which steps of 8 ranks are up to 1,024 images."""
    generator = np.random.default_rng(6)
    aspects = np.exp(generator.normal(0.2, 0.35, 50_000))
    sizes = np.stack([500 / np.sqrt(aspects), 500 * np.sqrt(aspects)], axis=1).astype(int)
    options = {"lengths": (128, 256, 576, 784, 1024), "num_replicas": world, "rank": 0}
    batches = fastload.TokenSampler(sizes, 16384, drop_last=True, **options)
    for epoch in range(2):
        batches.set_epoch(epoch)
        assert batches.left_out <= 0.004 * 50_000
    assert batches.padded < 0.03


@pytest.mark.parametrize("padding", [0.01, 0.03, 0.2])
@pytest.mark.parametrize("world", [1, 3])
def test_moves_to_longer_rows_keep_to_the_padding(padding, world):
    """What the batches are is counted; each image keeps its own grid."""
    samplers = ranks(world, 2000, 900, padding=padding, drop_last=True)
    moved = []
    for epoch in range(3):
        real = whole = 0
        for rank in samplers:
            rank.set_epoch(epoch)
            for part in rank.batches():
                counts = part.tokens.grids.prod(axis=1)
                assert part.tokens.length * len(counts) <= 900
                real, whole = real + counts.sum(), whole + part.tokens.length * len(counts)
                far = counts < part.tokens.length * (1 - padding)
                moved += part.samples[far].tolist()
                for sample, grid in zip(part.samples[far], part.tokens.grids[far], strict=True):
                    assert (*grid,) in [rank.grid_of(sample, at) for at in LENGTHS]
        assert 1 - real / whole <= padding
    assert len({*moved}) > len(moved) / 2  # other ones in each epoch


def test_without_a_share_of_padding_nothing_moves():
    (batches,) = ranks(1, 2000, 900, padding=0, drop_last=True)
    assert batches.left_out == int((batches._groups(0).count % batches._together).sum()) > 100
    for part in batches.batches():
        assert (part.tokens.grids.prod(axis=1) == part.tokens.length).all()


def test_it_says_what_its_batches_are():
    (batches,) = ranks(1, lengths=49, drop_last=True)
    text = batches.said()
    assert text.startswith("patches of 16 px, rows of 49, ")
    assert f"; 2,048 per batch at most, {len(batches)} steps of 1 ranks; " in text
    assert text.endswith(f" images left out, {batches.padded:.1%} padding")


WRONG = {
    "tokens": ({"tokens": 100}, "tokens is 100, want 256 or more, one image"),
    "no tokens": ({"tokens": 0.5}, "tokens is 0.5, want 256 or more, one image"),
    "length": ({"lengths": (0, 5)}, "length is 0, want 1 to 1048576"),
    "lengths": ({"lengths": ()}, "lengths are [], want 1 to 64 different ones"),
    "twice": ({"lengths": (9, 9)}, "lengths are [9, 9], want 1 to 64 different ones"),
    "patch": ({"patch": 0}, "patch is 0, want 1 to 16384"),
    "padding": ({"padding": 1}, "padding is 1, want 0 or more, below 1"),
    "enlarge": ({"enlarge": 0}, "enlarge is 0, want more than 0, or None"),
    "seed": ({"seed": -1}, "seed is -1, want 0 to 2**64 - 1"),
    "rank": ({"num_replicas": 2, "rank": 2}, "rank is 2, want 0 to 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    options, text = WRONG[name]
    with pytest.raises(UsageError) as error:
        fastload.TokenSampler([(10, 10)], **{"tokens": 1024, **options})
    assert str(error.value) == f"TokenSampler: {text}"


def test_more_row_lengths_than_can_be_numbered_are_refused(monkeypatch):
    monkeypatch.setattr(tokens, "MOST_ROWS", 3)
    sizes = [(16, 16), (16, 32), (16, 64), (16, 128)]
    fastload.TokenSampler(sizes, 64, lengths=64, padding=0.5, enlarge=1)
    with pytest.raises(UsageError) as error:
        fastload.TokenSampler(sizes, 64, lengths=64, padding=0, enlarge=1)
    assert str(error.value) == (
        "TokenSampler: lengths and padding make 4 lengths of rows or more, want up to 3; allow "
        "more padding"
    )


def test_data_without_sizes_is_refused():
    with pytest.raises(UsageError) as error:
        fastload.TokenSampler("photos", 1024)
    assert str(error.value) == (
        "TokenSampler: data is of str, and nothing tells its images' sizes; give them in its "
        "place: heights and widths, int [N, 2]"
    )
