"""From a pipeline to a checked plan: every problem at once, before a byte is read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fastload import progressive
from fastload.errors import PipelineError
from fastload.plan import checks, placement, resizing
from fastload.plan.forms import Form
from fastload.plan.joint import Joint
from fastload.plan.pipeline import Pipeline
from fastload.plan.placement import HOST, Placement
from fastload.plan.steps import Step, records, stackable
from fastload.progressive import SizeSchedule
from fastload.sources import Source
from fastload.sources.fields import Target
from fastload.sources.masks import Masks
from fastload.spec import Array, Ints, Size, Spec, Stage, Work
from fastload.transforms import Mix, Op


@dataclass(frozen=True)
class Plan:
    """What a loader does to a data set, checked: one image's way, and all that changes it.

    Args:
        source: The samples.
        steps: The ops with what they are given: number, image before it, draws.
        out: One image of a batch.
        decode_scale: "exact", or "fast": JPEGs may be decoded at 1/2, 1/4 or 1/8 of their size.
        size_mode: How batches of another size are made; see ProgressiveResize.
        placement: Where DECODE and AUGMENT run.
        view: Which of the sample's pictures this is, from 0.
        views: Of how many; 0: a sample is one picture, and a batch one tensor.
        more: The sample's other pictures, which share its bytes and its decoding.
        masks: What a batch has in place of labels.
        target: The same, of values beside the images. Batches have sample numbers until they are
            handed out.
        mix: What becomes of finished batches, labels too.
        on_error: What a bad sample does to its batch: "raise", "substitute" or "skip".
        form: Of a sample in a batch; None: [images, labels].
        by_part: Of a mix whose parts have ops of their own: the plan of each.
        part: Which of these this is.
        joint: What moves images and targets together, in place of steps and labels.
        patch: Side of the patches that a batch has in place of images, px; 0: it has images.
        tokens: Of these in a batch, at most.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> from fastload.extending import Plan
        >>> from fastload.plan.plan import plan
        >>> data = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> one: Plan = plan(data.pipeline)
        >>> [step.op.name for step in one.steps], one.out.height, one.out.width
        (['CenterCrop', 'ToImage'], 48, 64)
    """

    source: Source
    steps: tuple[Step, ...]
    out: Spec
    decode_scale: str = "exact"
    size_mode: str = "decode"
    placement: Placement = HOST
    view: int = 0
    views: int = 0
    more: tuple["Plan", ...] = ()
    masks: Masks | None = None
    target: Target | None = None
    mix: Mix | None = None
    on_error: str = "raise"
    form: Form | None = None
    by_part: tuple["Plan", ...] = ()
    part: str = ""
    joint: Joint | None = None
    patch: int = 0
    tokens: int = 0

    @property
    def pictures(self) -> tuple["Plan", ...]:
        """A plan of each picture; source, decode_scale and size_mode are the same."""
        return (self, *self.more)

    def every(self, reasons: Callable[["Plan"], list[str]]) -> list[str]:
        """`reasons` of each picture, with the view's number or part's name where there are several;
        those with the same ops are asked once.
        """
        plans = self.by_part or self.pictures
        all_ops = [picture.ops for picture in plans]
        first = [
            picture for number, picture in enumerate(plans) if all_ops.index(picture.ops) == number
        ]
        return [f"{picture.where}{reason}" for picture in first for reason in reasons(picture)]

    @property
    def where(self) -> str:
        return f"view {self.view + 1}: " if self.views else f"{self.part}: " if self.part else ""

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

    def at(self, size: Size) -> "Plan":
        """The plan of batches with this side, px, in place of `full`, or of this height and width;
        other views in proportion.

        Raises PipelineError.
        """
        if isinstance(size, tuple):
            return self._in_bucket(*size)
        steps, out = stackable(resizing.at_size(self.ops, self.size_mode, size, self.full))
        more = tuple(view.at(max(1, round(view.full * size / self.full))) for view in self.more)
        by_part = tuple(part.at(size) for part in self.by_part)
        return replace(self, steps=steps, out=out, more=more, by_part=by_part)

    def _in_bucket(self, height: int, width: int) -> "Plan":
        now = self.cropped
        tall, wide = height / (now.height or 1), width / (now.width or 1)
        made = [stackable(resizing.in_bucket(one.ops, tall, wide)) for one in self.pictures]
        first, *more = (
            replace(one, steps=steps, out=out)
            for one, (steps, out) in zip(self.pictures, made, strict=True)
        )
        by_part = tuple(part.at((height, width)) for part in self.by_part)
        return replace(first, more=tuple(more), by_part=by_part)

    def placed(self, placement: Placement) -> "Plan":
        """The same, made there."""
        return replace(
            self, placement=placement, more=tuple(view.placed(placement) for view in self.more)
        )

    @property
    def checked(self) -> Target | None:
        """What lies beside the images, where a bad value is to cost its own sample only: it is read
        before they are made.
        """
        return None if self.on_error == "raise" else self.target

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
        return records(self.steps, self.of_view(work), sizes)

    def of_view(self, work: Work) -> Work:
        """The work as this picture's draws have it."""
        return work.of_view(self.view, self.views) if self.views else work

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
    others += checks.target_problems(pipeline, device)
    others += checks.error_problems(on_error, pipeline, mix)
    others += checks.part_problems(pipeline, device)
    mode = schedule.mode if schedule else "decode"
    where = (*placement.asked_for(decode, augment), HOST)[0]
    first = Plan(pipeline.source, (), Spec(), decode_scale, mode, where, views=len(pipeline.views))
    pictures, of_parts, problems = _all_pictures(first, pipeline)
    if problems:
        if schedule:
            problems += [f"{progressive.WHERE}: {problem}" for problem in schedule.problems()]
        raise PipelineError([*problems, *others])
    whole = replace(
        pictures[0],
        more=tuple(pictures[1:]),
        masks=pipeline.masks,
        target=pipeline.target,
        mix=mix,
        on_error=on_error,
        form=pipeline.form,
        by_part=of_parts,
    )
    others += checks.alike_problems([(one.part, one.steps, one.out) for one in whole.by_part])
    others += checks.form_problems(whole.form, [picture.out for picture in pictures])
    if wrong := [*(_schedule_problems(whole, schedule) if schedule else []), *others]:
        raise PipelineError(wrong)
    return whole


