"""From uniforms to other laws, by inverse distribution functions: a fixed number of uniforms each,
and no rejection.
"""

import functools
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.draws import outside, plain
from fastload.spec import Floats, Longs

if TYPE_CHECKING:
    import torch

# Uniforms are multiples of 2^-32. This moves them into the open interval (0, 1).
HALF_STEP = 2.0**-33
MOST_STEPS = 64  # of Newton's method; it takes 5 to 30
FEW = 8  # values that are looked up
MOST_FORESEEN = 1 << 16
BLOCK = 32  # values; torch has blocks of 16 with AVX-512
LEVELS = _native.NOISE_LEVELS  # of noise, 4096


def single(u: Floats, low: float | Floats, high: float | Floats) -> Floats:
    """The values of torch's `empty(1).uniform_(low, high)`, in the shape of u: float32 numbers, as
    float64.

    torchvision draws its parameters so: 0.7 becomes 0.699999988…, and there are 2^24 values at
    most. torch's product and sum are rounded once.
    """
    start, width = (
        _span(low, high)
        if isinstance(low, float) and isinstance(high, float)
        else _spans(low, high)
    )
    step = np.floor(u * 2.0**24)
    step *= 2.0**-24
    step *= width
    step += start
    out: Floats = step.astype(np.float32).astype(np.float64)
    return out


def _spans(low: float | Floats, high: float | Floats) -> tuple[Floats, Floats]:
    """float32's start and difference of intervals, as float64."""
    start, end = (
        np.float32(value) if isinstance(value, (int, float)) else value.astype(np.float32)
        for value in (low, high)
    )
    return start.astype(np.float64), (end - start).astype(np.float64)


@functools.cache  # an op's ends are the same for all batches
def _span(low: float, high: float) -> tuple[float, float]:
    start, width = _spans(low, high)
    return float(start), float(width)


def uniform(u: Floats, ends: tuple[float, float], in_single: bool) -> Floats:
    """Values between the ends, in the shape of u.

    in_single: in float32, as torchvision draws them; else in float64, as timm.
    """
    return single(u, *ends) if in_single else ends[0] + u * (ends[1] - ends[0])


def log_uniform(u: Floats, ends: tuple[float, float], in_single: bool) -> Floats:
    """The same, uniform in the logarithm.

    Two equal ends give the very value that the library's functions make of them.
    """
    if in_single:
        low, high, power = _logs(*ends)
        if low == high:
            return np.full(u.shape, power)
        return np.exp(single(u, low, high)).astype(np.float32).astype(np.float64)
    low, high = map(math.log, ends)
    return np.full(u.shape, math.exp(low)) if low == high else np.exp(low + u * (high - low))


@functools.cache
def _logs(low: float, high: float) -> tuple[float, float, float]:
    """torch's float32 logarithms of both, and the power of the first one."""
    import torch

    logs = torch.log(torch.tensor([low, high], dtype=torch.float32))
    return (*logs.tolist(), torch.exp(logs[:1]).item())


def by_math(function: Callable[[float], float], values: Floats) -> Floats:
    """`function` of Python's math for each of `values` [N]. NumPy has sines and tangents of its
    own, which differ in the last bit, and that decides pixels whose value is a tie.
    """
    out: Floats = plain(function, values, np.ones(values.shape, bool))
    return out


def round15(value: float) -> float:
    """As PIL rounds: in decimal, which NumPy does not."""
    return round(value, 15)


@outside
def normal(u: Floats) -> Floats:
    """Standard normal values from uniforms of any shape."""
    import torch

    out: Floats = torch.special.ndtri(torch.from_numpy(u + HALF_STEP)).numpy()
    return out


