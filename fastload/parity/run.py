"""Runs every row of a pipeline through the reference and the other backends, batch beside batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch

from fastload import lowering
from fastload.backends import choosing
from fastload.backends.table import BACKENDS, facts
from fastload.dataset import Dataset
from fastload.errors import BackendError, FastloadError, UsageError, mistyped
from fastload.loader import DataLoader
from fastload.order.samplers import ShuffleSampler
from fastload.parity import joint, targets
from fastload.parity import rows as beginnings
from fastload.parity.compare import Comparison
from fastload.parity.report import CANNOT, FAILED, Cell, Column, Report
from fastload.parity.rows import Row
from fastload.parity.setting import Setting
from fastload.plan import jointly
from fastload.transforms import Mix

REFERENCE = "torch"
Batch = tuple[list[torch.Tensor], Any]  # images of each view, and the target


def measure(
    dataset: Any,
    setting: Setting | None = None,
    *,
    names: Sequence[str] = (),
    whole: bool = False,
    mix: Mix | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> Report:
    """Compare the backends on a data set that `fastload.open` gives, or that fastload recognises.

    Where boxes, masks and keypoints move with the image, the native engine is compared with
    torchvision's own transforms on Pillow's image, told the same draws, step by step.

    names:   backends; empty takes all that there are.
    whole:   only the whole pipeline, without those that are cut off after each op.
    mix:     the loader's, for a last row.
    on_done: called with the number of images of each batch of a row, for progress.

    Raises UsageError, BackendError where the data set is none of fastload's, and what the reference
    raises, such as SampleError.
    """
    setting = setting or Setting()
    pipeline, reasons = lowering.lower(dataset)
    if pipeline is None:
        raise BackendError(
            "\n".join(
                f"parity: only PyTorch's own engine can run this data set: {reason}"
                for reason in reasons
            )
        )
    compared = columns(names)
    order = list(islice(ShuffleSampler(len(pipeline.source), setting.seed), setting.images))
    if pipeline.joint is not None:
        asked = compared if names else [joint.NATIVE]
        found = joint.measure(dataset, jointly.plan(pipeline), order, setting, asked, on_done)
        return replace(found, rows=found.rows[-1:]) if whole else found
    rows = beginnings.rows(pipeline, mix)
    if whole:
        rows = rows[-1:]
    cells = tuple((row.name, _cells(row, compared, order, setting, on_done)) for row in rows)
    return Report(len(order), compared, cells)


def columns(names: Sequence[str] = ()) -> tuple[Column, ...]:
    """The backends to compare with the reference, on each device that is there.

    Raises UsageError for names that are none.
    """
    known = [name for name in BACKENDS if name != REFERENCE]
    if wrong := [name for name in names if name not in known]:
        note = f"{REFERENCE} is what they are compared with"
        raise mistyped(
            UsageError(
                f"parity: backend {wrong[0]!r} is unknown (want {', '.join(known)}; {note}); "
                "choose one of them"
            ),
            wrong[0],
            known,
        )
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    return tuple(
        Column(name, device) for name in known if name in names or not names for device in devices
    )


def _cells(
    row: Row,
    compared: Sequence[Column],
    order: list[int],
    setting: Setting,
    on_done: Callable[[int], None],
) -> tuple[Cell, ...]:
    """One row. The reference's batches are made once; what the others cannot or will not do ends
    only their own part.
    """
    running: dict[Column, Comparison] = {}
    feeds: dict[Column, Iterator[Batch]] = {}
    done: dict[Column, Cell] = {}
    for column in compared:
        if why := choosing.unsupported(column.backend, row.plan, column.device):
            done[column] = Cell(CANNOT, why=tuple(why))
            continue
        feeds[column] = batches(column, row, order, setting)
        running[column] = Comparison(row.plan, order, own=facts(column.backend).own_draws)
    for images, target in batches(Column(REFERENCE, "cpu"), row, order, setting):
        for column in [column for column in running if column not in done]:
            if failure := _advance(feeds[column], running[column], images, target):
                done[column] = failure
        on_done(len(images[0]))
    return tuple(done[column] if column in done else running[column].cell() for column in compared)


def _advance(
    feed: Iterator[Batch], comparison: Comparison, images: list[torch.Tensor], target: Any
) -> Cell | None:
    """Compare one more batch; a cell where that ends the row."""
    try:
        got = next(feed, None)
    except (FastloadError, RuntimeError, ValueError) as error:
        # Other libraries raise these too. A backend that fails is a result, not the end.
        return Cell(FAILED, why=(str(error).strip().partition("\n")[0] or type(error).__name__,))
    if got is None:
        return Cell(FAILED, why=(f"its epoch ended after {comparison.images} images",))
    return comparison.add(*got, images, target)


def batches(column: Column, row: Row, order: list[int], setting: Setting) -> Iterator[Batch]:
    """A loader's batches of the samples in `order`, on the CPU. Raises what the loader raises."""
    loader = DataLoader(
        Dataset(row.pipeline), setting.batch_size, sampler=order, num_workers=setting.workers,
        seed=setting.seed, mix=row.plan.mix,
        backend=column.backend, device=None if column.device == "cpu" else column.device,
        seek_index="use",
    )  # fmt: skip
    for images, target in loader:
        views = images if row.pipeline.views else [images]
        yield [view.cpu() for view in views], targets.on_cpu(target)
