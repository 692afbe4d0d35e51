"""One sample: its image and its target, from its bytes to the tensors of a batch."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from fastload import _native, rng
from fastload.errors import SampleError, sample_error
from fastload.joint import classes, clock
from fastload.joint.classes import ClassMask, Take
from fastload.joint.mixing import Fetch, Partner
from fastload.joint.picture import Picture, opened
from fastload.joint.steps import Params, Target
from fastload.plan.joint import CLASSES, Partners
from fastload.plan.plan import Plan
from fastload.sources import read
from fastload.spec import Floats, Work
from fastload.transforms import pil


class Sample(NamedTuple):
    """An image [3, H, W] and its target, a dictionary or the only value of one."""

    image: torch.Tensor
    target: object


class Drawn(NamedTuple):
    """What a step has drawn for a sample, and the target after it."""

    step: Any
    params: Params | None  # None: it did nothing
    target: Target


class Maker:
    """Makes the samples of a plan. It has no state but the time that this took."""

    def __init__(self, plan: Plan) -> None:
        assert plan.joint is not None
        self.plan, self.joint = plan, plan.joint
        self.store = _native.StoreRecords(channels_last=False, table=plan.joint.table)
        self.dtype = np.dtype(np.uint8 if plan.joint.table is None else plan.joint.table.dtype)
        self.own = Partners(plan.source, plan.joint.rows)
        self.clock = clock.Clock()

    def __call__(self, work: Work, position: int, take: Take, take_mask: Take = np.empty) -> Sample:
        """Of the sample at this position of the batch; take: gives memory for its image,
        take_mask: for its mask of classes. Raises SampleError.
        """
        sample = int(work.samples[position])
        name, laps = self.plan.source.name(sample), clock.Laps()
        try:
            encoded = self.encoded(sample, name)
            laps(clock.READ)
            picture = opened(encoded)
            laps(clock.PIXELS)
            target = self._lazily(self.target(sample, name, picture.size))
            uniforms, others = draws(work, position), self.partners(work, position, laps)
            for drawn in moves(self.joint.steps, picture, target, uniforms, laps, others):
                target = drawn.target
            given = self.joint.given(target)
            given = given.tensor(take_mask) if isinstance(given, ClassMask) else given
            laps(clock.TARGETS)
            pixels = picture.made()
            laps(clock.PIXELS)
            out = take((3, *picture.size), self.dtype)
            _native.store(pixels, self.store, out, "best")
            laps(clock.STORE)
        except SampleError:
            raise
        except pil.DECODE_ERRORS as error:
            raise failed(name, sample, error) from error
        self.clock.add(laps)
        image = torch.from_numpy(out)
        kind = self.joint.kind
        of_kind = image if kind is torch.Tensor else image.as_subclass(kind)
        return Sample(of_kind, given)

    def partners(self, work: Work, position: int, lap: clock.Lap = clock.nobody) -> Fetch:
        """What mixes take beside the sample at this position. It raises SampleError, of that
        sample.
        """
        sample = int(work.samples[position])

        def fetch(step: int, at: float, seed: int) -> Partner:
            try:
                return self._partner(step, at, (seed, work.epoch), lap)
            except SampleError as error:
                name = self.plan.source.name(sample)
                raise sample_error(name, sample, f"its partner {error}", error) from error

        return fetch

    def _partner(self, step: int, at: float, key: tuple[int, int], lap: clock.Lap) -> Partner:
        """One for the mix that is this step. at: where it lies among all, from 0 to 1; key: seed
        and epoch. Raises SampleError.
        """
        of = self.joint.partners or self.own
        number = int(at * len(of.source))
        name = of.source.name(number)
        alone = Work(np.array([number]), np.zeros(1, np.int64), *key, 0)

        def others(step: int, at: float, seed: int) -> Partner:
            return self._partner(step, at, (seed, key[1]), lap)

        try:
            encoded = self.encoded(number, name, of)
            lap(clock.READ)
            picture = opened(encoded)
            lap(clock.PIXELS)
            target = self.target(number, name, picture.size, of)
            before = self.joint.steps[: step - 1]
            for drawn in moves(before, picture, target, draws(alone, 0), lap, others):
                target = drawn.target
        except SampleError:
            raise
        except pil.DECODE_ERRORS as error:
            raise failed(name, number, error) from error
        return Partner(number, picture, target)

    def target(
        self, sample: int, name: str, size: tuple[int, int], of: Partners | None = None
    ) -> Target:
        """As the data set has it. of: whose sample it is; None: the plan's. Raises SampleError."""
        try:
            return self.joint.target((of or self.own).row(sample), size)
        except Exception as error:  # torchvision, pycocotools and parsers raise what they like
            raise bad_annotation(name, sample, error) from error

    def _lazily(self, target: Target) -> Target:
        """The same, with a mask of classes that is not moved before its pixels are known."""
        if self.joint.alone != CLASSES:
            return target
        return {key: classes.lazy(value) for key, value in target.items()}

    def encoded(self, sample: int, name: str, of: Partners | None = None) -> bytes:
        """The sample's file. of: whose sample it is; None: the plan's. Raises SampleError."""
        try:
            return read((of or self.own).source, sample)
        except OSError as error:
            reason = f"cannot be read ({error.strerror or error}); restore the file"
            raise sample_error(name, sample, reason, error) from error


def moves(
    steps: Iterable[Any],
    picture: Picture,
    target: Target,
    uniforms: Callable[[int, int], Floats],
    lap: clock.Lap = clock.nobody,
    others: Fetch | None = None,
) -> Iterator[Drawn]:
    """What each step does; the picture goes along. A draw is a part of moving the target.

    others: gives partners; None: no step mixes.
    """
    for number, one in enumerate(steps, start=1):
        draw = partial(uniforms, number)
        step = one if others is None else one.among(draw, partial(others, number))
        params = step.draw(draw, picture, target)
        if params is not None:
            lap(clock.TARGETS)
            step.move(picture, params)
            lap(clock.PIXELS)
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
