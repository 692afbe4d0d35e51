"""From a pipeline to a checked plan: every problem at once, before a byte is read."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from fastload import progressive, rng
from fastload.errors import PipelineError
from fastload.plan import checks, placement, resizing
from fastload.plan.pipeline import Pipeline
from fastload.plan.placement import HOST, Placement
from fastload.progressive import SizeSchedule
from fastload.sources import Source
from fastload.sources.masks import Masks
from fastload.spec import Array, Ints, Spec, Stage, Work
from fastload.transforms import Mix, Op, ToImage
from fastload.transforms.mix_records import MixRecords
from fastload.transforms.mixing import soft_labels
from fastload.transforms.reference import masks as reference


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


@dataclass(frozen=True)
class Plan:
    source: Source
    steps: tuple[Step, ...]
    out: Spec  # one image of a batch
    decode_scale: str = "exact"  # or "fast": JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size
    size_mode: str = "decode"  # how batches of another size are made; see ProgressiveResize
    placement: Placement = HOST  # where DECODE and AUGMENT run
    view: int = 0  # which of the sample's pictures this is …
    views: int = 0  # … of how many; 0: a sample is one picture, and a batch one tensor
    # The sample's other pictures, which share its bytes and its decoding
    more: tuple["Plan", ...] = ()
    masks: Masks | None = None  # what a batch has in place of labels
    mix: Mix | None = None  # what becomes of finished batches, labels too
    on_error: str = "raise"  # what a bad sample does to its batch; or "substitute", "skip"

    @property
    def pictures(self) -> tuple["Plan", ...]:
        """A plan of each picture; source, decode_scale and size_mode are the same."""
        return (self, *self.more)

    def every(self, reasons: Callable[["Plan"], list[str]]) -> list[str]:
        """`reasons` of each picture, with the view's number where there are several; pictures with
        the same ops are asked once.
        """
        all_ops = [picture.ops for picture in self.pictures]
        first = [
            picture
            for number, picture in enumerate(self.pictures)
            if all_ops.index(picture.ops) == number
        ]
        return [f"{picture.where}{reason}" for picture in first for reason in reasons(picture)]

    @property
    def where(self) -> str:
        return f"view {self.view + 1}: " if self.views else ""

    @property
    def full(self) -> int:
        """The side that a size schedule changes, px: after CROP, or the width of the finished
        images; of the first view.
        """
        return (self.cropped if self.size_mode == "decode" else self.out).width or 0

    @property
    def cropped(self) -> Spec:
        """One image after CROP."""
        return next((step.spec for step in self.steps if step.stage > Stage.CROP), self.out)

    def at(self, size: int) -> "Plan":
        """The plan of batches with this side, px, in place of `full`; other views in proportion.

        Raises PipelineError.
        """
        steps, out = _placed(resizing.at_size(self.ops, self.size_mode, size, self.full))
        more = tuple(view.at(max(1, round(view.full * size / self.full))) for view in self.more)
        return replace(self, steps=steps, out=out, more=more)

    def placed(self, placement: Placement) -> "Plan":
        """The same, made there."""
        return replace(
            self, placement=placement, more=tuple(view.placed(placement) for view in self.more)
        )

    @property
    def augment(self) -> str:
        return self.placement.augment

    @property
    def classes(self) -> int:
        """Columns of soft labels."""
        classes = self.mix.classes if self.mix else None
        return len(self.source.classes) if classes is None else classes

    @property
    def ops(self) -> tuple[Op, ...]:
        return tuple(step.op for step in self.steps)

    def records(self, work: Work, sizes: Ints) -> list[Array]:
        """`records` of this picture."""
        return records(
            self.steps, work.of_view(self.view, self.views) if self.views else work, sizes
        )

    def stage(self, stage: Stage) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.stage == stage)


def plan(
    pipeline: Pipeline,
    decode_scale: str = "exact",
    schedule: SizeSchedule | None = None,
    *,
    mix: Mix | None = None,
    decode: str = "auto",
    augment: str = "auto",
    device: str | None = None,
    on_error: str = "raise",
) -> Plan:
    """Check the pipeline and infer the spec of each step.

    Reads no data, touches no device. Raises PipelineError with every problem.
    """
    others = checks.mix_problems(mix, pipeline) if mix else []
    others += placement.problems(decode, augment, device)
    others += checks.error_problems(on_error, pipeline, mix)
    mode = schedule.mode if schedule else "decode"
    where = (*placement.asked_for(decode, augment), HOST)[0]
    first = Plan(pipeline.source, (), Spec(), decode_scale, mode, where, views=len(pipeline.views))
    pictures, problems = _pictures(first, pipeline)
    if problems:
        if schedule:
            problems += [f"{progressive.WHERE}: {problem}" for problem in schedule.problems()]
        raise PipelineError([*problems, *others])
    whole = replace(
        pictures[0], more=tuple(pictures[1:]), masks=pipeline.masks, mix=mix, on_error=on_error
    )
    if wrong := [*(_schedule_problems(whole, schedule) if schedule else []), *others]:
        raise PipelineError(wrong)
    return whole


def _pictures(first: Plan, pipeline: Pipeline) -> tuple[list[Plan], list[str]]:
    """`first` with the steps of each picture; and every problem of their ops, once."""
    pictures: list[Plan] = []
    problems: dict[str, None] = {}  # in order
    for view, ops in enumerate(pipeline.pictures):
        try:
            steps, spec = _placed(ops)
            _check_masks(steps, pipeline.masks)
        except PipelineError as error:
            where = replace(first, view=pipeline.pictures.index(ops)).where
            problems |= dict.fromkeys(f"{where}{problem}" for problem in error.problems)
        else:
            pictures.append(replace(first, view=view, steps=steps, out=spec))
    return pictures, list(problems)


def _check_masks(steps: tuple[Step, ...], masks: Masks | None) -> None:
    problems = (
        [
            f"{step.label}: {problem}"
            for step in steps
            for problem in reference.problems(step.op, masks.fill)
        ]
        if masks
        else []
    )
    if problems:
        raise PipelineError(problems)


def _schedule_problems(plan: Plan, schedule: SizeSchedule) -> list[str]:
    """Why batches cannot have the sizes of the schedule, as far as these are known."""
    problems = progressive.schedule_problems(schedule, plan.full)
    if plan.size_mode == "decode":
        problems += plan.every(
            lambda one: resizing.decode_problems(
                one.ops, one.cropped.height or 0, one.cropped.width or 0
            )
        )
    if problems:
        return problems
    for size in schedule.known(plan.full):
        try:
            if size != plan.full:
                plan.at(size)
        except PipelineError as error:
            problems += [
                f"{progressive.WHERE}: at {size} px, {problem}" for problem in error.problems
            ]
    return problems


def _placed(ops: tuple[Op, ...]) -> tuple[tuple[Step, ...], Spec]:
    """`infer_specs`, and the images leave as tensors of one size.

    Raises PipelineError with every problem.
    """
    steps, spec = infer_specs(ops)
    if not spec.tensor:  # images leave a loader as tensors, asked or not
        spec = ToImage().out_spec(spec)
    if spec.height is None or spec.width is None:
        problem = "image sizes still differ after the last op, so they cannot be stacked"
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


def records(steps: tuple[Step, ...], work: Work, sizes: Ints) -> list[Array]:
    """Each step's parameter records [N, …] for the samples of `work`, whose images have `sizes`
    int32 [N, 2], px.

    The one place where plans meet random numbers: every backend gets its records here. Of a view,
    `work` is what `Work.of_view` gives.
    """
    out = []
    for step in steps:
        draw = rng.batch_uniforms if step.op.per_batch else rng.sample_uniforms
        drawn, sizes = step.op.params(draw(work, step.number, step.draws), sizes)
        out.append(drawn)
    return out


def mix_records(plan: Plan, work: Work) -> MixRecords | None:
    """The mix of the batch of `work`, which has the plan's size. None where nothing is mixed."""
    if plan.mix is None:
        return None
    count = len(work)
    u = rng.batch_uniforms(work, rng.MIX_OP, plan.mix.draws(count))[0]
    return plan.mix.records(u, count, plan.out.height or 0, plan.out.width or 0)


def targets(plan: Plan, work: Work, how: MixRecords | None) -> Array:
    """Labels of the batch: int64 [N], or float32 [N, classes] where it is mixed."""
    labels = plan.source.labels[work.samples]
    return labels if how is None else soft_labels(labels, how, plan.classes)
