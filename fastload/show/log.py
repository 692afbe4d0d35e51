"""Drawn records in words."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fastload.plan.plan import Plan, Step
from fastload.sources import Source
from fastload.spec import Array, Json, Stage, Work
from fastload.transforms import ColOut, RandomErasing, RandomPerspective, RandomResizedCrop, Resize
from fastload.transforms.base import filter_name
from fastload.transforms.geometry import RandomHorizontalFlip, RandomVerticalFlip
from fastload.transforms.matrices import IDENTITY
from fastload.transforms.mix_records import MixRecords
from fastload.transforms.programs import CODES
from fastload.transforms.warp import Warp

SHOWN = 12  # dropped rows, dropped columns; the record holds all
UNITS = {  # of CODES' arguments
    "ShearX": "{:.3g}", "ShearY": "{:.3g}", "TranslateX": "{:.1f} px", "TranslateY": "{:.1f} px",
    "Rotate": "{:.1f}°",
    "Brightness": "{:.2f}", "Color": "{:.2f}", "Contrast": "{:.2f}", "Sharpness": "{:.2f}",
    "Posterize": "{:.0f} bits", "Solarize": "from {:g}", "SolarizeAdd": "{:.0f}",
    "Hue": "{:.3f} turns",
    "GaussianBlur": "{:.2f} px", "GaussianBlurPIL": "{:.2f} px", "Custom": "with key {:.0f}",
    "Add": "{:.3f}", "Mix": "{:.3f}", "Blend": "{:.3f}",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """What one op did to one sample."""

    number: int  # of the op, from 1
    op: str
    stage: str
    words: str
    record: Array | list[float]  # the op's parameter record

    def __str__(self) -> str:
        return f"{self.op}: {self.words}"

    def as_dict(self) -> Json:
        return {
            "number": self.number,
            "op": self.op,
            "stage": self.stage,
            "words": self.words,
            "record": np.asarray(self.record).tolist(),
        }


def lines(steps: tuple[Step, ...], records: list[Array]) -> tuple[Line, ...]:
    """One line per op that draws or moves pixels, for one sample's records; types and scales are
    the same for all and left out.
    """
    out = []
    for step, record in zip(steps, records, strict=True):
        said = words(step, record)
        if said:
            out.append(Line(step.number, step.op.name, step.stage.name, said, record))
    return tuple(out)


def mixing(plan: Plan, how: MixRecords, work: Work, place: int) -> tuple[Line, ...]:
    """What was mixed into the image at `place` of the batch; nothing where only labels are
    smoothed.
    """
    if plan.mix is None or not (plan.mix.draws(len(work))):
        return ()
    partner = int(work.samples[how.partner[place]])
    label = int(plan.source.labels[partner])
    of = f"sample {partner} ({class_name(plan.source, label)}, label {label})"
    top, left, height, width = (int(v) for v in how.box[place])
    own, other = (float(v) for v in how.shares[place])
    if height and width:
        said = f"{height}x{width} px of {of} at row {top}, column {left}, {other:.1%} of the label"
    else:
        said = f"{own:.1%}, and {other:.1%} of {of}" if other else "not mixed"
    return (
        Line(
            len(plan.steps) + 1,
            plan.mix.name,
            "MIX",
            said,
            [*how.rows()[place, :5].tolist(), own, other],
        ),
    )


def class_name(source: Source, label: int) -> str:
    """Its number where the data set has no names, as in an FFCV file with other integers."""
    return source.classes[label] if 0 <= label < len(source.classes) else str(label)


def words(step: Step, record: Array) -> str:
    """What one record means; empty for ops that have none."""
    if step.op.stage == Stage.AUGMENT:
        return (
            ", then ".join(said for said in map(row, np.asarray(record).tolist()) if said)
            or "nothing"
        )
    for kind, say in _SAY.items():
        if isinstance(step.op, kind):
            return say(step, record)
    return _window(step, record) if step.op.stage == Stage.CROP else ""


def row(values: list[float]) -> str:
    """One row of a program: op code, argument, filter. Empty for Identity."""
    name = CODES[int(values[0])]
    if name == "Identity":
        return ""
    if (name, values[1]) == ("Posterize", 1.0):
        return "Posterize 1 bit"
    return f"{name} {UNITS[name].format(values[1])}" if name in UNITS else name


def _window(step: Step, record: Array) -> str:
    top, left, height, width = (int(v) for v in record)
    return f"{height}x{width} px from row {top}, column {left}"


def _resized_crop(step: Step, record: Array) -> str:
    height, width = step.op.size  # type: ignore[attr-defined]  # RandomResizedCrop's
    by = f", {filter_name(int(record[4]))}" if len(record) > 4 else ""
    return f"{_window(step, record[:4])}, resized to {height}x{width}{by}"


def _resize(step: Step, record: Array) -> str:
    return f"to {int(record[0])}x{int(record[1])} px"


def _flip(step: Step, record: Array) -> str:
    return "mirrored" if int(record[0]) else "not mirrored"


def _warp(step: Step, record: Array) -> str:
    height, width = (int(v) for v in record[8:])
    if tuple(record[:8]) == IDENTITY:
        return f"unchanged, {height}x{width} px"
    count = 8 if isinstance(step.op, RandomPerspective) else 6
    return f"matrix {' '.join(f'{v:.4g}' for v in record[:count])}, to {height}x{width} px"


def _colout(step: Step, record: Array) -> str:
    height, width = step.spec.height or 0, step.spec.width or 0
    rows, columns = step.op.kept(height, width)  # type: ignore[attr-defined]  # ColOut's
    return (
        f"{_kept('rows', height, record[:rows])}; "
        f"{_kept('columns', width, record[rows : rows + columns])}"
    )


def _kept(what: str, side: int, kept: Array) -> str:
    dropped = np.setdiff1d(np.arange(side), kept)
    shown = ", ".join(map(str, dropped[:SHOWN])) + f" and {len(dropped) - SHOWN} more" * (
        len(dropped) > SHOWN
    )
    return f"{len(kept)} of {side} {what} kept" + f" (without {shown})" * bool(len(dropped))


def _erasing(step: Step, record: Array) -> str:
    boxes = [_window(step, box[:4]) for box in np.asarray(record).tolist() if box[2] and box[3]]
    return ", ".join(boxes) or "nothing"


_SAY: dict[type, Callable[[Step, Array], str]] = {
    RandomResizedCrop: _resized_crop,
    Resize: _resize,
    RandomHorizontalFlip: _flip,
    RandomVerticalFlip: _flip,
    Warp: _warp,
    ColOut: _colout,
    RandomErasing: _erasing,
}
