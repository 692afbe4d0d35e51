"""A few cases of each joint transform; `python -m tests.fidelity.joint_release` makes 10,000."""

import pytest

from tests.fidelity.joint_cases import MAKERS, differences
from tests.fidelity.joint_release import transforms

CASES, MANY = 4, 300


@pytest.mark.parametrize("name", [*MAKERS, "chains"])
def test_what_is_drawn_gives_torchvisions_sample(name):
    found = {seed: differences(transforms(name, seed), seed) for seed in range(CASES)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", [*MAKERS, "chains"])
def test_what_is_drawn_gives_torchvisions_sample_in_many_cases(name):
    found = {seed: differences(transforms(name, seed), seed) for seed in range(CASES, MANY)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}
