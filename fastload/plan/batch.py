"""What a plan says of a batch beside its images: how it is mixed, and its targets."""

from fastload import rng
from fastload.plan.plan import Plan
from fastload.spec import Array, Work
from fastload.transforms.mix_records import MixRecords
from fastload.transforms.mixing import soft_labels
from fastload.transforms.sampling import foresee, is_foreseen

AHEAD = 32  # batches whose mixes are drawn together


def mix_records(plan: Plan, work: Work) -> MixRecords | None:
    """The mix of the batch of `work`, which has the plan's size. None where nothing is mixed."""
    if plan.mix is None:
        return None
    count = len(work)
    u = rng.batch_uniforms(work, rng.MIX_OP, plan.mix.draws(count))[0]
    for columns, alpha in plan.mix.gammas(count):
        if not is_foreseen(u[columns], alpha):
            ahead = rng.batches_uniforms(work, rng.MIX_OP, columns.stop, AHEAD)
            foresee(ahead[:, columns], alpha)
    return plan.mix.records(u, count, plan.out.height or 0, plan.out.width or 0)


def targets(plan: Plan, work: Work, how: MixRecords | None) -> Array:
    """Labels of the batch: int64 [N], or float32 [N, classes] where it is mixed; or the samples'
    numbers, where other values take their place.
    """
    if plan.target is not None:
        return work.samples
    labels = plan.source.labels[work.samples]
    return labels if how is None else soft_labels(labels, how, plan.classes)
