"""Ops in their places: the image before each, what each draws, and its records."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fastload import rng
from fastload.errors import PipelineError
from fastload.spec import Array, Floats, Ints, Spec, Stage, Work
from fastload.transforms import Op, ToImage


@dataclass(frozen=True)
class Step:
    """One op in its place."""

    number: int  # from 1, as messages count; also the op's number in the random keys
    op: Op
    spec: Spec  # the image before the op
    draws: int  # uniforms per sample, or per batch
    late: bool = False  # a movable op of CROP that comes after ops of AUGMENT

    @property
    def stage(self) -> Stage:
        """Where the op runs."""
        return Stage.AUGMENT if self.late else self.op.stage

    @property
    def label(self) -> str:
        return f"op {self.number} ({self.op.name})"


def stackable(ops: tuple[Op, ...]) -> tuple[tuple[Step, ...], Spec]:
    """`infer_specs`, and the images leave as tensors of one size.

    Raises PipelineError with every problem.
    """
    steps, spec = infer_specs(ops)
    if not spec.tensor:  # images leave a loader as tensors, asked or not
        spec = ToImage().out_spec(spec)
    if spec.height is None or spec.width is None:
        problem = "image sizes may still differ after the last op, so they cannot be stacked"
        raise PipelineError(
            [
                (
                    f"pipeline: {problem}; end CROP with RandomResizedCrop, CenterCrop or "
                    "Resize((height, width))"
                )
            ]
        )
    return steps, spec


def infer_specs(ops: tuple[Op, ...]) -> tuple[tuple[Step, ...], Spec]:
    """Steps of the ops in their order, and the image after the last.

    Raises PipelineError with every problem.
    """
    spec, steps, problems = Spec(), [], []
    latest: Step | None = None
    for number, op in enumerate(ops, start=1):
        late = op.movable and latest is not None and latest.stage == Stage.AUGMENT
        step = Step(number, op, spec, 0, late)
        of_op = op.problems(spec)
        if latest and step.stage < latest.stage:
            of_op.append(
                f"belongs to {op.stage.name}, but {latest.label} is {latest.stage.name}; move it "
                f"before op {latest.number}"
            )
        problems += [f"{step.label}: {problem}" for problem in of_op]
        if not of_op:
            steps.append(replace(step, draws=op.draws(spec)))
            spec = op.out_spec(spec)
        if not latest or (step.stage >= latest.stage and not step.late):
            latest = step
    if problems:
        raise PipelineError(problems)
    return tuple(steps), spec


# What draws the uniforms of an op: its number, how many, and whether the batch shares them.
Uniforms = Callable[[int, int, bool], Floats]


def uniforms_of(work: Work) -> Uniforms:
    """Those of a batch. Of a view, `work` is what `Work.of_view` gives."""

    def draw(number: int, count: int, shared: bool) -> Floats:
        by_key = rng.batch_uniforms if shared else rng.sample_uniforms
        return by_key(work, number, count)

    return draw


def records(steps: tuple[Step, ...], work: Work, sizes: Ints) -> list[Array]:
    """Each step's parameter records [N, …] for the samples of `work`, whose images have `sizes`
    int32 [N, 2], px.

    The one place where plans meet random numbers: every backend gets its records here. Of a view,
    `work` is what `Work.of_view` gives.
    """
    return drawn(steps, uniforms_of(work), sizes)


def drawn(steps: tuple[Step, ...], uniforms: Uniforms, sizes: Ints) -> list[Array]:
    """The same of any uniforms."""
    out = []
    for step in steps:
        u = uniforms(step.number, step.draws, step.op.per_batch)
        record, sizes = step.op.params(u, sizes)
        out.append(record)
    return out
