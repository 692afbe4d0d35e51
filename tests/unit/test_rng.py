"""Random numbers: known answers, and the laws that promises rest on."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastload import ShuffleSampler, UsageError, _native, rng
from fastload.spec import Work

# Random123 1.14, tests/kat_vectors, philox4x32 with 10 rounds: counter, key, answer.
KNOWN = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)


def work(
    samples: list[int],
    *,
    seed: int = 7,
    epoch: int = 3,
    occurrence: int = 0,
    step: int = 0,
    rank: int = 0,
) -> Work:
    numbers = np.array(samples, np.int64)
    return Work(numbers, np.full_like(numbers, occurrence), seed, epoch, step, rank)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_philox_gives_random123s_answers(counter, key, answer):
    assert tuple(_native.philox(counter, key)) == answer


def test_uniforms_are_philox_words_in_their_documented_places():
    u = rng.sample_uniforms(work([5 + (9 << 32)], occurrence=2, seed=(4 << 32) + 6), op=3, count=6)
    words = [_native.philox([block | 3 << 16, 5, 9 | 2 << 16, 3], [6, 4]) for block in (0, 1)]
    np.testing.assert_array_equal(u[0], [w / 2**32 for w in (*words[0], *words[1][:2])])


@given(st.permutations(range(20)), st.integers(1, 9))
def test_a_samples_draws_do_not_depend_on_its_batch(order, size):
    whole = rng.sample_uniforms(work(list(range(20))), op=1, count=5)
    for start in range(0, 20, size):
        part = order[start : start + size]
        np.testing.assert_array_equal(rng.sample_uniforms(work(part), op=1, count=5), whole[part])


def test_every_part_of_the_key_changes_the_draws():
    base = {"seed": 7, "epoch": 3, "occurrence": 0}
    seen = {rng.sample_uniforms(work([4], **base), op=1, count=2).tobytes()}
    for name in base:
        seen.add(rng.sample_uniforms(work([4], **{**base, name: 11}), op=1, count=2).tobytes())
    seen.add(rng.sample_uniforms(work([5]), op=1, count=2).tobytes())
    seen.add(rng.sample_uniforms(work([4]), op=2, count=2).tobytes())
    seen.add(rng.batch_uniforms(work([4], step=4), op=1, count=2).tobytes())
    seen.add(rng.batch_uniforms(work([4], step=4, rank=1), op=1, count=2).tobytes())
    assert len(seen) == 8


def test_batch_draws_do_not_depend_on_the_batchs_samples():
    np.testing.assert_array_equal(
        rng.batch_uniforms(work([1, 2], step=5), 1, 3), rng.batch_uniforms(work([9], step=5), 1, 3)
    )


def test_uniforms_are_uniform():
    u = rng.sample_uniforms(work(list(range(20_000))), op=1, count=4)
    counts = np.histogram(u, bins=64, range=(0, 1))[0]
    chi2 = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert chi2 < 120  # 63 degrees of freedom; p = 1e-5 lies at 117
    assert u.min() >= 0
    assert u.max() < 1


def permuted(positions, n: int, seed: int, epoch: int) -> np.ndarray:
    """Element at each of `positions` of the epoch's keyed permutation of 0..n-1.

    positions: int64 [K], each in 0..n-1. Returns int64 [K].
    A balanced Feistel network on the smallest even number of bits that holds n, walked until the
    value is below n (cycle walking; Black and Rogaway 2002): a bijection without a table, in O(1)
    per element whatever n is.
    """
    half = max(1, ((n - 1).bit_length() + 1) // 2)
    keys = _round_keys(seed, epoch)
    out = np.asarray(positions, np.uint64).copy()
    todo = np.arange(len(out))
    while len(todo):
        out[todo] = _feistel(out[todo], half, keys)
        todo = todo[out[todo] >= n]
    return out.astype(np.int64)


def _round_keys(seed: int, epoch: int) -> list[np.uint64]:
    out = np.empty((1, 6), np.float64)
    zero = np.zeros(1, np.int64)
    _native.uniforms(seed, epoch, zero, zero, rng.SHUFFLE_OP, out)
    return [np.uint64(u) for u in out[0] * 2.0**32]


def _feistel(value, half: int, keys: list[np.uint64]) -> np.ndarray:
    mask = np.uint64((1 << half) - 1)
    left, right = value >> np.uint64(half), value & mask
    for key in keys:
        left, right = right, left ^ (_mix(right + (key << np.uint64(32))) & mask)
    return (left << np.uint64(half)) | right


def _mix(x) -> np.ndarray:
    """The finaliser of SplitMix64 (Steele et al. 2014, variant 13 of Stafford): every input bit
    moves every output bit.
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@given(
    st.integers(1, 1 << 62), st.integers(0, 2**64 - 1), st.integers(0, rng.MOST_EPOCH), st.data()
)
def test_permute_is_the_network_as_it_is_written_down(n, seed, epoch, data):
    drawn = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=9))
    positions = np.array(drawn, np.int64)
    expected = permuted(positions, n, seed, epoch)
    np.testing.assert_array_equal(rng.permute(positions, n, seed, epoch), expected)


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1), st.integers(0, 1000))
def test_permute_is_a_bijection(n, seed, epoch):
    np.testing.assert_array_equal(np.sort(rng.permute(np.arange(n), n, seed, epoch)), np.arange(n))


def test_permute_needs_no_table():
    n = 1 << 40
    values = rng.permute(np.array([0, 1, n - 1]), n, seed=1, epoch=0)
    assert len(set(values.tolist())) == 3
    assert ((values >= 0) & (values < n)).all()


def test_permute_moves_every_element_anywhere():
    # Where element 0 of 13 lands over 13,000 epochs: a fair die.
    places = np.array(
        [rng.permute(np.zeros(1, np.int64), 13, 5, epoch)[0] for epoch in range(13_000)]
    )
    counts = np.bincount(places, minlength=13)
    assert ((counts - 1000) ** 2 / 1000).sum() < 45  # 12 degrees of freedom; p = 1e-5 lies at 44


def test_draw_seed_follows_torchs_generator():
    import torch

    torch.manual_seed(3)
    expected = torch.empty((), dtype=torch.int64).random_().item()
    torch.manual_seed(3)
    assert rng.draw_seed(None) == expected
    assert rng.draw_seed(torch.Generator().manual_seed(3)) == expected


@pytest.mark.parametrize(
    "epoch", [-1, -(1 << 40), 1 << 32, 1.0, 0.5, "1", None, True, np.float64(2), [3]]
)
def test_what_is_no_epoch_is_refused_at_once(epoch):
    wanted = f"epoch is {epoch!r}, want a whole number from 0 to 4294967295; epochs count from 0"
    sampler = ShuffleSampler(10, seed=1)
    with pytest.raises(UsageError) as caught:
        sampler.set_epoch(epoch)
    assert str(caught.value) == f"ShuffleSampler.set_epoch: {wanted}"
    with pytest.raises(UsageError) as caught:
        rng.checked_epoch("here", epoch)
    assert str(caught.value) == f"here: {wanted}"


def test_numpys_and_torchs_whole_numbers_are_epochs():
    assert [
        rng.checked_epoch("", n)
        for n in (0, np.int64(7), np.uint8(3), torch.tensor(5), (1 << 32) - 1)
    ] == [0, 7, 3, 5, (1 << 32) - 1]
