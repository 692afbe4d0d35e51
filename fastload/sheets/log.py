"""Drawn records in words."""

from dataclasses import dataclass

import numpy as np

from fastload.plan.plan import Plan
from fastload.plan.steps import Step
from fastload.sources import Source
from fastload.spec import Array, Json, Work
from fastload.transforms.mix_records import MixRecords


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
        said = step.op.words(record, step.spec)
        if said:
            out.append(Line(step.number, step.op.name, step.stage.name, said, record))
    return tuple(out)


def mixing(plan: Plan, how: MixRecords, work: Work, position: int) -> tuple[Line, ...]:
    """What was mixed into the image at `position` of the batch; nothing where only labels are
    smoothed.
    """
    if plan.mix is None or not (plan.mix.draws(len(work))):
        return ()
    partner = int(work.samples[how.partner[position]])
    label = int(plan.source.labels[partner])
    of = f"sample {partner} ({class_name(plan.source, label)}, label {label})"
    top, left, height, width = (int(v) for v in how.box[position])
    own, other = (float(v) for v in how.shares[position])
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
            [*how.rows()[position, :5].tolist(), own, other],
        ),
    )


def class_name(source: Source, label: int) -> str:
    """Its number where the data set has no names, as in an FFCV file with other integers."""
    return source.classes[label] if 0 <= label < len(source.classes) else str(label)
