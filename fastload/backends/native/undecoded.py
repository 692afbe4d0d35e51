"""Samples that the native decoders do not take, such as GIF, CMYK and damaged files: Pillow's
pixels for them, or what is wrong with them.
"""

import operator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from fastload import _native
from fastload.backends import foreign, mending
from fastload.backends import torch as reference
from fastload.backends.native import crop
from fastload.errors import SampleError
from fastload.plan.plan import Plan
from fastload.spec import Ints, Work

Errors: TypeAlias = list[tuple[int, SampleError]]  # positions in the batch, and what is wrong there


def through_pillow(
    job: _native.Job,
    plan: Plan,
    work: Work,
    *,
    functions: bool,
    crops: Ints | None = None,
    asked: set[int] | None = None,
) -> tuple[bool, Errors]:
    """Give the job Pillow's pixels for what the native decoder does not take, at the scale of its
    crop if there is one.

    functions: whether users' functions run; asked: positions that Pillow was given before.
    Returns whether there were any, and the positions and errors of what nobody can decode, in
    order. No more than foreign.HELD bytes of pixels are given at once: of what is beyond, the size
    only, or nothing where crops are known: it is left for the next time.
    """
    status, late = job.status, job.late.astype(np.bool_)
    failed = np.flatnonzero(status == _native.FAILED).tolist()
    bad = [(position, failure(job, plan, work, position, functions)) for position in failed]
    positions = np.flatnonzero((status == _native.FOREIGN) | late).tolist()
    batch = foreign.Given(job, plan.source, work)
    for position in positions:
        if asked is not None and position in asked:
            bad.append((position, failure(job, plan, work, position, functions)))
            continue
        try:
            scale = None if crops is None else int(crops[position, crop.SCALE])
            has_pixels = batch.pixels(position, scale)
        except SampleError as error:
            bad.append((position, error))
            continue
        if has_pixels and asked is not None:
            asked.add(position)
    return bool(positions), sorted(bad, key=operator.itemgetter(0))


def failure(
    job: _native.Job, plan: Plan, work: Work, position: int, functions: bool
) -> SampleError:
    """What is wrong with a sample: where users' functions run, the reference knows their exception,
    which no thread can keep.
    """
    if functions:
        one = slice(position, position + 1)
        alone = replace(
            work, samples=work.samples[one], occurrences=work.occurrences[one], size=None
        )
        try:
            reference.Runner(plan)(alone)
        except SampleError as error:
            return error
        except OSError:  # the file, which the reason names
            pass
    return mending.failed(job, plan, work, position)
