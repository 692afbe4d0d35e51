"""The reference and the fallback: the same plan and the same parameter records through PIL, NumPy
and torch.

Slow and plain on purpose; uses whichever of Pillow and Pillow-SIMD is installed.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from fastload import _native
from fastload.backends import masks
from fastload.backends.native import crop
from fastload.backends.scaled import cropped
from fastload.errors import OpError, SampleError, sample_error
from fastload.plan.bad_samples import Trouble, made
from fastload.plan.batch import mix_records, targets
from fastload.plan.per_sample import records_of
from fastload.plan.plan import Plan
from fastload.plan.steps import Step
from fastload.sources import raw_pixels, read
from fastload.spec import Ints, Size, Stage, Work
from fastload.transforms import pil
from fastload.transforms.reference.mix import mix

HELD = 32 << 20  # bytes of decoded images that a batch may hold while its others are decoded
Pictures = list[list[torch.Tensor]]  # of each sample, of each view


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every op has a reference, so nothing is missing but the device."""
    reasons = (
        [f"fills batches on the host only (got device {device!r}, want 'cpu')"]
        if device == "cuda"
        else []
    )
    return reasons + plan.every(
        lambda one: [
            f"{step.label} has no reference" for step in one.steps if not pil.known(step.op)
        ]
    )


def compile(plan: Plan, device: str) -> "Runner":
    return Runner(plan)


