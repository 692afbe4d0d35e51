"""The STORE stage: a table of what each uint8 value of each channel becomes (exact, since the reference itself fills it),
and the rows and columns that are kept.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fastload.plan import Step
from fastload.spec import Ints
from fastload.transforms import ColOut, pil
from fastload.transforms.batch_resize import BatchResize

GATHERS = (ColOut, BatchResize)  # ops that only choose rows and columns
ONE_BY_ONE = np.zeros(0, np.int32)  # the record of an op that draws nothing


def table(steps: tuple[Step, ...], dtype: str) -> NDArray[np.generic] | None:
    """[3, 256] of `dtype` (bfloat16 as its bits in uint16); None where the uint8 value itself is stored."""
    if dtype == "uint8":
        return None
    ramp = torch.arange(256, dtype=torch.uint8).expand(3, 1, 256)
    for step in steps:
        if isinstance(step.op, GATHERS):
            continue
        ramp = pil.apply(step.op, ramp, ONE_BY_ONE)
    values = ramp.reshape(3, 256).contiguous()
    return values.view(torch.uint16).numpy() if dtype == "bfloat16" else values.numpy()


def kept(steps: tuple[Step, ...], records: list[Any]) -> tuple[Ints | None, Ints | None]:
    """Numbers of the rows and of the columns that the gathers keep: int32 [1 or N, kept] each, or None, None for all."""
    rows: Ints | None = None
    columns: Ints | None = None
    for step, record in zip(steps, records, strict=True):
        if not isinstance(step.op, GATHERS):
            continue
        count, _ = step.op.kept(step.spec.height or 0, step.spec.width or 0)
        record = record[:1] if step.op.per_batch else record
        rows, columns = _of(rows, record[:, :count]), _of(columns, record[:, count:])
    return rows, columns


def _of(before: Ints | None, chosen: Ints) -> Ints:
    """What `chosen` are of what was kept before."""
    return np.ascontiguousarray(chosen if before is None else np.take_along_axis(before, chosen, axis=1))
