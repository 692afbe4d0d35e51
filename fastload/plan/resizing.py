"""A pipeline's ops at another image size, for size schedules."""

from fastload.errors import PipelineError
from fastload.progressive import WHERE
from fastload.spec import Stage
from fastload.transforms import Op
from fastload.transforms.batch_resize import BatchCrop, BatchResize
from fastload.transforms.kinds import Region

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
