"""Transforms that leave nothing to chance, through the loader: torchvision's own pixels."""

import numpy as np
import pytest
import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

from tests import pillow
from tests.fidelity import certain
from tests.fidelity.compare import SIZES, compared, seeded

CASES = 12


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", certain.MAKERS)
def test_the_loader_gives_torchvisions_pixels(name, api):
    found = []
    for number in range(CASES):
        transform = certain.MAKERS[name](seeded(number), api)
        found.append(compared(transform, SIZES[number % 2]))
        assert found[-1].most <= pillow.LEVELS, f"{transform}: {found[-1]}"
    assert sum(outcome.native for outcome in found) >= (1 if name == "Pad" else CASES / 3)


@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_blurs_differ_by_one_next_to_a_tie(api):
    blurs = [certain.blur(seeded(number), api) for number in range(CASES)]
    found = [compared(blur, SIZES[number % 2]) for number, blur in enumerate(blurs)]
    assert max(outcome.most for outcome in found) <= 1
    assert 200 * sum(outcome.differing for outcome in found) < sum(o.values for o in found)


def test_torchs_ranges_are_of_float32():
    from fastload.transforms.sampling import single

    rng = np.random.default_rng(0)
    for low, high in (
        (0.7, 0.7),
        (0.7, 1.3),
        (-0.1, 0.1),
        (0.08, 1.0),
        (-180.0, 180.0),
        (1e-7, 3e7),
    ):
        torch.manual_seed(int(rng.integers(1 << 30)))
        state = torch.get_rng_state()
        steps = torch.cat([torch.rand(1) for _ in range(200)]).double().numpy()
        torch.set_rng_state(state)
        want = [torch.empty(1).uniform_(low, high).item() for _ in range(200)]
        noise = rng.integers(0, 256, 200) * 2.0**-32  # what float32 does not hold
        assert single(steps + noise, low, high).tolist() == want
