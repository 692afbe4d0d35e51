"""Every picture that one sample goes through, by the reference's own pixels."""

from collections.abc import Iterator

from PIL import Image

from fastload.plan.plan import Plan
from fastload.spec import Array, Stage
from fastload.transforms import pil
from fastload.transforms.kinds import Gather
from fastload.transforms.programs import Program, row_words


def stages(
    plan: Plan, image: Image.Image, records: list[Array]
) -> Iterator[tuple[str, str, Image.Image]]:
    """(title, words, picture after it) for each CROP op, each row of AUGMENT that changes
    something, and op that keeps some rows and columns.

    records: one sample's, one per step. Other STORE ops do not move pixels; what they make is the
        result.
    """
    now: Image.Image = image
    for step, record in zip(plan.steps, records, strict=True):
        op = step.op
        if isinstance(op, Program):
            for words, after in _rows(op, now, record):
                now = after
                yield op.name, words, after.convert("RGB")
        elif op.stage == Stage.CROP or isinstance(op, Gather):
            now = pil.moved(op, now, record)
            yield op.name, op.words(record, step.spec), now.convert("RGB")


def _rows(op: Program, image: Image.Image, record: Array) -> Iterator[tuple[str, Image.Image]]:
    """A program row by row: each picture is what the program gives up to there, since mixing rows
    look back to its start.
    """
    changed = False
    for part, rows in op.parts(record):
        start = image
        for count, values in enumerate(rows.tolist(), start=1):
            words = row_words(values)
            if words:
                image, changed = pil.moved(part, start, rows[:count]), True
                yield words, image
    if not changed:
        yield "nothing", image
