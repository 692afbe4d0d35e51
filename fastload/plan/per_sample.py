"""The plan and the records of each sample of a batch: in a mix, those of its part."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fastload.plan.plan import Plan
from fastload.sources.views import part_of
from fastload.spec import Array, Ints, Longs, Work


class OfSample(NamedTuple):
    """What is done to one sample, in one picture. records: of each step."""

    plan: Plan
    records: list[Array]


def some(work: Work, positions: Longs) -> Work:
    """Only these samples of a batch, with the draws that they have there."""
    return replace(
        work, samples=work.samples[positions], occurrences=work.occurrences[positions], valid=None
    )


def by_part(plan: Plan, work: Work) -> list[tuple[int, Longs]]:
    """The parts of the mix that a batch has samples of, and the positions of these."""
    if not plan.by_part:
        return [(0, np.arange(len(work)))]
    of = part_of(plan.source, work.samples)
    return [(number, np.flatnonzero(of == number)) for number in np.unique(of).tolist()]


def records_of(plan: Plan, work: Work, sizes: Ints) -> list[OfSample]:
    """Of each sample; sizes: int32 [N, 2] of the images, px."""
    out = dict[int, OfSample]()
    for number, mine in by_part(plan, work):
        one = plan.by_part[number] if plan.by_part else plan
        records = one.records(some(work, mine), sizes[mine])
        for place, position in enumerate(mine.tolist()):
            out[position] = OfSample(one, [record[place] for record in records])
    return [out[position] for position in range(len(work))]
