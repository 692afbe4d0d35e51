"""Why a pipeline does not go with what a loader is asked for, before its ops are looked at."""

from collections.abc import Sequence

from fastload.errors import PipelineError
from fastload.plan import forms
from fastload.plan.forms import Form
from fastload.plan.pipeline import Pipeline
from fastload.plan.steps import Step, stackable
from fastload.sources import Source
from fastload.sources.columns import bounds, extremes
from fastload.sources.masks import Masks
from fastload.spec import Spec, Stage
from fastload.system import devices
from fastload.transforms import Mix, Op
from fastload.transforms.functions import Custom
from fastload.transforms.mixing import class_problems
from fastload.transforms.reference import masks as reference


def mix_problems(mix: Mix, pipeline: Pipeline) -> list[str]:
    """Why batches and labels of the pipeline cannot be mixed."""
    problems, source = mix.problems(), pipeline.source
    if pipeline.form is not None:
        problems.append("the data set's batches are not [images, labels]; leave out mix")
    elif pipeline.views or pipeline.masks or pipeline.target:
        what = "several pictures of an image (Views)"
        if not pipeline.views:
            what = "masks in place of labels" if pipeline.masks else "other targets than labels"
        problems.append(
            f"the data set makes {what}, want one picture and a class number; leave out mix"
        )
    elif not any("num_classes" in problem for problem in problems):
        problems += label_problems(mix, source)
    return [f"mix ({mix.name}): {problem}" for problem in problems]


def label_problems(mix: Mix, source: Source) -> list[str]:
    """Why the labels of a source cannot be mixed. All are read only where some may be wrong."""
    known = len(source.classes)
    if not class_problems(mix, known, *bounds(source.labels)):
        return []
    return class_problems(mix, known, *extremes(source.labels))


def target_problems(pipeline: Pipeline, device: str | None) -> list[str]:
    """Why values beside the images cannot come with a batch."""
    if pipeline.target is None:
        return []
    problems = []
    if devices.kind(device) == "cuda":
        problems.append(
            "is read by the host, want device None; move images to the GPU yourself: images.to("
            "'cuda', non_blocking=True)"
        )
    if pipeline.form is not None:
        problems.append("comes with [images, labels] only; leave it out, or use Views")
    if lacks := pipeline.target.lacks(pipeline.source):
        problems.append(
            f"{', '.join(lacks)} is not there in all parts, or of several kinds; mix parts that "
            "have the same, or declare types: target={name: type}"
        )
    return [f"target ({', '.join(pipeline.target.names)}): {problem}" for problem in problems]


def error_problems(on_error: str, pipeline: Pipeline, mix: Mix | None) -> list[str]:
    """Why a batch cannot do without a bad sample."""
    problems = []
    if on_error == "skip" and mix:
        problems.append(
            "on_error: 'skip' would leave images of a mixed batch without their partners; use "
            "'substitute'"
        )
    if on_error != "raise" and pipeline.masks:
        problems.append(f"on_error: {on_error!r} is not there for masks yet; use 'raise'")
    return problems


def form_problems(form: Form | None, pictures: Sequence[Spec]) -> list[str]:
    """Why pictures cannot be stacked as the form has it."""
    kinds = [
        {
            (spec.channels, spec.height, spec.width, spec.dtype)
            for spec in map(pictures.__getitem__, parts)
        }
        for parts in (() if form is None else forms.stacks(form))
    ]
    return ["the views that are stacked differ in size or type"] * any(len(k) > 1 for k in kinds)


def check_masks(steps: Sequence[Step], masks: Masks | None) -> None:
    """Raise PipelineError where an op cannot move masks."""
    problems = [
        f"{step.label}: {problem}"
        for step in (steps if masks else ())
        for problem in reference.problems(step.op, masks.fill if masks else None)
    ]
    if problems:
        raise PipelineError(problems)


def part_problems(pipeline: Pipeline, device: str | None) -> list[str]:
    """Why the parts of a mix cannot have ops of their own."""
    if not pipeline.by_part:
        return []
    problems = []
    if devices.kind(device) == "cuda":
        problems.append(
            "are drawn by the host, want device None; move images to the GPU yourself: "
            "images.to('cuda', non_blocking=True)"
        )
    if any(isinstance(op, Custom) for _, ops in pipeline.by_part for op in ops):
        problems.append("have a function of yours; give all parts the same transform")
    return [f"mix: transforms of the parts {problem}" for problem in problems]


def check_parts(parts: Sequence[tuple[str, tuple[Op, ...]]]) -> None:
    """Raise PipelineError where samples of these parts cannot be in one batch, as far as that is
    known without a loader.
    """
    made, problems = [], list[str]()
    for name, ops in parts:
        try:
            made.append((name, *stackable(ops)))
        except PipelineError as error:
            problems += [f"mix: {name}: {problem}" for problem in error.problems]
    if problems := problems or alike_problems(made):
        raise PipelineError(problems)


def alike_problems(parts: Sequence[tuple[str, Sequence[Step], Spec]]) -> list[str]:
    """Why samples of the parts of a mix cannot be in one batch: name, steps, and finished image of
    each.
    """
    problems = []
    for name, steps, out in parts[1:]:
        first, first_steps, want = parts[0]
        if out != want or _stored(steps, out) != _stored(first_steps, want):
            problems.append(
                f"mix: {name} ends otherwise than {first} (got {_said(steps, out)}; want "
                f"{_said(first_steps, want)}); give both the same size, type and last ops"
            )
    return problems


def _stored(steps: Sequence[Step], out: Spec) -> tuple[object, ...]:
    """The image before STORE, and its ops."""
    last = [step for step in steps if step.stage == Stage.STORE]
    return (last[0].spec if last else out, *(step.op for step in last))


def _said(steps: Sequence[Step], out: Spec) -> str:
    last = [str(step.op) for step in steps if step.stage == Stage.STORE]
    return ", ".join([f"{out.dtype} {out.height}x{out.width}", *last])
