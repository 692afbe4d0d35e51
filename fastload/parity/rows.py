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
    """Decoding alone, then the pipeline up to each of its ops, then its batches mixed.

    An op after which sizes still differ shares a row with the next one. A pipeline that is cut off
    draws what the whole one draws: random numbers depend on an op's position, not on what follows.
    A mix whose parts have ops of their own is one row.
    Raises PipelineError.
    """
    size = plan(pipeline).cropped
    middle = CenterCrop((size.height or 1, size.width or 1))
    alone = replace(pipeline, ops=(middle,), views=())
    table = [Row(f"decode (the middle {size.height}x{size.width} px)", alone, plan(alone))]
    waiting: list[str] = []
    if pipeline.by_part:  # whose ops do not stand beside each other
        return [Row("the whole of each part", pipeline, plan(pipeline, mix=mix))]
    longest = max(map(len, pipeline.pictures))
    for count in range(1, longest + 1):
        waiting.append(_name(pipeline, count))
        start = _beginning(pipeline, count)
        try:
            table.append(Row(" + ".join(waiting), start, plan(start)))
            waiting = []
        except PipelineError:
            if count == longest:
                raise
    return [*table, Row(f"mix {mix.name}", pipeline, plan(pipeline, mix=mix))] if mix else table


def _beginning(pipeline: Pipeline, count: int) -> Pipeline:
    return replace(
        pipeline, ops=pipeline.ops[:count], views=tuple(ops[:count] for ops in pipeline.views)
    )


def _name(pipeline: Pipeline, number: int) -> str:
    """Of the ops with this number, from 1; views may have several."""
    names = dict.fromkeys(ops[number - 1].name for ops in pipeline.pictures if len(ops) >= number)
    return f"{number} {' or '.join(names)}"