@functools.cache
def noise_values() -> NDArray[np.float32]:
    """float32 [4096]: the standard normal value of each level of noise (`rng.noise_levels`).

    Quantiles in the middle of 4096 equal shares, scaled to a variance of 1; so the mean is 0, and
    no value is beyond 3.67. Made from 64-bit floats of Python's own inverse distribution function
    and rounded once, whatever library or processor there is.
    """
    half = [NormalDist().inv_cdf((LEVELS + 1 + 2 * i) / (2 * LEVELS)) for i in range(LEVELS // 2)]
    deviation = math.sqrt(math.fsum(value * value for value in half) / len(half))
    upper = [value / deviation for value in half]
    return np.array([-value for value in reversed(upper)] + upper, np.float32)


@outside
def dirichlet(u: Floats, alpha: float) -> Floats:
    """Symmetric Dirichlet(alpha) weights float64 [..., K] from u [..., K]: gamma values over their
    sum.
    """
    logs = log_gamma(u, alpha)
    shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
    out: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return out


@outside
def beta(u: Floats, alpha: float) -> Floats:
    """Beta(alpha, alpha) values float64 [...] from u [..., 2]."""
    return dirichlet(u, alpha)[..., 0]


def log_gamma(u: Floats, alpha: float) -> Floats:
    """Logarithms of Gamma(alpha, 1) values: small alphas would underflow without."""
    p = u + HALF_STEP
    if alpha == 1:
        return np.log(-np.log1p(-p))  # the exponential law
    if p.size <= FEW:
        known = [_foreseen.get((alpha, value)) for value in p.ravel().tolist()]
        if None not in known:
            return np.array(known, np.float64).reshape(p.shape)
    return _invert_gamma(p, alpha)


def foresee(u: Floats, alpha: float) -> None:
    """Keep what `log_gamma` will be asked for: many values at once take little longer than two."""
    if len(_foreseen) > MOST_FORESEEN:
        _foreseen.clear()
    p = (u + HALF_STEP).ravel()
    keys = ((alpha, value) for value in p.tolist())
    _foreseen.update(zip(keys, _invert_gamma(p, alpha).tolist(), strict=True))


def is_foreseen(u: Floats, alpha: float) -> bool:
    """Whether `log_gamma` of these is known, or takes no time."""
    values = (u + HALF_STEP).ravel().tolist()
    return alpha == 1 or all((alpha, value) in _foreseen for value in values)


# By alpha and probability. Each value is the same whatever stands beside it (_invert_gamma).
_foreseen: dict[tuple[float, float], float] = {}


def _invert_gamma(p: Floats, alpha: float) -> Floats:
    """log x with P(alpha, x) = p, the regularised lower incomplete gamma function.

    Newton's method for log P as a function of log x. That is concave, and where small x lead to,
    x^alpha / Gamma(alpha + 1) = p, lies left of the root; so the steps go right only, and end where
    rounding would turn them. Each value has its own end, whatever stands beside it.
    """
    import torch

    shape, logs = torch.tensor(alpha, dtype=torch.float64), np.log(p)
    scale = float(torch.lgamma(shape))
    out: Floats = (logs + float(torch.lgamma(shape + 1))) / alpha
    small = out < -36  # there that is P to the last bit
    with np.errstate(all="ignore"):  # of values below -700, which are small
        for _ in range(MOST_STEPS):
            reached = _gammainc(shape, np.exp(out))
            further = out + (logs - np.log(reached)) * reached * np.exp(
                scale - alpha * out + np.exp(out)
            )
            grows = (further > out) & ~small
            if not grows.any():
                break
            out = np.where(grows, further, out)
    return out


def _gammainc(shape: "torch.Tensor", x: Floats) -> Floats:
    """P(shape, x) of any number of values. torch takes whole blocks of them together and what is
    left one by one, with other roundings; so that no value depends on how many there are, all are
    in blocks.
    """
    import torch

    padded = np.ones(-(-x.size // BLOCK) * BLOCK)
    padded[: x.size] = x.ravel()
    out: Floats = (
        torch.special.gammainc(shape, torch.from_numpy(padded)).numpy()[: x.size].reshape(x.shape)
    )
    return out


def order(u: Floats) -> Longs:
    """A random order of 0..K-1 per row of u [N, K]: int64 [N, K]."""
    return np.argsort(u, axis=-1, kind="stable")


def weighted_order(u: Floats, weights: Floats, count: int) -> Longs:
    """`count` of K drawn without replacement, each with its weight among those left: int64 [N,
    count] from u [N, K].

    The smallest of exponential values with these rates (Efraimidis and Spirakis 2006). Weights of 0
    come last.
    """
    with np.errstate(divide="ignore"):
        keys = -np.log1p(-(u + HALF_STEP)) / weights
    return np.argsort(keys, axis=-1, kind="stable")[:, :count]
