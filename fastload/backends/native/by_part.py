"""The records of a batch whose samples are of several parts of a mix, with ops of their own: each
part's are drawn by its own ops, and put in their places.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastload.backends.native import crop
from fastload.plan import per_sample
from fastload.plan.plan import Plan
from fastload.spec import Array, Floats, Ints, Longs, Stage, Work
from fastload.transforms.base import FILTERS


class Folded(NamedTuple):
    """Of N samples in one picture; None: there is no such record."""

    crops: Ints  # int32 [N, 10], of `_native.CropRecords`
    filters: Ints | None  # int32 [N]
    programs: Floats | None  # float64 [N, depth, 13]
    rows: Ints | None  # int32 [1 or N, kept]
    columns: Ints | None
    boxes: Ints | None  # int32 [N, K, 4]
    keys: NDArray[np.uint32] | None  # uint32 [N, K]


class Part(Protocol):
    """What draws for one part."""

    plan: Plan

    def folded(self, work: Work, sizes: Ints) -> Folded: ...


def folded(parts: Sequence[Part], plan: Plan, work: Work, sizes: Ints) -> Folded:
    """Of the batch of `work`, whose images have `sizes` int32 [N, 2], px."""
    found = list[tuple[Longs, Folded]]()
    for number, mine in per_sample.by_part(plan, work):
        part = parts[number]
        one = part.folded(per_sample.some(work, mine), sizes[mine])
        if one.filters is None:
            name = FILTERS[crop.interpolation(part.plan.stage(Stage.CROP))]
            one = one._replace(filters=np.full(len(mine), name, np.int32))
        found.append((mine, one))
    each = [[one[column] for _, one in found] for column in range(len(Folded._fields))]
    places = [mine for mine, _ in found]
    return Folded._make(_joined(places, column, len(work)) for column in each)


def _joined(places: Sequence[Longs], parts: Sequence[Array | None], count: int) -> Array | None:
    """One array [N, …]. Programs that are shorter than others end with 0s, which do nothing."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    sides = [max(part.shape[axis] for part in known) for axis in range(1, known[0].ndim)]
    out: Array = np.zeros((count, *sides), known[0].dtype)
    for mine, part in zip(places, parts, strict=True):
        if part is not None:
            view = out[tuple(slice(0, side) for side in (count, *part.shape[1:]))]
            view[mine] = part
    return out
