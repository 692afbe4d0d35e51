"""The plan of images and targets that are transformed together."""

from fastload.errors import PipelineError
from fastload.plan import checks
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import Plan
from fastload.progressive import SizeSchedule
from fastload.spec import Spec
from fastload.system import devices
from fastload.transforms import Mix


def plan(
    pipeline: Pipeline,
    decode_scale: str = "exact",
    schedule: SizeSchedule | None = None,
    *,
    mix: Mix | None = None,
    device: str | None = None,
    on_error: str = "raise",
) -> Plan:
    """Raises PipelineError with all that images of their own sizes cannot have."""
    refused = (
        (mix is not None, f"mix ({mix and mix.name})", "mixes a batch of one size"),
        (schedule is not None, "size_schedule", "sets the size of a batch"),
        (decode_scale != "exact", f"decode_scale={decode_scale!r}", "is not there for boxes"),
        (devices.kind(device) == "cuda", f"device={device!r}", "fills batches of one size"),
    )
    problems = [
        f"{option}: {why}, and each image has a size of its own; leave it out"
        for wrong, option, why in refused
        if wrong
    ]
    problems += checks.error_problems(on_error, pipeline, None)
    if problems:
        raise PipelineError(problems)
    return Plan(pipeline.source, (), Spec(), on_error=on_error, joint=pipeline.joint)
