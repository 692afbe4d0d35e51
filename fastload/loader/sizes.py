"""The size of each batch, by a size schedule or by buckets, checked before it is used."""

from collections.abc import Iterator
from dataclasses import replace

from fastload import progressive
from fastload.attach.looking import asked
from fastload.backends.base import WorkOrError
from fastload.errors import PipelineError, UsageError
from fastload.loader.base import BaseLoader
from fastload.order.buckets import BucketSampler
from fastload.order.groups import GroupSampler
from fastload.order.tokens import TokenSampler
from fastload.plan import patches
from fastload.plan.plan import Plan, bucket_problems


def count_steps(loader: BaseLoader[object]) -> int:
    """Batches in an epoch, where the size schedule must know; else 0. Raises UsageError."""
    try:
        return (
            len(loader)
            if loader._own.size_schedule and loader._own.size_schedule.counts_steps
            else 0
        )
    except TypeError:
        raise UsageError(
            "size_schedule: total_steps needs a sampler with a length; add __len__, or give "
            "total_epochs"
        ) from None


def at(loader: BaseLoader[object], plan: Plan, epoch: int, step: int) -> int | None:
    """Of a batch's images, px; None for the pipeline's own."""
    if loader._own.size_schedule is None:
        return None
    side = progressive.checked_size(
        loader._own.size_schedule, plan.full, epoch, step, loader._steps
    )
    if side is not None and side not in loader._sizes:
        plan.at(side)  # raises here, in the user's thread, what a function's size makes impossible
        loader._sizes.add(side)
    return side


def each(
    loader: BaseLoader[object], plan: Plan, epoch: int, ordered: Iterator[WorkOrError]
) -> Iterator[WorkOrError]:
    """The same batches, of the sizes that the schedule says."""
    for work in ordered:
        if isinstance(work, Exception):
            yield work
        else:
            size = at(loader, plan, epoch, work.step)
            yield work if size is None else replace(work, size=size)


def explain(loader: BaseLoader[object], plan: Plan) -> list[str]:
    """The sizes of batches, as DataLoader.explain says them."""
    if type(loader.batch_sampler) is BucketSampler:
        return [f"  buckets {loader.batch_sampler.said()}"]
    if type(loader.batch_sampler) is TokenSampler:
        return [f"  tokens  {loader.batch_sampler.said()}"]
    if loader._own.size_schedule is None:
        return []
    first = at(loader, plan, loader._epoch, 0) or plan.full
    sizes = f"{first} px at the start of epoch {loader._epoch}, {plan.full} px in the pipeline"
    return [f"  sizes   {loader._own.size_schedule}: {sizes}"]


def _check_around(batches: object) -> None:
    """Raise UsageError for a sampler of sizes that another one hides, or a class made of it: images
    would silently be of the pipeline's own size.
    """
    for one in (batches, asked(batches, "batch_sampler"), asked(batches, "sampler")):
        if issubclass(type(one), GroupSampler):
            kind = "BucketSampler" if issubclass(type(one), BucketSampler) else "TokenSampler"
            raise UsageError(
                f"DataLoader: batch_sampler is of {type(batches).__name__}, which does not say the "
                f"sizes of the images that a {kind} gives; give the {kind} itself, as "
                "batch_sampler="
            )


def by_sampler(loader: BaseLoader[object], plan: Plan) -> Plan:
    """The plan of the loader's batches, where its sampler says their sizes.

    Raises PipelineError where such images cannot be made, and UsageError where the sampler is of
    other data.
    """
    batches = loader.batch_sampler
    if type(batches) is not BucketSampler and type(batches) is not TokenSampler:
        _check_around(batches)
        return plan
    if loader._own.size_schedule is not None:
        name = type(batches).__name__
        raise UsageError(f"DataLoader: size_schedule and {name} are both given; choose one")
    if batches.length != len(plan.source):
        raise UsageError(
            f"DataLoader: batch_sampler is of {batches.length} images, the data set has "
            f"{len(plan.source)}; give both the same data set"
        )
    if isinstance(batches, TokenSampler):
        tokens = batches.tokens
        return patches.patched(plan, batches.patch, tokens, batches.shapes, loader._own.device)
    if problems := bucket_problems(plan, batches.counts):
        raise PipelineError(problems)
    return plan
