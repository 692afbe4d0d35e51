"""What torchvision refuses, the loader refuses; of what it takes, the loader makes the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torchvision import transforms as v1
from torchvision.transforms import v2

from fastload.spec import Spec
from fastload.transforms import RandomAffine, RandomPosterize, RandomRotation
from tests import pillow
from tests.fidelity.compare import ours, seeded, theirs
from tests.fidelity.limits import CHANCE, cases

SIZE = (37, 53)
CASES = list(cases())
IDS = [f"{name} {arguments}" for name, arguments in CASES]
SHEAR = "shear is (0, 1, 3, 2), want a number from 0 up, or 2 or 4 numbers, each pair rising"
TURN = "degrees is (30, 10), want a number from 0 up, or 2 rising numbers"


def outcome(make: Callable[[], Any]) -> Any:
    """What it gives, or what it raises."""
    try:
        return make()
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize(("name", "arguments"), CASES, ids=IDS)
def test_limits_are_torchvisions(name, arguments, api):
    seeded(0)
    transform = outcome(lambda: getattr(api, name)(**arguments))
    if isinstance(transform, Exception):
        return  # there is nothing to load by
    want, got = outcome(lambda: theirs(transform, SIZE)), outcome(lambda: ours(transform, SIZE))
    assert isinstance(got, Exception) == isinstance(want, Exception), (want, got)
    if isinstance(want, Exception):
        return
    assert [image.squeeze().shape for image in got[0]] == [image.squeeze().shape for image in want]
    if name not in CHANCE:
        most = 1 if name == "GaussianBlur" else pillow.LEVELS
        for mine, wanted in zip(got[0], want, strict=True):
            values = mine.squeeze().astype(int)
            np.testing.assert_allclose(values, wanted.squeeze(), rtol=0, atol=most)


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (RandomRotation((30, 10)), TURN),
        (RandomAffine(0, shear=(0, 1, 3, 2)), SHEAR),
        (RandomAffine(0, scale=(2, 1)), "scale is (2, 1), want None or 2 rising numbers above 0"),
    ],
)
def test_ranges_that_fall_are_told(op, text):
    assert op.problems(Spec(20, 30)) == [text]


def test_posterize_takes_the_bits_that_pillow_takes():
    for bits in range(10):  # below 0, Pillow before 13 makes what no number of bits means
        made = outcome(lambda bits=bits: theirs(v2.RandomPosterize(bits, 1.0), SIZE))
        refused = isinstance(made, Exception)
        assert bool(RandomPosterize(bits).problems(Spec(20, 30))) == refused
