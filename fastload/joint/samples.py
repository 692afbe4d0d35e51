"""One sample: its image and its target, from its bytes to the tensors of a batch."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from fastload import _native, rng
from fastload.errors import SampleError, sample_error
from fastload.joint.picture import Picture, opened
from fastload.joint.steps import Params, Target
from fastload.plan.plan import Plan
from fastload.sources import read
from fastload.spec import Array, Floats, Work
from fastload.transforms import pil

Take = Callable[[tuple[int, int, int], np.dtype[Any]], Array]  # memory for an image


class Sample(NamedTuple):
    """An image [3, H, W] and its target."""

    image: torch.Tensor
    target: object


class Drawn(NamedTuple):
    """What a step has drawn for a sample, and the target after it."""

    step: Any
    params: Params | None  # None: it did nothing
    target: Target


class Maker:
    """Makes the samples of a plan. It has no state."""

    def __init__(self, plan: Plan) -> None:
        assert plan.joint is not None
        self.plan, self.joint = plan, plan.joint
        self.store = _native.StoreRecords(channels_last=False, table=plan.joint.table)
        self.dtype = np.dtype(np.uint8 if plan.joint.table is None else plan.joint.table.dtype)

    def __call__(self, work: Work, position: int, take: Take) -> Sample:
        """Of the sample at this position of the batch. Raises SampleError."""
        sample = int(work.samples[position])
        name = self.plan.source.name(sample)
        try:
            picture = opened(self.encoded(sample, name))
            target = self.target(sample, name, picture.size)
            for drawn in moves(self.joint.steps, picture, target, draws(work, position)):
                target = drawn.target
            out = take((3, *picture.size), self.dtype)
            _native.store(picture.made(), self.store, out, "best")
        except SampleError:
            raise
        except pil.DECODE_ERRORS as error:
            raise failed(name, sample, error) from error
        image = torch.from_numpy(out)
        kind = self.joint.kind
        image = image if kind is torch.Tensor else image.as_subclass(kind)
        return Sample(image, self.joint.given(target))

    def target(self, sample: int, name: str, size: tuple[int, int]) -> Target:
        """As the data set has it. Raises SampleError."""
        try:
            return self.joint.target(self.joint.row(sample), size)
        except Exception as error:  # torchvision, pycocotools and parsers raise what they like
            raise bad_annotation(name, sample, error) from error

    def encoded(self, sample: int, name: str) -> bytes:
        """The sample's file. Raises SampleError."""
        try:
            return read(self.plan.source, sample)
        except OSError as error:
            reason = f"cannot be read ({error.strerror or error}); restore the file"
            raise sample_error(name, sample, reason, error) from error


def moves(
    steps: Iterable[Any],
    picture: Picture,
    target: Target,
    uniforms: Callable[[int, int], Floats],
) -> Iterator[Drawn]:
    """What each step does; the picture goes along."""
    for number, step in enumerate(steps, start=1):
        params = step.draw(partial(uniforms, number), picture, target)
        if params is not None:
            step.move(picture, params)
            target = step.targets(target, params)
        yield Drawn(step, params, target)


def draws(work: Work, position: int) -> Callable[[int, int], Floats]:
    """The uniforms of a sample by the number of the step: the first so many, float64 [count]."""
    one = slice(position, position + 1)
    alone = Work(
        work.samples[one], work.occurrences[one], work.seed, work.epoch, work.step, work.rank
    )
    return lambda op, count: rng.sample_uniforms(alone, op, count)[0]


def bad_annotation(name: str, sample: int, error: Exception) -> SampleError:
    """Of a sample whose target raised something."""
    reason = f"its annotation cannot be read ({pil.reason(error)}); mend or remove it"
    return sample_error(name, sample, reason, error)


def failed(name: str, sample: int, error: Exception) -> SampleError:
    """Of a sample that cannot be decoded, or that a step refuses."""
    if type(error) in (ValueError, TypeError):
        return sample_error(name, sample, f"cannot be transformed ({pil.reason(error)})", error)
    return pil.undecodable(name, sample, error)
