"""A loader's size schedule: the size of each batch, checked before it is used."""

from fastload import progressive
from fastload.errors import UsageError
from fastload.loader.base import BaseLoader
from fastload.plan.plan import Plan


def count_steps(loader: BaseLoader[object]) -> int:
    """Batches in an epoch, where the size schedule must know; else 0. Raises UsageError."""
    try:
        return len(loader) if loader.size_schedule and loader.size_schedule.counts_steps else 0
    except TypeError:
        raise UsageError(
            "size_schedule: total_steps needs a sampler with a length; add __len__, or give "
            "total_epochs"
        ) from None


def at(loader: BaseLoader[object], plan: Plan, epoch: int, step: int) -> int | None:
    """Of a batch's images, px; None for the pipeline's own."""
    if loader.size_schedule is None:
        return None
    side = progressive.checked_size(loader.size_schedule, plan.full, epoch, step, loader._steps)
    if side is not None and side not in loader._sizes:
        plan.at(side)  # raises here, in the user's thread, what a function's size makes impossible
        loader._sizes.add(side)
    return side


def explain(loader: BaseLoader[object], plan: Plan) -> list[str]:
    """The size schedule, as DataLoader.explain says it."""
    if loader.size_schedule is None:
        return []
    first = at(loader, plan, loader._epoch, 0) or plan.full
    sizes = f"{first} px at the start of epoch {loader._epoch}, {plan.full} px in the pipeline"
    return [f"  sizes   {loader.size_schedule}: {sizes}"]
