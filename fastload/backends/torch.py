"""The reference and the fallback: the same plan and the same parameter records through PIL, NumPy and torch.

Slow and plain on purpose; uses whichever of Pillow and Pillow-SIMD is installed.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image

from fastload import _native
from fastload.backends import crop
from fastload.errors import SampleError
from fastload.plan import Plan, Step, mixed, records, targets
from fastload.sources import read
from fastload.spec import Stage, Work
from fastload.transforms import pil
from fastload.transforms.reference.mix import mix

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
        """images [N, C, H, W] and labels of one batch, as `plan.targets` has them. Raises SampleError."""
        if work.size is not None:
            return self._at(work.size)(replace(work, size=None))
        batch = torch.stack(self._exact(work) if crop.no_scaling(self.plan) else self._fast(work))
        if how := mixed(self.plan, work):
            batch = mix(batch, how)
        if self.plan.out.channels_last:
            batch = batch.contiguous(memory_format=torch.channels_last)
        return batch, torch.from_numpy(targets(self.plan, work, how))

    def _at(self, size: int) -> "Runner":
        return Runner(self.plan.at(size))

    def _exact(self, work: Work) -> list[torch.Tensor]:
        images = [self._decode(int(sample), read(self.plan.source, int(sample))) for sample in work.samples]
        sizes = np.array([pil.size(image) for image in images], np.int32)
        drawn = records(self.plan.steps, work, sizes)
        return [self._apply(image, self.plan.steps, [r[place] for r in drawn]) for place, image in enumerate(images)]

    def _fast(self, work: Work) -> list[torch.Tensor]:
        """Sizes from the JPEGs' headers; each is decoded at the scale that its crop allows."""
        samples = [(int(sample), read(self.plan.source, int(sample))) for sample in work.samples]
        headers = [_native.probe(data) for _, data in samples]
        jpegs = np.array([header[0] == _native.OK for header in headers])
        others = [None if jpeg else self._decode(*sample) for sample, jpeg in zip(samples, jpegs, strict=True)]
        sizes = np.array(
            [header[1:3] if image is None else pil.size(image) for header, image in zip(headers, others, strict=True)], np.int32
        )
        drawn = records(self.plan.steps, work, sizes)
        stages = self.plan.stage(Stage.CROP)
        crops, _ = crop.fold(stages, drawn[: len(stages)], sizes)
        crop.shrink(crops, jpegs)
        done = []
        for place, (sample, image) in enumerate(zip(samples, others, strict=True)):
            scale, first = int(crops[place, crop.SCALE]), 0
            image = image or self._decode(*sample, scale)
            if scale > 1:
                image, first = self._crop(image, crops[place]), len(stages)
            done.append(self._apply(image, self.plan.steps[first:], [r[place] for r in drawn[first:]]))
        return done

    def _crop(self, image: Image.Image, record: Any) -> Image.Image:
        """CROP by one record of crop.fold on an image at 1/scale: its px that the box touches, resized from the box's place in them."""
        top, left, height, width, resized_height, resized_width, window_top, window_left, flip, scale = (int(v) for v in record)
        x, y, right, bottom = left // scale, top // scale, -(-(left + width) // scale), -(-(top + height) // scale)
        box = (left / scale - x, top / scale - y, (left + width) / scale - x, (top + height) / scale - y)
        steps = self.plan.stage(Stage.CROP)
        resampling = pil.RESAMPLING[crop.interpolation(steps)]
        resized = image.crop((x, y, right, bottom)).resize((resized_width, resized_height), resampling, box)
        after = self.plan.steps[len(steps)].spec if len(self.plan.steps) > len(steps) else self.plan.out
        out_height, out_width = crop.final_size(after)
        shown = resized.crop((window_left, window_top, window_left + out_width, window_top + out_height))
        return shown.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else shown

    def _decode(self, sample: int, data: bytes, scale: int = 1) -> Any:
        source = self.plan.source
        try:
            return pil.decode(data, scale)
        except pil.DECODE_ERRORS as error:
            raise SampleError(source.name(sample), sample, f"cannot be decoded ({error}); mend or remove the file") from error

    def _apply(self, image: Any, steps: tuple[Step, ...], drawn: list[Any]) -> torch.Tensor:
        for step, record in zip(steps, drawn, strict=True):
            image = pil.apply(step.op, image, record)
        return pil.to_tensor(image)
