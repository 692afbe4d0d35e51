"""The STORE stage: a table of what each uint8 value of each channel becomes (exact, since the
reference itself fills it), the rows and columns that are kept, and the boxes that are erased.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fastload import _native
from fastload.plan.steps import Step
from fastload.spec import Array, Ints
from fastload.transforms import RandomErasing, pil
from fastload.transforms.erasing import KINDS
from fastload.transforms.kinds import Gather, Values
from fastload.transforms.sampling import LEVELS, noise_values

ONE_BY_ONE = np.zeros(0, np.int32)  # the record of an op that draws nothing


class Tables(NamedTuple):
    """What STORE writes, the same for all batches; of the output's type, bfloat16 as its bits in
    uint16.
    """

    values: Array | None  # [3, 256], of each uint8 value; None: the value itself
    fills: Array | None  # [K, 3], of each box that is erased; None: there is none
    # int32 [K, 2]: 0 for its fill, 1 for noise, 2 for one colour of it; the number of the noise
    fillings: Ints | None
    # [T, 3, NOISE_LEVELS], of each level of a noise; None, with fillings: no noise
    levels: Array | None


NO_TABLES = Tables(None, None, None, None)  # uint8 as they are


class Lists(NamedTuple):
    """What STORE does to the samples of one batch. Places are of the image as it is stored, px."""

    rows: Ints | None  # int32 [1 or N, kept], that are kept; None: all
    columns: Ints | None
    boxes: Ints | None  # int32 [N, K, 4]: top, left, height, width of what is erased; None: nothing
    keys: NDArray[np.uint32] | None  # uint32 [N, K], of the noise in them
    partners: Ints | None  # int32 [N, 7], `MixRecords.rows`; None: nothing is mixed


def tables(steps: tuple[Step, ...], dtype: str) -> Tables:
    return Tables(table(steps, dtype), fills(steps, dtype), *noise(steps, dtype))


def mixed(one: _native.StoreRecords, partners: Ints | None) -> _native.StoreRecords:
    """The same records, of a batch that is mixed."""
    return _native.StoreRecords(
        channels_last=one.channels_last, table=one.table, rows=one.rows, columns=one.columns,
        boxes=one.boxes, fills=one.fills, noise=one.noise, partners=partners, patch=one.patch,
    )  # fmt: skip


def records(
    channels_last: bool, batch: Lists, constant: Tables, patch: int = 0
) -> _native.StoreRecords:
    """Of one batch, as the job and the GPU take them.

    patch: side of the patches that images are cut into, px; 0: they stay whole.
    """
    noise = None
    if batch.keys is not None and constant.fillings is not None and constant.levels is not None:
        noise = _native.Noise(batch.keys, constant.fillings, constant.levels)
    return _native.StoreRecords(
        channels_last=channels_last, table=constant.values, rows=batch.rows, columns=batch.columns,
        boxes=batch.boxes, fills=constant.fills, noise=noise, partners=batch.partners, patch=patch,
    )  # fmt: skip


def table(steps: tuple[Step, ...], dtype: str) -> Array | None:
    """[3, 256] of `dtype` (bfloat16 as its bits in uint16); None where the uint8 value itself is
    stored.
    """
    if dtype == "uint8":
        return None
    ramp = torch.arange(256, dtype=torch.uint8).expand(3, 1, 256)
    for step in steps:
        if isinstance(step.op, Values):
            ramp = pil.apply(step.op, ramp, ONE_BY_ONE)
    return _bits(ramp.reshape(3, 256), dtype)


def kept(steps: tuple[Step, ...], records: list[Array]) -> tuple[Ints | None, Ints | None]:
    """Numbers of the rows and of the columns that the gathers keep: int32 [1 or N, kept] each, or
    None, None for all.
    """
    rows: Ints | None = None
    columns: Ints | None = None
    for step, record in zip(steps, records, strict=True):
        if not isinstance(step.op, Gather):
            continue
        count, _ = step.op.kept(step.spec.height or 0, step.spec.width or 0)
        record = record[:1] if step.op.per_batch else record
        rows, columns = _of(rows, record[:, :count]), _of(columns, record[:, count:])
    return rows, columns


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these STORE steps are no table, lists and boxes."""
    reasons: list[str] = []
    erasing: Step | None = None
    for step in steps:
        if not isinstance(step.op, (Gather, RandomErasing, Values)):
            reasons.append(f"{step.label} is not written natively")
        elif isinstance(step.op, Gather) and erasing:
            reasons.append(
                f"{step.label} drops rows and columns after {erasing.label}; natively it comes "
                "before"
            )
        elif isinstance(step.op, RandomErasing):
            erasing = step
            if step.spec.channels == 1 and step.op.value in KINDS:
                reasons.append(f"{step.label} has noise of one channel; natively it has three")
    return reasons


