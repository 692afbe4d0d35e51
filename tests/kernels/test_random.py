"""Philox and the uniforms made from it."""

import numpy as np
import pytest

from fastload import _native as native

ONES = 0xFFFFFFFF
KNOWN = [  # Random123 tests/kat_vectors: philox4x32, 10 rounds
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([ONES] * 4, [ONES] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def uniforms(seed=7, epoch=1, samples=(0, 1, 2), occurrences=(0, 0, 0), op=3, draws=6):
    out = np.full((len(samples), draws), -1.0)
    native.uniforms(
        seed, epoch, np.array(samples, np.int64), np.array(occurrences, np.int64), op, out
    )
    return out


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_known_answers(counter, key, words):
    assert native.philox(counter, key) == words


def test_uniforms_are_philox_words_of_the_documented_counter():
    seed, epoch, sample, occurrence, op = (
        0x1234567890ABCDEF,
        0xFEDCBA98,
        0xABCDEF012345,
        0x4321,
        0x8765,
    )
    got = uniforms(seed, epoch, [sample], [occurrence], op, draws=10)[0]
    for k, value in enumerate(got):
        counter = [k // 4 | op << 16, sample & ONES, sample >> 32 | occurrence << 16, epoch]
        assert value == native.philox(counter, [seed & ONES, seed >> 32])[k % 4] / 2**32


def test_a_sample_has_the_same_draws_in_any_batch_and_with_more_draws():
    whole = uniforms(samples=range(20), occurrences=[0] * 20, draws=9)
    assert np.array_equal(uniforms(samples=[13, 4], occurrences=[0, 0], draws=9), whole[[13, 4]])
    assert np.array_equal(uniforms(samples=range(20), occurrences=[0] * 20, draws=5), whole[:, :5])


@pytest.mark.parametrize(
    "change",
    [{"seed": 8}, {"epoch": 2}, {"occurrences": (1, 1, 1)}, {"op": 4}, {"samples": (3, 4, 5)}],
)
def test_each_argument_changes_every_draw(change):
    assert not (uniforms() == uniforms(**change)).any()


def test_uniforms_fill_the_unit_interval():
    values = uniforms(samples=range(5000), occurrences=[0] * 5000, draws=4)
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.01


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"samples": (0, 1, 1 << 48)},
            "uniforms: sample (got 281474976710656, want 0..281474976710655)",
        ),
        ({"samples": (0, 1, -1)}, "uniforms: sample (got -1, want 0..281474976710655)"),
        ({"occurrences": (0, 0, 65536)}, "uniforms: occurrence (got 65536, want 0..65535)"),
        ({"op": 65536}, "uniforms: op (got 65536, want 0..65535)"),
        ({"epoch": 1 << 32}, "uniforms: epoch (got 4294967296, want 0..4294967295)"),
        ({"seed": -1}, "uniforms: seed (got -1, want 0..18446744073709551615)"),
        ({"draws": 262145}, "uniforms: draws per sample (got 262145, want 0..262144)"),
        ({"occurrences": (0, 0)}, "uniforms: occurrences: shape (got [2], want [3])"),
    ],
)
def test_out_of_range_is_refused(change, text):
    with pytest.raises(ValueError) as error:
        uniforms(**change)
    assert str(error.value) == text


def test_wrong_dtype_is_refused():
    with pytest.raises(ValueError) as error:
        native.uniforms(0, 0, np.zeros(1, np.int32), np.zeros(1, np.int64), 0, np.zeros((1, 1)))
    assert str(error.value) == "uniforms: samples: dtype (got int32, want int64)"
