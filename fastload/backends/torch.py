"""The reference and the fallback: the same plan and the same parameter records through PIL, torch and torchvision.

Slow and plain on purpose; uses whichever of Pillow and Pillow-SIMD is installed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fastload.errors import SampleError
from fastload.plan import Plan, records
from fastload.sources import read
from fastload.spec import Work
from fastload.transforms import pil

exact = True


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every op has a reference, so nothing is missing."""
    missing = [step for step in plan.steps if type(step.op) not in pil.APPLY]
    return [f"{step.label} has no reference" for step in missing]


def compile(plan: Plan, device: str) -> "Runner":
    return Runner(plan)


@dataclass(frozen=True)
class Runner:
    """Picklable, so that PyTorch's worker processes can run it."""

    plan: Plan

    def __call__(self, work: Work) -> tuple[torch.Tensor, torch.Tensor]:
        """images [N, C, H, W] and labels int64 [N] of one batch. Raises SampleError."""
        images = [self._decode(int(sample)) for sample in work.samples]
        sizes = np.array([pil.size(image) for image in images], np.int32)
        drawn = records(self.plan.steps, work, sizes)
        done = [self._apply(image, [r[place] for r in drawn]) for place, image in enumerate(images)]
        batch = torch.stack(done)
        if self.plan.out.channels_last:
            batch = batch.contiguous(memory_format=torch.channels_last)
        return batch, torch.from_numpy(self.plan.source.labels[work.samples])

    def _decode(self, sample: int) -> Any:
        source = self.plan.source
        try:
            return pil.decode(read(source, sample))
        except pil.DECODE_ERRORS as error:
            raise SampleError(source.name(sample), sample, f"cannot be decoded ({error}); mend or remove the file") from error

    def _apply(self, image: Any, drawn: list[Any]) -> torch.Tensor:
        for step, record in zip(self.plan.steps, drawn, strict=True):
            image = pil.apply(step.op, image, record)
        return pil.to_tensor(image)