def erased_first(steps: tuple[Step, ...], mode: str) -> list[str]:
    """Why a size schedule that shrinks finished batches is not for these STORE steps: kernels erase
    last.
    """
    return [
        f"{step.label} comes before size_schedule's mode {mode!r} shrinks the batch; natively only "
        "mode 'decode' goes with it"
        for step in steps if isinstance(step.op, RandomErasing)
    ]  # fmt: skip


def fills(steps: tuple[Step, ...], dtype: str) -> Array | None:
    """[K, 3] of `dtype`, what each box of RandomErasing becomes by the steps after it; None where
    nothing is erased.
    """
    values = []
    for number, step in enumerate(steps):
        if not isinstance(step.op, RandomErasing):
            continue
        one = pil.apply(
            step.op,
            torch.zeros((3, 1, 1), dtype=getattr(torch, step.spec.dtype)),
            np.array([[0, 0, 1, 1, 0]]),
        )
        values += [_after(steps[number + 1 :], one).reshape(3)] * step.op.max_count
    return _bits(torch.stack(values), dtype) if values else None


def noise(steps: tuple[Step, ...], dtype: str) -> tuple[Ints, Array] | tuple[None, None]:
    """`Tables.fillings` and `levels`: each level of noise after the steps that follow the op."""
    fillings: list[tuple[int, int]] = []
    tables: list[torch.Tensor] = []
    for number, step in enumerate(steps):
        if not isinstance(step.op, RandomErasing):
            continue
        kind = 1 + KINDS.index(step.op.value) if step.op.value in KINDS else 0
        fillings += [(kind, len(tables) if kind else 0)] * step.op.max_count
        if kind:
            levels = (
                torch.from_numpy(noise_values())
                .to(getattr(torch, step.spec.dtype))
                .expand(3, 1, LEVELS)
            )
            tables.append(_after(steps[number + 1 :], levels).reshape(3, LEVELS))
    return (
        (np.array(fillings, np.int32), _bits(torch.stack(tables), dtype))
        if tables
        else (None, None)
    )


def _after(steps: tuple[Step, ...], image: torch.Tensor) -> torch.Tensor:
    """What the values of an image become by these steps, whatever they erase."""
    for step in steps:
        image = (
            image if isinstance(step.op, RandomErasing) else pil.apply(step.op, image, ONE_BY_ONE)
        )
    return image


def _bits(values: torch.Tensor, dtype: str) -> Array:
    """As NumPy has them: bfloat16 as its bits in uint16."""
    values = values.contiguous()
    return values.view(torch.uint16).numpy() if dtype == "bfloat16" else values.numpy()


def boxes(
    steps: tuple[Step, ...], records: list[Array]
) -> tuple[Ints, NDArray[np.uint32]] | tuple[None, None]:
    """Boxes int32 [N, K, 4], top, left, height, width, px, in the order of `Tables.fills`; and
    their noise's keys uint32 [N, K].
    """
    parts = [
        record
        for step, record in zip(steps, records, strict=True)
        if isinstance(step.op, RandomErasing)
    ]
    if not parts:
        return None, None
    every = np.concatenate(parts, axis=1)
    return every[..., :4], every[..., 4].view(np.uint32)


def _of(before: Ints | None, chosen: Ints) -> Ints:
    """What `chosen` are of what was kept before."""
    return chosen if before is None else np.take_along_axis(before, chosen, axis=1)
