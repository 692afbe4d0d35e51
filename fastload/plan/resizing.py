"""A pipeline's ops at another image size, for size schedules and buckets."""

from fastload.errors import PipelineError
from fastload.progressive import WHERE
from fastload.spec import Stage
from fastload.transforms import Op
from fastload.transforms.batch_resize import BatchCrop, BatchResize
from fastload.transforms.kinds import Region

BUCKETS = "BucketSampler"
INSTEAD = "use ProgressiveResize(mode='resize')"


def decode_problems(ops: tuple[Op, ...], height: int, width: int) -> list[str]:
    """Why images of this pipeline cannot be decoded to another size.

    height, width: after CROP, px.
    """
    problems = []
    crops = [(number, op) for number, op in enumerate(ops, start=1) if op.stage == Stage.CROP]
    if not any(isinstance(op, Region) for _, op in crops):
        problems.append(
            f"{WHERE}: nothing resizes the images, so another size would only cut them; begin with "
            f"Resize, or {INSTEAD}"
        )
    for number, op in crops:
        if op.scaled(1.0) is None:
            problems.append(
                f"{WHERE}: op {number} ({op.name}) has no other size; leave it out, or {INSTEAD}"
            )
    if height != width:
        problems.append(
            f"{WHERE}: CROP ends with {height}x{width} px, want a square; make it one, or {INSTEAD}"
        )
    return problems


def at_size(ops: tuple[Op, ...], mode: str, size: int, full: int) -> tuple[Op, ...]:
    """The pipeline's ops for `size` instead of `full` px.

    "decode": every side that CROP names, times size / full. Else one op more, for the finished
    batch.
    """
    if mode == "decode":
        factor = size / full
        return tuple((op.stage == Stage.CROP and op.scaled(factor)) or op for op in ops)
    if size > full:
        want = f"want up to {full} px; only mode 'decode' makes images larger"
        raise PipelineError([f"{WHERE}: size is {size}, {want}"])
    return (*ops, (BatchResize if mode == "resize" else BatchCrop)(size / full))


def bucket_problems(ops: tuple[Op, ...], who: str = BUCKETS) -> list[str]:
    """Why images of this pipeline cannot have the sizes of buckets; who: the sampler."""
    crops = [(number, op) for number, op in enumerate(ops, start=1) if op.stage == Stage.CROP]
    problems = []
    what = "their bucket" if who == BUCKETS else "their patches"
    if not any(isinstance(op, Region) for _, op in crops):
        problems.append(
            f"{who}: nothing resizes the images to {what}; begin with Resize and "
            "RandomCrop, or RandomResizedCrop"
        )
    return problems + [
        f"{who}: op {number} ({op.name}) has no other shape; leave it out, or give batch_size "
        "in place of the sampler"
        for number, op in crops
        if op.fitted(1.0, 2.0) is None
    ]


def in_bucket(ops: tuple[Op, ...], height: float, width: float) -> tuple[Op, ...]:
    """The pipeline's ops for images so many times as high and wide as CROP makes them now."""
    return tuple((op.stage == Stage.CROP and op.fitted(height, width)) or op for op in ops)
