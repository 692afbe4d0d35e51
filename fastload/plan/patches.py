"""The plan of batches of patches in place of images, whose sizes differ."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from fastload.errors import PipelineError
from fastload.plan import resizing
from fastload.plan.plan import Plan
from fastload.spec import Size
from fastload.system import devices

WHERE = "TokenSampler"


def patched(plan: Plan, patch: int, tokens: int, sizes: Sequence[Size], device: str | None) -> Plan:
    """The same, whose batches have up to so many patches of so many px.

    sizes: heights and widths that images will have, px. Raises PipelineError with all that cannot
        be.
    """
    refused = (
        (bool(plan.views), "Views give several pictures of an image; give one transform"),
        (plan.masks is not None, "masks are not cut into patches; leave masks out"),
        (plan.form is not None, "the data set's batches are not [images, labels]"),
        (plan.mix is not None, "mix mixes images of one size; leave it out"),
        (plan.out.channels == 1, "images have 1 channel, want 3; leave Grayscale out"),
        (
            devices.kind(device) == "cuda",
            (
                f"device={device!r} fills batches of one size; leave it out, and send each part of "
                "the batch yourself, with pin_memory=True"
            ),
        ),
    )
    problems = [f"{WHERE}: {text}" for wrong, text in refused if wrong]
    problems += resizing.bucket_problems(plan.ops, WHERE)
    if problems:
        raise PipelineError(problems)
    for size in _extremes(sizes):
        problems += _problems(plan, size)
    if problems:
        raise PipelineError(problems)
    return replace(plan, patch=patch, tokens=tokens)


def _extremes(sizes: Sequence[Size]) -> list[tuple[int, int]]:
    """The flattest, the narrowest and the largest: where these can be made, all can."""
    pairs = [size for size in sizes if isinstance(size, tuple)]
    if not pairs:
        return []
    sides = (itemgetter(0), itemgetter(1))
    found = [pick(pairs, key=side) for pick in (min, max) for side in sides]
    return [*dict.fromkeys(found)]


def _problems(plan: Plan, size: tuple[int, int]) -> list[str]:
    where = f"{WHERE}: at {size[0]}x{size[1]} px"
    try:
        out = plan.at(size).out
    except PipelineError as error:
        return [f"{where}, {problem}" for problem in error.problems]
    if (out.height, out.width) == size:
        return []
    text = (
        f"{where}, the pipeline ends with {out.height}x{out.width} px, of which patches are no "
        "part; leave out ops that drop rows and columns"
    )
    return [text]
