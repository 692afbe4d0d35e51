"""Every picture that one sample goes through, by the reference's own pixels."""

from collections.abc import Iterator

from PIL import Image

from fastload.plan.plan import Plan, Step
from fastload.show import log
from fastload.spec import Array, Stage
from fastload.transforms import ColOut, Grayscale, pil


def stages(
    plan: Plan, image: Image.Image, records: list[Array]
) -> Iterator[tuple[str, str, Image.Image]]:
    """(title, words, picture after it) for each CROP op, each row of AUGMENT that changes
    something, and ColOut.

    records: one sample's, one per step. Other STORE ops do not move pixels; what they make is the
        result.
    """
    now: Image.Image = image
    for step, record in zip(plan.steps, records, strict=True):
        if step.op.stage == Stage.AUGMENT:
            for words, after in _rows(step, now, record):
                now = after
                yield step.op.name, words, after.convert("RGB")
        elif step.op.stage == Stage.CROP or isinstance(step.op, ColOut):
            now = pil.moved(step.op, now, record)
            yield step.op.name, log.words(step, record), now.convert("RGB")


def _rows(step: Step, image: Image.Image, record: Array) -> Iterator[tuple[str, Image.Image]]:
    """A program row by row: each picture is what the program gives up to there, since mixing rows
    look back to its start.
    """
    if isinstance(step.op, Grayscale):
        yield log.words(step, record), pil.moved(step.op, image, record)
        return
    changed = False
    for part, rows in step.op.parts(record):  # type: ignore[attr-defined]  # a Program's
        start = image
        for count, values in enumerate(rows.tolist(), start=1):
            words = log.row(values)
            if words:
                image, changed = pil.moved(part, start, rows[:count]), True
                yield words, image
    if not changed:
        yield "nothing", image
