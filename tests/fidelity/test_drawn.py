"""Given the same random numbers, torchvision's transforms and ours make the same pixels."""

from typing import Any

import numpy as np
import pytest
import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

from fastload.lowering import lower_transform
from fastload.spec import Spec
from fastload.transforms import pil
from tests.fidelity import drawn
from tests.fidelity.compare import SIZES, images, seeded
from tests.fidelity.scripted import script

CASES = 50


def check(
    transform: Any,
    rng: np.random.Generator,
    size: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> int:
    """How many values were compared."""
    (op,), reasons = lower_transform(transform)
    assert reasons == []
    u = np.floor(rng.random(op.draws(Spec())) * 2**32) / 2**32
    record = op.params(u[None], np.array([size], np.int32)).records[0]
    compared = 0
    for image in images(*size):
        given = pil.to_tensor(image).float() if op.stage.name == "STORE" else image
        with monkeypatch.context() as patched:
            script(op, u).patch(patched)
            want = transform(given.clone() if isinstance(given, torch.Tensor) else given)
        got, want = np.asarray(pil.apply(op, given, record)), np.asarray(want)
        np.testing.assert_array_equal(got, want, err_msg=f"{transform} {u}")
        compared += want.size
    return compared


@pytest.mark.filterwarnings("ignore:Anti-alias")
@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", drawn.MAKERS)
def test_the_same_draws_make_the_same_pixels(name, api, monkeypatch):
    for number in range(CASES):
        rng = seeded(number)
        check(drawn.MAKERS[name](rng, api), rng, SIZES[number % 2], monkeypatch)
