"""Recorded draws: every op's records by its program and by its NumPy, bit for bit; and what is left
to NumPy.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from fastload import recipes
from fastload import transforms as T
from fastload.backends.native import crop
from fastload.backends.native.drawing import FIRST, Drawing
from fastload.errors import PipelineError
from fastload.plan.plan import Plan
from fastload.plan.steps import stackable
from fastload.spec import Work
from fastload.transforms.base import Params

CROP = T.RandomResizedCrop((48, 64))
STORED = (T.ToImage(), T.ToDtype("float32", scale=True))
JITTER = T.ColorJitter(0.4, 0.4, 0.4, 0.1)
CASES = {
    **{name: recipes.load(name).ops() for name in recipes.names()},
    "evaluation": (T.Resize(50), T.CenterCrop((40, 48)), *STORED),
    "filters": (T.RandomResizedCrop(32, interpolation="random", definition="timm"), *STORED),
    "padded": (T.RandomCrop((32, 36), padding=4), T.RandomHorizontalFlip(), *STORED),
    "warped": (CROP, T.RandomVerticalFlip(), T.RandomRotation(20), T.RandomAffine(9, (0.1, 0.2))),
    "wide": (CROP, T.TrivialAugmentWide(), *STORED),
    "official": (CROP, T.TrivialAugmentWide.official(), *STORED),
    "learned": (CROP, T.AutoAugment("cifar10"), *STORED),
    "learned, timm": (CROP, T.AutoAugment.timm("original-mstd0.5"), *STORED),
    "weighted": (CROP, T.RandAugment.timm("rand-m9-n3-tweights-inc1"), *STORED),
    "any magnitude": (CROP, T.RandAugment.timm("rand-m9-n3-w0-mstd101"), *STORED),
    "AugMix": (CROP, T.AugMix(), *STORED),
    "AugMix, timm": (CROP, T.AugMix.timm("augmix-m5-w4-d2"), *STORED),
    "groups": (
        CROP,
        T.RandomApply([JITTER, T.GaussianBlur(9)]),
        T.RandomChoice([T.RandomInvert(), T.RandomEqualize()], p=[1, 2]),
        T.RandomOrder([T.RandomSolarize(128), T.RandomGrayscale()]),
        T.RandomVerticalFlip(),
        *STORED,
    ),
    "erased": (CROP, *STORED, T.RandomErasing.timm(0.5, mode="pixel", max_count=3)),
    "rows of each": (CROP, STORED[0], T.ColOut(0.2, 0.1, batch=False), STORED[1]),
    "rows of all": (CROP, STORED[0], T.ColOut(0.2, 0.1), STORED[1]),
}


def drawing_of(ops) -> Drawing:
    steps, out = stackable(tuple(ops))
    plan = Plan(None, steps, out)
    return Drawing(plan, *crop.final_size(plan.cropped))


def batch(count: int, step: int = 0, smallest: int = 40) -> tuple[Work, np.ndarray]:
    rng = np.random.Generator(np.random.Philox(count))
    sizes = rng.integers(smallest, 400, (count, 2)).astype(np.int32)
    samples, occurrences = rng.integers(0, 1 << 40, count), rng.integers(0, 3, count)
    return Work(samples, occurrences, (1 << 63) + 5, 3, step, rank=1), sizes


def recorded(ops) -> Drawing:
    drawing = drawing_of(ops)
    for _ in range(FIRST):
        drawing.folded(*batch(5))
    return drawing


def same(found, wanted) -> None:
    for name, a, b in zip(found._fields, found, wanted, strict=True):
        assert (a is None) == (b is None), name
        if a is not None:
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name


@pytest.mark.parametrize("name", CASES)
def test_a_program_draws_the_bits_that_numpy_draws(name):
    drawing = recorded(CASES[name])
    assert drawing.why == ""
    assert drawing.recorded is not None
    for step, count in enumerate((1, 63, 64, 200)):
        work, sizes = batch(count, step)
        same(drawing.folded(work, sizes), drawing._by_numpy(work, sizes))


def test_the_first_batches_are_drawn_by_numpy():
    drawing = drawing_of(CASES["mild"])
    assert drawing.ahead(batch(3)[0]) is None
    for count in range(FIRST):
        assert drawing.recorded is None, count
        drawing.folded(*batch(3))
    assert drawing.recorded is not None


def test_no_crop_that_fits_gives_the_centre_as_numpy_does():
    drawing = recorded(CASES["mild"])
    work, sizes = batch(64)
    sizes[:] = 1, 5000
    same(drawing.folded(work, sizes), drawing._by_numpy(work, sizes))


def test_what_an_op_refuses_is_said_by_numpy():
    drawing = recorded([T.RandomCrop((32, 36)), *STORED])
    work, sizes = batch(9)
    sizes[4] = 31, 90
    with pytest.raises(PipelineError) as caught:
        drawing.folded(work, sizes)
    assert str(caught.value) == (
        "RandomCrop: size is 32x36, but an image of 31x90 px is smaller; set pad_if_needed=True, "
        "or resize first"
    )


@dataclass(frozen=True)
class Unknown(T.RandomHorizontalFlip):
    """Uses NumPy in a way that no program has."""

    def params(self, u, sizes):
        return Params(np.unique(u < self.p, axis=1).astype(np.int32), sizes)


@dataclass(frozen=True)
class Impure(T.RandomHorizontalFlip):
    """A sample's record depends on the others of its batch."""

    def params(self, u, sizes):
        return Params((u < self.p).astype(np.int32) * (len(sizes) > 1), sizes)


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (Unknown(0.5), "NotRecorded: np.unique"),
        (Impure(0.5), "a program of it draws other numbers"),
    ],
)
def test_what_cannot_be_recorded_is_drawn_by_numpy(op, why):
    drawing = recorded([CROP, op, *STORED])
    assert (drawing.recorded, drawing.why) == (None, why)
    work, sizes = batch(20)
    same(drawing.folded(work, sizes), drawing._by_numpy(work, sizes))


def test_epochs_at_once_may_count_past_the_batch_that_is_recorded():
    drawing = drawing_of(CASES["padded"])
    drawing.drawn = FIRST + 3
    drawing.folded(*batch(5))
    assert drawing.recorded is not None
