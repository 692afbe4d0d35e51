"""From a pipeline to a checked plan: every problem at once, before a byte is read."""

from dataclasses import dataclass, replace
from typing import Any

from fastload import progressive, rng
from fastload.errors import PipelineError
from fastload.pipeline import Pipeline
from fastload.progressive import SizeSchedule
from fastload.sources import Source
from fastload.spec import Ints, Spec, Stage, Work
from fastload.transforms import Op, ToImage


@dataclass(frozen=True)
class Step:
    """One op in its place."""

    number: int  # from 1, as messages count; also the op's number in the random keys
    op: Op
    spec: Spec  # the image before the op
    draws: int  # uniforms per sample, or per batch

    @property
    def label(self) -> str:
        return f"op {self.number} ({self.op.name})"


@dataclass(frozen=True)
class Plan:
    source: Source
    steps: tuple[Step, ...]
    out: Spec  # one image of a batch
    decode_scale: str = "exact"  # or "fast": JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size
    size_mode: str = "decode"  # how batches of another size are made; see ProgressiveResize
    augment: str = "cpu"  # or "gpu": where AUGMENT runs

    @property
    def full(self) -> int:
        """The side that a size schedule changes, px: after CROP, or the width of the finished images."""
        return (self.cropped if self.size_mode == "decode" else self.out).width or 0

    @property
    def cropped(self) -> Spec:
        """One image after CROP."""
        return next((step.spec for step in self.steps if step.op.stage > Stage.CROP), self.out)

    def at(self, size: int) -> "Plan":
        """The plan of batches with this side, px, in place of `full`. Raises PipelineError."""
        steps, out = _placed(progressive.at_size(self.ops, self.size_mode, size, self.full))
        return replace(self, steps=steps, out=out)

    @property
    def ops(self) -> tuple[Op, ...]:
        return tuple(step.op for step in self.steps)

    def stage(self, stage: Stage) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.op.stage == stage)


def plan(
    pipeline: Pipeline,
    decode_scale: str = "exact",
    schedule: SizeSchedule | None = None,
    augment: str = "cpu",
    device: str | None = None,
) -> Plan:
    """Check the pipeline and place its ops. Reads no data, touches no device. Raises PipelineError with every problem."""
    problems = _augment_problems(augment, device)
    try:
        steps, spec = _placed(pipeline.ops)
    except PipelineError as error:
        own = [f"{progressive.WHERE}: {problem}" for problem in schedule.problems()] if schedule else []
        raise PipelineError([*error.problems, *own, *problems]) from None
    mode = schedule.mode if schedule else "decode"
    found = Plan(pipeline.source, steps, spec, decode_scale, mode, "cpu" if augment == "auto" else augment)
    if schedule:
        problems = _schedule_problems(found, schedule) + problems
    if problems:
        raise PipelineError(problems)
    return found


def _augment_problems(augment: str, device: str | None) -> list[str]:
    if augment == "gpu" and device != "cuda":
        return [f"augment: 'gpu' needs device='cuda' (got {device!r}); add device='cuda', or leave augment out"]
    return []


def _schedule_problems(plan: Plan, schedule: SizeSchedule) -> list[str]:
    """Why batches cannot have the sizes of the schedule, as far as these are known."""
    found = progressive.schedule_problems(schedule, plan.full)
    if plan.size_mode == "decode":
        found += progressive.decode_problems(plan.ops, plan.cropped.height or 0, plan.cropped.width or 0)
    if found:
        return found
    for size in schedule.known(plan.full):
        try:
            if size != plan.full:
                plan.at(size)
        except PipelineError as error:
            found += [f"{progressive.WHERE}: at {size} px, {problem}" for problem in error.problems]
    return found


def _placed(ops: tuple[Op, ...]) -> tuple[tuple[Step, ...], Spec]:
    """`place`, and the images leave as tensors of one size. Raises PipelineError with every problem."""
    steps, spec = place(ops)
    if not spec.tensor:  # images leave a loader as tensors, asked or not
        spec = ToImage().out_spec(spec)
    if spec.height is None or spec.width is None:
        problem = "image sizes still differ after the last op, so they cannot be stacked"
        raise PipelineError([f"pipeline: {problem}; end CROP with RandomResizedCrop, CenterCrop or Resize((height, width))"])
    return steps, spec


def place(ops: tuple[Op, ...]) -> tuple[tuple[Step, ...], Spec]:
    """Steps of the ops in their order, and the image after the last. Raises PipelineError with every problem."""
    spec, steps, problems = Spec(), [], []
    latest: Step | None = None
    for number, op in enumerate(ops, start=1):
        step = Step(number, op, spec, 0)
        found = op.problems(spec)
        if latest and op.stage < latest.op.stage:
            found.append(f"belongs to {op.stage.name}, but {latest.label} is {latest.op.stage.name}; move it before op {latest.number}")
        problems += [f"{step.label}: {problem}" for problem in found]
        if not found:
            steps.append(Step(number, op, spec, op.draws(spec)))
            spec = op.out_spec(spec)
        if not latest or op.stage >= latest.op.stage:
            latest = step
    if problems:
        raise PipelineError(problems)
    return tuple(steps), spec


def records(steps: tuple[Step, ...], work: Work, sizes: Ints) -> list[Any]:
    """Each step's parameter records [N, …] for the samples of `work`, whose images have `sizes` int32 [N, 2], px.

    The one place where plans meet random numbers: every backend gets its records here.
    """
    out = []
    for step in steps:
        draw = rng.batch_uniforms if step.op.per_batch else rng.sample_uniforms
        found, sizes = step.op.params(draw(work, step.number, step.draws), sizes)
        out.append(found)
    return out