def _all_pictures(
    first: Plan, pipeline: Pipeline
) -> tuple[list[Plan], tuple[Plan, ...], list[str]]:
    """`_pictures`, and the plans of a mix's parts with ops of their own."""
    pictures, problems = _pictures(first, pipeline)
    found = [
        _pictures(replace(first, part=name), replace(pipeline, ops=ops))
        for name, ops in pipeline.by_part
    ]
    if found:
        problems = [problem for _, wrong in found for problem in wrong]
    return pictures, tuple(one for made, _ in found for one in made), problems


def _pictures(first: Plan, pipeline: Pipeline) -> tuple[list[Plan], list[str]]:
    """`first` with the steps of each picture; and every problem of their ops, once."""
    pictures: list[Plan] = []
    problems: dict[str, None] = {}  # in order
    for view, ops in enumerate(pipeline.pictures):
        try:
            steps, spec = stackable(ops)
            checks.check_masks(steps, pipeline.masks)
        except PipelineError as error:
            where = replace(first, view=pipeline.pictures.index(ops)).where
            problems |= dict.fromkeys(f"{where}{problem}" for problem in error.problems)
        else:
            pictures.append(replace(first, view=view, steps=steps, out=spec))
    return pictures, list(problems)


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


def bucket_problems(plan: Plan, sizes: Iterable[tuple[int, int]]) -> list[str]:
    """Why batches cannot have these heights and widths, px."""
    problems = plan.every(lambda one: resizing.bucket_problems(one.ops))
    for size in sizes if not problems else ():
        try:
            plan.at(size)
        except PipelineError as error:
            where = f"{resizing.BUCKETS}: at {size[0]}x{size[1]} px"
            problems += [f"{where}, {problem}" for problem in error.problems]
    return problems
