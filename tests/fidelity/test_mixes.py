"""A few cases of each mix; `python -m tests.fidelity.joint_release` makes 10,000."""

import pytest

from tests.fidelity.mix_cases import MIXES, differences, transforms

CASES, MANY = 12, 300


@pytest.mark.parametrize("name", MIXES)
def test_what_is_drawn_gives_the_transforms_own_sample(name):
    found = {seed: differences(transforms(name, seed), seed) for seed in range(CASES)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", MIXES)
def test_what_is_drawn_gives_the_transforms_own_sample_in_many_cases(name):
    found = {seed: differences(transforms(name, seed), seed) for seed in range(CASES, MANY)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}