@dataclass(frozen=True)
class Runner:
    """Makes batches with Pillow and torch, one per call.

    It is picklable, so that PyTorch's worker processes can run it. Every op's reference is here.

    Args:
        plan: What is made.

    Example:
        >>> import numpy as np
        >>> import fastload
        >>> from fastload import transforms as T
        >>> from fastload.extending import Runner, Work
        >>> from fastload.plan.plan import plan
        >>> data = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> first = Work(np.array([0, 5]), np.array([0, 0]), seed=1, epoch=0, step=0)
        >>> images, labels = Runner(plan(data.pipeline))(first)
        >>> tuple(images.shape), labels.tolist()
        ((2, 3, 48, 64), [0, 1])
    """

    plan: Plan

    def tolerant(self, work: Work) -> tuple[Any, Trouble]:
        """The batch as `plan.on_error` has it, with `valid` where the work has it, and what went
        wrong. Raises SampleError.
        """
        trouble = Trouble(self.plan.on_error, work)
        batch, done = made(self._checked, trouble, len(self.plan.source), self.plan.views)
        whole = (torch.empty(0), torch.empty(0)) if batch is None else batch
        return (*whole, *([] if done.valid is None else [torch.from_numpy(done.valid)])), trouble

    def _checked(self, work: Work) -> tuple[Any, torch.Tensor]:
        """The batch, where what lies beside its images can be had, too. Raises SampleError."""
        if self.plan.checked is not None:
            for _, error in self.plan.checked.bad(self.plan.source, work.samples):
                raise error
        return self(work)

    def __call__(self, work: Work) -> tuple[Any, torch.Tensor]:
        """images [N, C, H, W], of several views a list of them, and labels as `batch.targets` has
        them, or masks. Raises SampleError.
        """
        if work.size is not None:
            return self._at(work.size)(replace(work, size=None))
        pictures, sizes = self._exact(work) if crop.no_scaling(self.plan) else self._fast(work)
        how = mix_records(self.plan, work)
        target = (
            torch.from_numpy(targets(self.plan, work, how))
            if self.plan.masks is None
            else masks.batch(self.plan, work, sizes)
        )
        batches = []
        for picture, images in zip(self.plan.pictures, zip(*pictures, strict=True), strict=True):
            layout = torch.channels_last if picture.out.channels_last else torch.contiguous_format
            batch = torch.stack(images) if how is None else mix(torch.stack(images), how)
            batches.append(batch.contiguous(memory_format=layout))
        return batches if self.plan.views else batches[0], target

    def _at(self, size: Size) -> "Runner":
        return Runner(self.plan.at(size))

    def _exact(self, work: Work) -> tuple[Pictures, Ints]:
        """Each sample's pictures, and its size int32 [N, 2], px."""
        images = self._images(work)
        sizes = np.array(
            [image.size if isinstance(image, Late) else pil.size(image) for image in images],
            np.int32,
        )
        drawn = [records_of(picture, work, sizes) for picture in self.plan.pictures]
        pictures = []
        for position, sample in enumerate(work.samples.tolist()):
            image, images[position] = images[position], None
            image = self._made(sample, image) if isinstance(image, Late) else image
            pictures.append(
                [
                    _apply(
                        self.plan, sample, image, each[position].plan.steps, each[position].records
                    )
                    for each in drawn
                ]
            )
            del image  # before the next one is decoded
        return pictures, sizes

    def _images(self, work: Work) -> list[Any]:
        """The images, up to foreign.HELD bytes of them; of the others what is to be decoded when
        its turn comes.
        """
        images, held = list[Any](), 0
        for sample in work.samples.tolist():
            data = self._read(sample)
            image = self._late(sample, data) if held > HELD or self._large(data) else None
            image = image or self._decode(sample, data)
            held += 0 if isinstance(image, Late) else 4 * image.width * image.height
            images.append(image)
        return images

    @staticmethod
    def _large(data: bytes) -> bool:
        _, height, width, *_ = _native.probe(data)
        return 4 * height * width > HELD

    def _late(self, sample: int, data: bytes) -> "Late | None":
        """None where only decoding tells the size. Raises SampleError."""
        try:
            size = (
                None if raw_pixels(self.plan.source, sample) is not None else pil.header_size(data)
            )
        except pil.DECODE_ERRORS as error:
            raise pil.undecodable(self.plan.source.name(sample), sample, error) from error
        return Late(data, size) if size else None

    def _made(self, sample: int, late: "Late") -> Any:
        image = self._decode(sample, late.data)
        if pil.size(image) != late.size:
            got, said = ("x".join(map(str, size)) for size in (pil.size(image), late.size))
            raise SampleError(
                self.plan.source.name(sample),
                sample,
                f"is {got} px, and was said to be {said} px; mend or remove the file",
            )
        return image

    def _fast(self, work: Work) -> tuple[Pictures, Ints]:
        """Sizes from the JPEGs' headers; each is decoded at the scale that its crops allow."""
        samples = [(int(sample), self._read(int(sample))) for sample in work.samples]
        jpegs, images, sizes = self._headers(samples)
        drawn = [picture.records(work, sizes) for picture in self.plan.pictures]
        crops, filters = [], []
        for picture, records in zip(self.plan.pictures, drawn, strict=True):
            stages = picture.stage(Stage.CROP)
            crops.append(crop.fold(stages, records[: len(stages)], sizes)[0])
            filters.append(crop.filters(stages, records[: len(stages)]))
        crop.shrink(crops, jpegs)
        done = []
        for position, (sample, data) in enumerate(samples):
            scale = int(crops[0][position, crop.SCALE])
            image = images[position] or self._decode(sample, data, scale)
            parts = zip(self.plan.pictures, drawn, crops, filters, strict=True)
            done.append(
                [
                    _scaled(
                        picture,
                        sample,
                        image,
                        [record[position] for record in records],
                        box[position],
                        None if by is None else int(by[position]),
                    )
                    for picture, records, box, by in parts
                ]
            )
        return done, sizes

    def _headers(
        self, samples: list[tuple[int, bytes]]
    ) -> tuple[NDArray[np.bool_], list[Any], Ints]:
        """Of each sample: whether it is a JPEG, else its image, and its size int32 [N, 2], px."""
        headers = [_native.probe(data) for _, data in samples]
        jpegs = np.array([header[0] == _native.OK for header in headers])
        images = [
            None if jpeg else self._decode(*sample)
            for sample, jpeg in zip(samples, jpegs, strict=True)
        ]
        sizes = [
            header[1:3] if image is None else pil.size(image)
            for header, image in zip(headers, images, strict=True)
        ]
        return jpegs, images, np.array(sizes, np.int32)

    def _read(self, sample: int) -> bytes:
        try:
            return read(self.plan.source, sample)
        except OSError as error:
            name = self.plan.source.name(sample)
            reason = f"cannot be read ({error.strerror or error})"
            raise sample_error(name, sample, reason, error) from error

    def _decode(self, sample: int, data: bytes, scale: int = 1) -> Any:
        source = self.plan.source
        try:
            pixels = raw_pixels(source, sample)
            return pil.decode(data, scale) if pixels is None else Image.fromarray(pixels)
        except pil.DECODE_ERRORS as error:
            raise pil.undecodable(source.name(sample), sample, error) from error


@dataclass(frozen=True)
class Late:
    """An image that is decoded when its turn comes."""

    data: bytes
    size: tuple[int, int]  # height and width, px


def _apply(
    plan: Plan, sample: int, image: Any, steps: tuple[Step, ...], drawn: list[Any]
) -> torch.Tensor:
    for step, record in zip(steps, drawn, strict=True):
        try:
            image = pil.apply(step.op, image, record)
        except OpError as error:
            raise SampleError(
                plan.source.name(sample), sample, f"op {step.number}: {error}"
            ) from error
    return pil.to_tensor(image)


def _scaled(
    plan: Plan, sample: int, image: Image.Image, drawn: list[Any], record: Any, filter: int | None
) -> torch.Tensor:
    """A picture of an image that is decoded at the scale in `record`, one of crop.fold's.

    filter: as in `cropped`.
    """
    if record[crop.SCALE] == 1:
        return _apply(plan, sample, image, plan.steps, drawn)
    first = len(plan.stage(Stage.CROP))
    return _apply(
        plan, sample, cropped(plan, image, record, filter), plan.steps[first:], drawn[first:]
    )
