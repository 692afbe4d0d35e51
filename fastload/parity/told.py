"""torchvision's own transforms of images and targets, told what fastload has drawn: the reference
of what moves together.
"""

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from PIL import Image

from fastload.joint.mixing import Mixing
from fastload.joint.photometric import Augment
from fastload.joint.samples import Drawn
from fastload.joint.steps import Target
from fastload.spec import Floats, Ints, Spec
from fastload.transforms import pil

Uniforms = Callable[[int, int], Floats]  # of a step's number: the first so many
FACTS = ("format", "canvas_size")  # of torchvision's boxes and keypoints


def after(
    drawn: Drawn, number: int, uniforms: Uniforms, image: Image.Image, target: Target
) -> tuple[Image.Image, Target]:
    """What the step with this number makes of Pillow's image and its target."""
    if isinstance(drawn.step, Augment):  # of colours; fastload's draws are none of torchvision's
        op = drawn.step.op
        sizes: Ints = np.array([pil.size(image)], np.int32)
        records, _ = op.params(uniforms(number, op.draws(Spec()))[None], sizes)
        return cast("Image.Image", pil.apply(op, image, np.asarray(records)[0])), target
    if isinstance(drawn.step, Mixing):
        return _mixed(drawn.step, drawn.params, image, target)
    with torch.random.fork_rng(devices=[]):  # torchvision throws its dice for p all the same
        moved: tuple[Image.Image, Target] = told(drawn.step.of, drawn.params)(image, target)
    return moved


def _mixed(
    step: Mixing, params: dict[str, Any] | None, image: Image.Image, target: Target
) -> tuple[Image.Image, Target]:
    """What fastload.detection's transform makes of it and of the partners, which are samples as any
    others.
    """
    if params is None:
        return image, target
    others = [(Image.fromarray(one.picture.made().copy()), one.target) for one in step.others]
    made: tuple[Image.Image, Target] = step.of.mixed([(image, target), *others], params)
    return made


def told(transform: Any, params: dict[str, Any] | None) -> Any:
    """The transform, which draws these; None: it leaves the sample as it is."""
    mine = copy.copy(transform)
    vars(mine)["make_params"] = lambda _: params
    if hasattr(mine, "p"):
        mine.p = 0.0 if params is None else 1.0
    return mine


def problem(got: Target, want: Target) -> str:
    """How a target differs, its first value that does; "": in nothing."""
    if list(got) != list(want):
        return f"targets have {', '.join(map(str, got))}, want {', '.join(map(str, want))}"
    each = ((name, _of_value(got[name], want[name])) for name in want)
    return next((f"{name}: {why}" for name, why in each if why), "")


def _of_value(got: Any, want: Any) -> str:
    if type(got) is not type(want):
        return f"a {type(got).__name__}, want a {type(want).__name__}"
    if not isinstance(want, torch.Tensor):
        return "" if got == want else "another value"
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {list(got.shape)}, want {want.dtype} {list(want.shape)}"
    facts = [fact for fact in FACTS if getattr(got, fact, None) != getattr(want, fact, None)]
    if facts:
        return f"another {facts[0]}"
    ours, theirs = (one.as_subclass(torch.Tensor) for one in (got, want))
    other = ~((ours == theirs) | (ours.isnan() & theirs.isnan()))
    return f"{int(other.sum())} of {want.numel()} values are others" if bool(other.any()) else ""
