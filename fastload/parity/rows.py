"""A pipeline as the series of its beginnings: each row of the table runs one op more, so that the
first row that differs names the op.
"""

from dataclasses import dataclass, replace

from fastload.errors import PipelineError
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import Plan, plan
from fastload.transforms import CenterCrop, Mix


@dataclass(frozen=True)
class Row:
    name: str
    pipeline: Pipeline
    plan: Plan


def rows(pipeline: Pipeline, mix: Mix | None = None) -> list[Row]:
    """Decoding alone, then the pipeline up to each of its ops, then its batches mixed; ops before
    which sizes still differ share a row with the next.

    A beginning draws what the whole draws: random numbers depend on an op's place, not on what
    follows. Raises PipelineError.
    """
    size = plan(pipeline).cropped
    middle = CenterCrop((size.height or 1, size.width or 1))
    alone = replace(pipeline, ops=(middle,), views=())
    found = [Row(f"decode (the middle {size.height}x{size.width} px)", alone, plan(alone))]
    waiting: list[str] = []
    longest = max(map(len, pipeline.pictures))
    for count in range(1, longest + 1):
        waiting.append(_name(pipeline, count))
        start = _beginning(pipeline, count)
        try:
            found.append(Row(" + ".join(waiting), start, plan(start)))
            waiting = []
        except PipelineError:
            if count == longest:
                raise
    return [*found, Row(f"mix {mix.name}", pipeline, plan(pipeline, mix=mix))] if mix else found


def _beginning(pipeline: Pipeline, count: int) -> Pipeline:
    return replace(
        pipeline, ops=pipeline.ops[:count], views=tuple(ops[:count] for ops in pipeline.views)
    )


def _name(pipeline: Pipeline, number: int) -> str:
    """Of the ops with this number, from 1; views may have several."""
    names = dict.fromkeys(ops[number - 1].name for ops in pipeline.pictures if len(ops) >= number)
    return f"{number} {' or '.join(names)}"
