"""A batch with bad samples, which are replaced or left out: the rest of it is not made again."""

import errno
import os
from typing import Any, Protocol

import numpy as np
import torch

from fastload import _native
from fastload.backends.native import crop
from fastload.errors import SampleError, sample_error
from fastload.plan.bad_samples import Trouble, standing_in
from fastload.plan.plan import Plan
from fastload.sources import raw_pixels, read
from fastload.spec import Ints, Pixels, Work
from fastload.transforms import pil


class Batch(Protocol):
    """What takes pixels uint8 [H, W, 3] in place of a sample's bytes: a native job, or what DALI is
    given.
    """

    def set_pixels(self, sample: int, pixels: Pixels, /) -> None: ...


def mended(
    batch: Batch, plan: Plan, work: Work, bad: list[tuple[int, SampleError]], trouble: Trouble
) -> tuple[Work, dict[int, bytes]]:
    """Give the batch pixels in place of bad ones; the work with the samples that stand in, and the
    bytes of those that are JPEGs.

    bad: positions in the batch and what is wrong there. Raises the first error where bad samples
        raise, or where nothing is left to try.
    """
    encoded: dict[int, bytes] = {}
    for position, error in bad:
        if trouble.policy == "raise":
            raise error
        trouble.note(position, error)
        if trouble.policy == "skip":
            trouble.lost.add(position)
            batch.set_pixels(position, _nothing(plan))
            continue
        work = _substituted(batch, plan, work, position, error, trouble, encoded)
    return work, encoded


def _nothing(plan: Plan) -> Pixels:
    """In the place of a sample that is left out; nobody sees it. No smaller than what any op makes,
    since a RandomCrop takes no smaller image.
    """
    specs = [
        spec for one in plan.pictures for spec in (one.out, *(step.spec for step in one.steps))
    ]
    height = max(spec.height or 1 for spec in specs)
    width = max(spec.width or 1 for spec in specs)
    return np.zeros((height, width, 3), np.uint8)


def _substituted(
    batch: Batch,
    plan: Plan,
    work: Work,
    position: int,
    error: SampleError,
    trouble: Trouble,
    encoded: dict[int, bytes],
) -> Work:
    while (sample := trouble.next_for(position, len(plan.source))) is not None:
        try:
            data, pixels = _decoded(plan, sample)
        except SampleError as another:
            trouble.note(position, another)
            continue
        batch.set_pixels(position, pixels)
        if data and _native.probe(data)[0] == _native.OK:
            encoded[position] = data
        return standing_in(work, position, sample, trouble.first, plan.views)
    raise trouble.alone(position, error, len(plan.source))


def without_lost(parts: list[Any], trouble: Trouble, count: int) -> list[Any]:
    """Images and labels of a batch of `count`, without what is left out."""
    positions = trouble.kept(count)
    if positions is None:
        return parts
    index = torch.from_numpy(positions)
    return [
        [at(one, index) for one in part] if isinstance(part, list) else at(part, index)
        for part in parts
    ]


def at(part: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Images or labels at these positions of the batch, in the order of bytes that they have."""
    positions = positions.to(part.device)
    if part.is_contiguous() or part.dim() != 4:
        return part.index_select(0, positions)
    return part.permute(0, 2, 3, 1).index_select(0, positions).permute(0, 3, 1, 2)  # channels last


def scale(job: _native.Job, encoded: dict[int, bytes], crops: Ints) -> None:
    """Give the job JPEGs that stand in at the scale of their crops."""
    for position, data in encoded.items():
        if (scale := int(crops[position, crop.SCALE])) > 1:
            job.set_pixels(position, np.ascontiguousarray(pil.decode_pixels(data, scale)), scale)


def _decoded(plan: Plan, sample: int) -> tuple[bytes, Pixels]:
    """A sample's bytes, if it is encoded, and its pixels uint8 [H, W, 3]. Raises SampleError."""
    name = plan.source.name(sample)
    if plan.checked and (wrong := plan.checked.bad(plan.source, np.array([sample]))):
        raise wrong[0][1]
    try:
        pixels = raw_pixels(plan.source, sample)
        data = read(plan.source, sample) if pixels is None else b""
    except OSError as error:
        raise sample_error(
            name, sample, f"cannot be read ({error.strerror or error})", error
        ) from error
    try:
        decoded = pil.decode_pixels(data) if pixels is None else pixels
    except pil.DECODE_ERRORS as error:
        raise pil.undecodable(name, sample, error) from error
    return data, np.ascontiguousarray(decoded)


def failed(job: _native.Job, plan: Plan, work: Work, position: int) -> SampleError:
    """What the engine says of a sample that failed.

    A thread without memory says no more than that.
    """
    said, code, sample = job.message(position), job.code(position), int(work.samples[position])
    where = plan.source.name(sample)
    if code == errno.ENOMEM:
        return sample_error(
            where, sample, f"cannot be decoded ({said}); {pil.NO_MEMORY}", MemoryError()
        )
    path = plan.source.files.path(
        int(plan.source.locate(work.samples[position : position + 1]).file[0])
    )
    return sample_error(
        where, sample, said, OSError(code, os.strerror(code), path) if code else None
    )
