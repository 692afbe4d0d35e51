"""Parity of images whose boxes, masks and keypoints move along: after each step, what the native
way has and what torchvision's transform makes of Pillow's image with the same draws.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from fastload.joint.picture import opened
from fastload.joint.samples import Maker, draws, failed, moves
from fastload.joint.steps import Target
from fastload.loader import DataLoader
from fastload.parity import difference, told
from fastload.parity.report import (
    CANNOT,
    DIFFERS,
    EQUAL,
    LABELS,
    NEAR,
    SHAPE,
    WITHIN,
    Cell,
    Column,
    Report,
    Worst,
)
from fastload.parity.setting import Setting
from fastload.plan.plan import Plan
from fastload.spec import Array, Floats, Pixels, Work
from fastload.transforms import pil

NATIVE, REFERENCE = Column("native", "cpu"), "torchvision"
State = tuple[torch.Tensor, Target]  # an image [C, H, W] and its target
Pair = tuple[State, State]  # the native one, and the reference


def measure(
    dataset: Any,
    plan: Plan,
    order: Sequence[int],
    setting: Setting,
    compared: Sequence[Column],
    on_done: Callable[[int], None],
) -> Report:
    """Raises what the reference or the loader raises, such as SampleError."""
    maker = Maker(plan)
    names = row_names(plan)
    tallies = [*(Tally(None) for _ in names[:-1]), Tally(maker.joint.table)]
    samples = _samples(dataset, order, setting)
    for sample, made in zip(order, samples, strict=True):
        work = Work(np.array([sample]), np.zeros(1, np.int64), setting.seed, 0, 0)
        for tally, pair in zip(tallies, _pairs(maker, work, made), strict=True):
            tally.add(plan.source.name(sample), *pair)
            on_done(1)
    cells = (tuple(_cell(column, tally) for column in compared) for tally in tallies)
    return Report(len(order), tuple(compared), tuple(zip(names, cells, strict=True)), REFERENCE)


def row_names(plan: Plan) -> list[str]:
    """Of the rows of a report, in order."""
    assert plan.joint is not None
    steps: Sequence[Any] = plan.joint.steps
    named = [f"{number} {type(step.of).__name__}" for number, step in enumerate(steps, 1)]
    return ["decode", *named, "whole batches"]


def _samples(dataset: Any, order: Sequence[int], setting: Setting) -> Iterator[State]:
    """As the loader gives them."""
    loader: DataLoader[Any] = DataLoader(
        dataset, setting.batch_size, sampler=order, num_workers=setting.workers,
        seed=setting.seed, collate_fn=list, backend="native",
    )  # fmt: skip
    for batch in loader:
        yield from batch


def _pairs(maker: Maker, work: Work, made: State) -> Iterator[Pair]:
    """Of one sample after decoding, after each step, and as the loader made it."""
    sample = int(work.samples[0])
    name = maker.plan.source.name(sample)
    try:
        encoded = maker.encoded(sample, name)
        picture, image = opened(encoded), pil.decode(encoded)
        target = want = maker.target(sample, name, picture.size)
        yield (_tensor(picture.made()), target), (_tensor(np.asarray(image)), want)
        uniforms = draws(work, 0)
        others = maker.partners(work, 0)
        steps = moves(maker.joint.steps, picture, target, uniforms, others=others)
        for number, drawn in enumerate(steps, start=1):
            image, want = told.after(drawn, number, uniforms, image, want)
            yield (_tensor(picture.made()), drawn.target), (_tensor(np.asarray(image)), want)
    except pil.DECODE_ERRORS as error:
        raise failed(name, sample, error) from error
    whole = {None: maker.joint.given(want)} if maker.joint.alone else want
    got = {None: made[1]} if maker.joint.alone else made[1]
    yield (made[0], got), (_stored(np.asarray(image), maker.joint.table), whole)


def _tensor(pixels: Pixels) -> torch.Tensor:
    return torch.from_numpy(pixels.copy()).permute(2, 0, 1).contiguous()


def _stored(pixels: Pixels, table: Array | None) -> torch.Tensor:
    """As torchvision's ToDtype and Normalize make them, which `table` has for each level."""
    if table is None:
        return _tensor(pixels)
    return torch.stack([torch.from_numpy(table[n][pixels[..., n]]) for n in range(len(table))])


class Tally:
    """One row. table: float32 [3, 256], what levels have become; None: they are uint8."""

    def __init__(self, table: Array | None) -> None:
        ends: Floats = np.array([[0.0, 255.0]] * 3) if table is None else table[:, [0, -1]]
        self.zero = torch.from_numpy(np.asarray(ends[:, 0], np.float64))
        self.level = (torch.from_numpy(np.asarray(ends[:, 1], np.float64)) - self.zero).abs() / 255
        self.apart: list[difference.PerImage] = []
        self.shapes: list[str] = []
        self.targets: list[str] = []
        self.worst: Worst | None = None

    def add(self, name: str, got: State, want: State) -> None:
        """One sample."""
        ours, theirs = (one[0].as_subclass(torch.Tensor)[None] for one in (got, want))
        if why := told.problem(got[1], want[1]):
            self.targets.append(f"{name}: {why}")
        if why := difference.mismatch(ours, theirs):
            self.shapes.append(f"{name}: {why}")
            return
        apart = difference.of_batch(ours, theirs, self.level)
        self.apart.append(apart)
        mean = float(apart.mean[0])
        if mean > (self.worst.mean if self.worst else 0.0):
            largest = float(apart.largest[0])
            self.worst = Worst(name, largest, mean, self._pixels(ours), self._pixels(theirs))

    def _pixels(self, image: torch.Tensor) -> Pixels:
        levels = (image[0].to(torch.float64) - self.zero[:, None, None]) / self.level[:, None, None]
        pixels: Pixels = levels.round().clamp(0, 255).to(torch.uint8).permute(1, 2, 0).numpy()
        return pixels

    def cell(self) -> Cell:
        """What all samples come to."""
        if self.shapes:
            return Cell(SHAPE, why=_first(self.shapes))
        if self.targets:
            return Cell(LABELS, why=_first(self.targets))
        largest, mean, share = (np.concatenate(part) for part in zip(*self.apart, strict=True))
        most, other = float(largest.max()), float(share.mean())
        verdict = DIFFERS if most > NEAR else WITHIN if other else EQUAL
        return Cell(verdict, most, float(mean.mean()), other, worst=self.worst)


def _first(reasons: list[str]) -> tuple[str, ...]:
    more = f" (and {len(reasons) - 1} more samples)" if len(reasons) > 1 else ""
    return (f"{reasons[0]}{more}",)


def _cell(column: Column, tally: Tally) -> Cell:
    if column == NATIVE:
        return tally.cell()
    return Cell(CANNOT, why=(f"backend {column} moves no boxes, masks and keypoints",))
