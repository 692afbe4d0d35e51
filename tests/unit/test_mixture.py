"""The order of a mix: shares, passes, and one order for any number of ranks."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from fastload import DistributedSampler, ShuffleSampler
from fastload.dataset import Dataset
from fastload.errors import UsageError
from fastload.order import mixture
from fastload.order.mixture import Mixture
from fastload.plan.pipeline import Pipeline
from fastload.sources import FileSource
from fastload.sources.mixed import Mixed, Phase, Recipe, edges

RANDOM = np.random.default_rng(5)


def part(size):
    return FileSource("x", ("x",) * size, np.zeros(size, np.int64), ("a",))


def mixed(sizes, counts, *later):
    """A mix with so many draws of each part in an epoch; later: other weights, as Phases."""
    first = Phase(0, tuple(map(Fraction, counts)))
    names = tuple("abcdefgh"[: len(sizes)])
    return Mixed(tuple(map(part, sizes)), Recipe(names, sum(counts), (first, *later)))


def drawn(mix, epochs, seed=3):
    """Samples and occurrences of whole epochs, one row each."""
    order, every = Mixture(mix), np.arange(mix.recipe.length)
    out = [order.at(every, seed, epoch) for epoch in range(epochs)]
    return np.stack([samples for samples, _ in out]), np.stack([times for _, times in out])


def part_of(mix, samples):
    return np.searchsorted(mix.starts, samples, side="right") - 1


def shares(mix, samples):
    return np.bincount(part_of(mix, samples).ravel(), minlength=len(mix.parts))


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [([5, 3], [4, 2]), ([50, 7, 900], [70, 20, 3010]), ([9000, 4000, 10], [7000, 2000, 10]),
     ([3], [10]), ([5, 5], [1, 0])],
)  # fmt: skip
def test_an_epoch_has_exactly_its_shares(sizes, counts):
    mix = mixed(sizes, counts)
    samples, _ = drawn(mix, 3)
    for epoch in samples:
        assert shares(mix, epoch).tolist() == counts
    assert len(np.unique(samples, axis=0)) == 3 or len(samples[0]) < 3  # of an order each


def test_shares_are_within_a_thousandth_after_100_000_draws():
    for _ in range(10):
        weights = RANDOM.dirichlet(np.ones(5))
        counts = Phase(0, tuple(map(Fraction, weights))).counts(1_000_000)
        if min(counts) < 2:
            continue
        mix = mixed([700, 90_000, 5, 3000, 40], counts)
        samples, _ = Mixture(mix).at(np.arange(100_000), int(RANDOM.integers(1 << 60)), 2)
        assert np.abs(shares(mix, samples) / 100_000 - weights).max() < 1e-3


def test_parts_are_spread_over_the_whole_epoch():
    counts = [60_000, 30_000, 9_000, 1_000]
    mix = mixed([70_000, 40_000, 100, 10], counts)
    samples, _ = drawn(mix, 1)
    blocks = mixture.block_count(100_000, tuple(counts))
    ends = np.arange(1, blocks + 1) * 100_000 // blocks
    parts = part_of(mix, samples[0])
    for number, count in enumerate(counts):
        came = np.cumsum(parts == number)
        ahead = came - (np.arange(100_000) + 1) * count / 100_000
        # Less than one in front of each block, and inside of one a random walk that
        # comes back
        assert np.abs(ahead).max() < 1 + 2.5 * np.sqrt(100_000 / blocks)
        assert np.abs(ahead[ends - 1]).max() <= 1


def test_a_part_comes_again_only_when_all_of_it_was_seen():
    mix = mixed([50, 7, 400], [30, 20, 50])
    samples, occurrences = drawn(mix, 20)
    for number, size in enumerate((50, 7, 400)):
        mine = samples.ravel()[part_of(mix, samples.ravel()) == number] - mix.starts[number]
        passes = [mine[at : at + size] for at in range(0, len(mine) - size + 1, size)]
        assert len(passes) >= 2
        for one in passes:
            assert np.array_equal(np.sort(one), np.arange(size))
        assert not np.array_equal(passes[0], passes[1])
    for epoch in range(20):
        both = np.stack([samples[epoch], occurrences[epoch]], axis=1)
        assert len(np.unique(both, axis=0)) == len(both)  # no image twice with the same draws
        assert occurrences[epoch].min() == 0


def test_seeds_and_epochs_have_orders_of_their_own():
    mix = mixed([500, 300], [500, 300])
    every = np.arange(800)
    orders = [Mixture(mix).at(every, seed, epoch)[0] for seed in (0, 1) for epoch in (0, 1)]
    for one in range(4):
        for other in range(one):
            assert (orders[one] == orders[other]).mean() < 0.05
    assert np.array_equal(Mixture(mix).at(every, 0, 1)[0], orders[1])


def test_any_positions_in_any_order():
    mix = mixed(
        [500, 30, 77], [5000, 300, 700], Phase(1500, (Fraction(1), Fraction(1), Fraction()))
    )
    whole = Mixture(mix).at(np.arange(6000), 9, 0)
    some = RANDOM.permutation(6000)[:500]
    assert [part.tolist() for part in Mixture(mix).at(some, 9, 0)] == [
        part[some].tolist() for part in whole
    ]


def test_other_weights_from_a_draw_on():
    """Epochs of 100 draws: the weights change inside the second one and before the fifth."""
    later = [Phase(150, (Fraction(0), Fraction(1))), Phase(400, (Fraction(1), Fraction(3)))]
    mix = mixed([90, 60], [50, 50], *later)
    samples, _ = drawn(mix, 7)
    assert [shares(mix, epoch).tolist() for epoch in samples] == [
        [50, 50], [25, 75], [0, 100], [0, 100], [25, 75], [25, 75], [25, 75],
    ]  # fmt: skip
    assert shares(mix, samples[1][:50]).tolist() == [25, 25]
    for epoch in range(8):
        before = [0, 0] if not epoch else shares(mix, samples[:epoch]).tolist()
        assert mix.recipe.before(epoch) == before
    first = samples.ravel()[part_of(mix, samples.ravel()) == 0]
    assert len(np.unique(first[:90])) == 90  # its pass goes on where it was left


def test_a_late_epoch_takes_no_longer():
    mix = mixed([1000, 10], [10**8, 10**7], Phase(10**9, (Fraction(1), Fraction(1))))
    samples, _ = Mixture(mix).at(np.array([0, 10**8]), 0, (1 << 32) - 1)
    assert ((samples >= 0) & (samples < 1010)).all()


def test_the_longest_epoch():
    """No product of positions leaves 64 bits."""
    length = mixture.MOST_DRAWS
    mix = mixed([1000, 10], [length - (1 << 20), 1 << 20])
    samples, occurrences = Mixture(mix).at(np.array([0, length // 2, length - 1]), 0, 0)
    assert ((samples >= 0) & (samples < 1010)).all()
    assert (occurrences >= 0).all()


def test_edges_never_take_a_draw_back():
    for _ in range(300):
        counts = RANDOM.integers(1, 50, RANDOM.integers(1, 6)) * RANDOM.integers(1, 1000)
        draws = int(counts.sum())
        blocks = mixture.block_count(draws, tuple(counts.tolist()))
        rows = [edges(counts.tolist(), n * draws // blocks, draws) for n in range(blocks + 1)]
        assert (np.diff(rows, axis=0) >= 0).all()
        assert rows[-1] == counts.tolist()


def dataset(mix):
    return Dataset(Pipeline(mix))


@pytest.mark.parametrize("world", [1, 2, 4, 7])
@pytest.mark.parametrize("batch", [1, 6, 64])
def test_ranks_share_one_order(world, batch):
    data = dataset(mixed([40, 9, 300], [31, 20, 150]))
    samples, occurrences = Mixture(data.pipeline.source).at(np.arange(201), 8, 2)
    ranks = [DistributedSampler(data, world, rank, seed=8) for rank in range(world)]
    parts = []
    for one in ranks:
        one.set_epoch(2)
        parts.append(list(one.batches(batch)))
    for name, want in (("samples", samples), ("occurrences", occurrences)):
        own = [np.concatenate([getattr(part, name) for part in each]) for each in parts]
        row = np.stack(own, axis=1).ravel()
        assert row[:201].tolist() == want.tolist()
        assert row[201:].tolist() == want[: len(row) - 201].tolist()  # the last round is filled
    assert {len(one) for one in ranks} == {-(-201 // world)}
    ranks[0].set_epoch(2)
    onward = [part.samples.tolist() for part in ranks[0].batches(batch, first=1)]
    assert onward == [part.samples.tolist() for part in parts[0][1:]]


def test_a_sampler_says_which_mix_it_is_for():
    mix = mixed([40, 9], [30, 20])
    one, other = (
        DistributedSampler(dataset(mix)),
        DistributedSampler(dataset(mixed([40, 9], [20, 30]))),
    )
    assert one.mixture == DistributedSampler(dataset(mix)).mixture != other.mixture
    assert DistributedSampler(40).mixture is None
    again = pickle.loads(pickle.dumps(one))
    assert list(again) == list(one)


def test_what_does_not_go_with_a_mix():
    data = dataset(mixed([40, 9], [30, 20]))
    for named in ({"repeats": 2}, {"weights": np.ones(49)}, {"shuffle": False}):
        with pytest.raises(UsageError) as error:
            DistributedSampler(data, 1, 0, **named)
        assert str(error.value) == (
            "DistributedSampler: dataset is a mix, which has an order; leave shuffle, repeats and "
            "weights out"
        )
    with pytest.raises(UsageError) as error:
        ShuffleSampler(data)
    assert str(error.value) == (
        "ShuffleSampler: data_source is a mix, whose weights it does not know; use "
        "DistributedSampler"
    )
