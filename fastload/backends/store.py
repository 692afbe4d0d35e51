"""The STORE stage as a table: what each uint8 value of each channel becomes. Exact, since the reference itself fills it."""

import numpy as np
import torch
from numpy.typing import NDArray

from fastload.plan import Step
from fastload.transforms import pil

ONE_BY_ONE = np.zeros(0, np.int32)  # the record of an op that draws nothing


def table(steps: tuple[Step, ...], dtype: str) -> NDArray[np.generic] | None:
    """[3, 256] of `dtype` (bfloat16 as its bits in uint16); None where the uint8 value itself is stored."""
    if dtype == "uint8":
        return None
    ramp = torch.arange(256, dtype=torch.uint8).expand(3, 1, 256)
    for step in steps:
        ramp = pil.apply(step.op, ramp, ONE_BY_ONE)
    values = ramp.reshape(3, 256).contiguous()
    return values.view(torch.uint16).numpy() if dtype == "bfloat16" else values.numpy()
