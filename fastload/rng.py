"""Random numbers as pure functions of (seed, epoch, sample, occurrence, op), and shuffles as keyed
bijections.

Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Nothing here
has state, so worker count, batch size, device and resume cannot change a draw.
"""

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import UsageError
from fastload.spec import Floats, Longs, Work

if TYPE_CHECKING:
    import torch

# Op numbers from here on belong to a batch (keyed by step and rank), those below to a sample.
BATCH_DRAWS = 1 << 15
VIEW_DRAWS = 1 << 40  # from one view's steps to the next one's, in the keys of a batch's draws
SHUFFLE_OP = BATCH_DRAWS - 1  # the key of an epoch's order
KEYED_OP = BATCH_DRAWS - 2  # draws below a key that is itself a draw
MOST_EPOCH = (1 << 32) - 1
MIX_OP = BATCH_DRAWS - 3  # of a batch: how it is mixed, whatever ops there are
SEEDS_OP = BATCH_DRAWS - 4  # seeds of other libraries' generators
WEIGHTS_OP = BATCH_DRAWS - 5  # weighted sampling, by position in the order
SUBSTITUTE_OP = BATCH_DRAWS - 6  # which samples stand in for one that is bad


def sample_uniforms(work: Work, op: int, count: int) -> Floats:
    """float64 [N, count]: multiples of 2^-32 in [0, 1) for op number `op` of each sample."""
    out = np.empty((len(work), count), np.float64)
    if out.size:
        _native.uniforms(work.seed, work.epoch, work.samples, work.occurrences, op, out)
    return out


def batch_uniforms(work: Work, op: int, count: int) -> Floats:
    """float64 [1, count]: draws that a whole batch shares, keyed by (seed, epoch, step, view, rank,
    op).
    """
    out = np.empty((1, count), np.float64)
    if out.size:
        _native.uniforms(work.seed, work.epoch, *batch_key(work), BATCH_DRAWS + op, out)
    return out


def batches_uniforms(work: Work, op: int, count: int, batches: int) -> Floats:
    """float64 [batches, count]: what `batch_uniforms` gives for this batch and those after it."""
    out = np.empty((batches, count), np.float64)
    if out.size:
        (step,), (rank,) = batch_key(work)
        steps, ranks = step + np.arange(batches), np.full(batches, rank)
        _native.uniforms(work.seed, work.epoch, steps, ranks, BATCH_DRAWS + op, out)
    return out


def batch_key(work: Work) -> tuple[Longs, Longs]:
    """What stands in place of samples and occurrences where a batch shares its draws: int64 [1]."""
    return np.array([batch_step(work)], np.int64), np.array([work.rank], np.int64)


def batch_step(work: Work) -> int:
    """What stands there in place of the sample."""
    return work.step + work.view * VIEW_DRAWS


def checked_epoch(where: str, epoch: Any) -> int:
    """The epoch as a number that random keys can hold.

    Raises UsageError for anything else; `where` names who was given it.
    """
    try:
        number = -1 if isinstance(epoch, bool) else operator.index(epoch)
    except TypeError:
        number = -1
    if not 0 <= number <= MOST_EPOCH:
        raise UsageError(
            f"{where}: epoch is {epoch!r}, want a whole number from 0 to {MOST_EPOCH}; epochs "
            "count from 0"
        )
    return number


def keyed_uniforms(key: int, count: int) -> Floats:
    """float64 [count]: draws that belong to a 32-bit key found in a record, such as a user's
    function's.
    """
    out: Floats = np.empty(count, np.float64)
    if count:
        zero = np.zeros(1, np.int64)
        _native.uniforms(key, 0, zero, zero, KEYED_OP, out[None])
    return out


def noise_levels(key: int, count: int) -> NDArray[np.uint16]:
    """uint16 [count]: numbers from 0 to 4095, all alike, below a 32-bit key.

    `sampling.noise_values` says what they are.
    """
    out = np.empty(count, np.uint16)
    _native.noise_levels(key, out)
    return out


def draw_seed(generator: "torch.Generator | None") -> int:
    """One 63-bit seed from `generator` (None: torch's default one), drawn as torch's loader draws
    its base seed.
    """
    import torch

    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def next_seed(seed: int, epoch: int) -> int:
    """A 63-bit seed for an epoch that has none of its own, from one that was drawn for an earlier
    epoch.
    """
    return int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint64)[0] >> 1)


def permute(positions: Longs, n: int, seed: int, epoch: int) -> Longs:
    """Element at each of `positions` of the epoch's keyed permutation of 0..n-1.

    positions: int64 [K], each in 0..n-1. Returns int64 [K]. A bijection without a table, in O(1)
    per element whatever n is: kernels/body/permute.h.
    """
    positions = np.ascontiguousarray(positions, np.int64)
    out = np.empty_like(positions)
    _native.permute(positions, n, seed, epoch, out)
    return out
