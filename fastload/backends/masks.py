"""The masks of a batch: decoded by Pillow, moved by the records of their images.

Both backends give them from here.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from typing import NamedTuple

import numpy as np
import torch

from fastload.backends.native.crop import final_size
from fastload.errors import SampleError, sample_error
from fastload.plan.plan import Plan
from fastload.sources.masks import Masks
from fastload.spec import Array, Ints, Work
from fastload.system.threads import Threads
from fastload.transforms import Op, pil
from fastload.transforms.reference import masks as reference


def one(
    masks: Masks, sample: int, ops: Iterable[Op], records: Iterable[Array], size: tuple[int, int]
) -> Array:
    """uint8 or int64 [H, W]: a sample's mask after the ops; size: height and width of its image,
    px. Raises SampleError.
    """
    try:
        data = masks.read(sample)
    except OSError as error:
        raise sample_error(
            masks.paths[sample],
            sample,
            f"cannot be read ({error.strerror}); restore the mask",
            error,
        ) from error
    try:
        mask = reference.decode(data)
    except pil.DECODE_ERRORS as error:
        reason = f"cannot be decoded as a mask ({error}); mend or replace the file"
        raise sample_error(masks.paths[sample], sample, reason, error) from error
    if mask.shape != size:
        got, want = ("x".join(map(str, shape)) for shape in (mask.shape, size))
        raise SampleError(
            masks.paths[sample], sample, f"mask is {got} px, its image {want} px; make them equal"
        )
    if (
        masks.dtype == "uint8"
        and mask.dtype != np.uint8
        and not 0 <= mask.min() <= mask.max() <= 255
    ):
        raise SampleError(
            masks.paths[sample],
            sample,
            f"mask has values {mask.min()} to {mask.max()}, want 0 to 255; use mask_dtype='int64'",
        )
    return reference.moved(mask, ops, records, masks.fill).astype(masks.dtype)


def batch(plan: Plan, work: Work, sizes: Ints) -> torch.Tensor:
    """uint8 or int64 [N, H, W], or [N, 1, H, W], of `work`; sizes int32 [N, 2] of the images, px.

    Raises SampleError.
    """
    return begin(plan, work, sizes, None).tensor()


class Begun(NamedTuple):
    """The masks of a batch under way."""

    tensor: Callable[[], torch.Tensor]  # waits for them
    each: list[Future[Array]]  # empty: they are made in that call

    @property
    def done(self) -> bool:
        return all(one.done() for one in self.each)

    def wait(self, seconds: float) -> bool:
        """Whether they are there within that time."""
        return not wait(self.each, seconds).not_done


def begin(plan: Plan, work: Work, sizes: Ints, threads: Threads | None) -> Begun:
    """`batch` in these threads, from now on. threads=None: each is made when it is asked for."""
    assert plan.masks is not None
    masks, drawn = plan.masks, plan.records(work, sizes)

    def make(position: int) -> Array:
        height, width = (int(v) for v in sizes[position])
        return one(
            masks,
            int(work.samples[position]),
            plan.ops,
            [record[position] for record in drawn],
            (height, width),
        )

    positions, shape = range(len(work)), (len(work), *(1,) * masks.channel, *final_size(plan.out))
    paths = (masks.paths[sample] for sample in work.samples)
    each = (
        threads.begin(
            make,
            [(position, f"makes {path}") for position, path in zip(positions, paths, strict=True)],
        )
        if threads
        else []
    )
    masks_made = (one.result() for one in each) if threads else map(make, positions)

    def stacked() -> torch.Tensor:
        # np.stack keeps the order in which turned arrays lie in memory
        whole = np.ascontiguousarray(np.stack(list(masks_made)))
        return torch.from_numpy(whole.reshape(shape))

    return Begun(stacked, each)


def explain(plan: Plan) -> list[str]:
    """How masks are made, as DataLoader.explain says it; nothing without them."""
    if plan.masks is None:
        return []
    how = "decoded by Pillow, moved like their images by nearest pixels"
    return [f"  masks   {plan.masks.where}: {plan.masks.dtype}, {how}"]
