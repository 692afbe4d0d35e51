"""What a whole takes, from what some of it takes: an estimate with a range."""

from typing import NamedTuple

import numpy as np

from fastload.spec import Longs


class Range(NamedTuple):
    """Bytes: the estimate, and where the truth lies with about 95 % of certainty."""

    bytes: int
    low: int
    high: int

    def more(self, low: int, high: int) -> "Range":
        """With something else, of low to high bytes."""
        return Range(self.bytes + (low + high) // 2, self.low + low, self.high + high)

    def at_most(self, most: int) -> "Range":
        return Range(*(min(each, most) for each in self))


def whole(sizes: Longs, before: Longs, total: int, count: int) -> Range:
    """The sum of `count` samples, by those that were looked at.

    sizes: int64 [K], bytes that each of them takes; before: int64 [K], what was known of it, such
    as its file's bytes; total: the sum of that over all samples.

    The ratio estimator, with the error of a sample without replacement. Source: Cochran, Sampling
    Techniques, 1977, chapter 6. The quantile of Student's t is taken as 1.96 + 2.4 / (K - 1).
    """
    done = len(sizes)
    if not done:
        return Range(0, 0, 0)
    share = float(sizes.sum()) / max(float(before.sum()), 1.0)
    estimate = share * total
    if done >= count:
        error = 0.0
    elif done == 1:
        error = estimate
    else:
        left = sizes - share * before
        variance = float((left**2).sum()) / (done - 1) * (1 - done / count) / done
        error = (1.96 + 2.4 / (done - 1)) * count * variance**0.5
    return Range(round(estimate), max(0, round(estimate - error)), round(estimate + error))


def known(sizes: Longs) -> Longs:
    """int64 [N]: what can be said of each sample: its bytes if all are known, else 1."""
    return sizes if len(sizes) and (sizes > 0).all() else np.ones(len(sizes), np.int64)
