"""Every outcome of torchvision's policies: the installed tables of both APIs, and their pixels."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import v2

from fastload.lowering import lower_transform
from fastload.spec import Spec
from fastload.transforms import pil
from fastload.transforms.definitions import torchvision as ours
from fastload.transforms.definitions.timm import DRAWS
from fastload.transforms.programs import CODE, ENHANCE
from tests.fidelity.compare import seeded
from tests.fidelity.scripted import Script

SIZES = ((37, 53), (1, 9), (224, 176), (331, 500))  # height, width; px
SPACES = {
    "RandAugment": ours.RAND,
    "TrivialAugmentWide": ours.TRIVIAL,
    "AutoAugment": ours.AUTO,
    "AugMix": ours.MIX_ALL,
}
POLICIES = [(name, api) for name in SPACES for api in (v1, v2)]
Patch = pytest.MonkeyPatch
FILTERS = (v1.InterpolationMode.NEAREST, v1.InterpolationMode.BILINEAR)
IDS = [f"{name}-{'v1' if api is v1 else 'v2'}" for name, api in POLICIES]


def space(transform: Any, bins: int, size: tuple[int, int]) -> dict[str, tuple[Any, bool]]:
    """torchvision's own table: magnitudes of each op (None without); whether they are signed."""
    if hasattr(transform, "_AUGMENTATION_SPACE"):
        own = transform._AUGMENTATION_SPACE
        return {name: (make(bins, *size), signed) for name, (make, signed) in own.items()}
    given = (bins,) if isinstance(transform, v1.TrivialAugmentWide) else (bins, size)
    found = transform._augmentation_space(*given)
    return {name: (it if it.ndim else None, signed) for name, (it, signed) in found.items()}


@pytest.mark.parametrize("bins", [2, 3, 10, 11, 31, 100])
@pytest.mark.parametrize(("name", "api"), POLICIES, ids=IDS)
def test_tables_are_those_of_the_installed_torchvision(name, api, bins):
    (op,), _ = lower_transform(getattr(api, name)())
    mine = ours.of_api(SPACES[name], op.definition)
    for size, sign in itertools.product(SIZES, (-1.0, 1.0)):
        table = space(getattr(api, name)(), bins, size)
        assert set(table) == set(mine.names)
        every = np.arange(bins)[None]
        signs, sizes = np.full((1, bins), sign), np.array([size], np.int32)
        values = ours.arguments(mine, bins, every, signs, sizes)[:, 0]
        for op_name, (magnitudes, signed) in table.items():
            if magnitudes is None:
                continue
            want = magnitudes.double().numpy() * (sign if signed else 1.0)
            got = values[CODE[op_name]]
            if op_name in ENHANCE:
                want = 1.0 + want
            if op_name.startswith("Translate"):
                want = np.trunc(want)
            if op_name == "Solarize" and api is v2:
                want = 255.0 * want
            if op_name.startswith("Shear"):  # through an angle
                np.testing.assert_allclose(got, want, rtol=1e-15)
            else:
                np.testing.assert_array_equal(got, want, err_msg=f"{op_name} {size}")


def picture() -> Image.Image:
    """Every value in every channel, among noise: none square."""
    rng = seeded(0)
    pixels = rng.integers(0, 256, (23, 37, 3)).astype(np.uint8)
    for channel in range(3):
        pixels.reshape(-1, 3)[:256, channel] = rng.permutation(256)
    return Image.fromarray(pixels)


def negative(api: Any, sign: float) -> float:
    """What makes the sign: v1 asks whether 1 comes of 0 and 1, v2 whether u is up to 0.5."""
    return (0.75 if sign < 0 else 0.25) if api is v1 else (0.25 if sign < 0 else 0.75)


def check(transform: Any, u: list[float], answers: list[float], patched: Patch) -> None:
    (op,), _ = lower_transform(transform)
    image = picture()
    padded = np.array([[*u, *[0.0] * (op.draws(Spec()) - len(u))]])
    record = op.params(padded, np.array([[image.height, image.width]], np.int32)).records[0]
    with patched.context() as within:
        Script(answers).patch(within)
        want = transform(image)
    got = np.asarray(pil.apply(op, image, record))
    np.testing.assert_array_equal(got, np.asarray(want), err_msg=f"{transform} {u}")


@pytest.mark.long
@pytest.mark.parametrize("interpolation", FILTERS)
@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_every_outcome_of_trivialaugment(api, interpolation, monkeypatch):
    transform, bins = api.TrivialAugmentWide(interpolation=interpolation), 31
    table = list(space(transform, bins, (23, 37)).values())
    for number, (magnitudes, signed) in enumerate(table):
        of_op = (number + 0.5) / len(table)
        used = range(bins if magnitudes is not None else 1)
        for bin_, sign in itertools.product(used, (-1.0, 1.0)[: 1 + signed]):
            u = [of_op, (bin_ + 0.5) / bins, 0.25 if sign < 0 else 0.75]
            drawn = [
                of_op,
                *([u[1]] if magnitudes is not None else []),
                *([negative(api, sign)] if signed else []),
            ]
            check(transform, u, drawn, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_every_outcome_of_randaugment(api, monkeypatch):
    for magnitude in range(31):
        transform = api.RandAugment(1, magnitude, fill=[9, 99, 199])
        table = list(space(transform, 31, (23, 37)).values())
        for number, (_, signed) in enumerate(table):
            for sign in (-1.0, 1.0)[: 1 + signed]:
                of_op = (number + 0.5) / len(table)
                u = [of_op, 0.0, 0.25 if sign < 0 else 0.75]
                answers = [of_op, *([negative(api, sign)] if signed else [])]
                check(transform, u, answers, monkeypatch)


@pytest.mark.parametrize("policy", v1.AutoAugmentPolicy)
@pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])
def test_every_outcome_of_autoaugment(api, policy, monkeypatch):
    transform = api.AutoAugment(policy)
    table = space(transform, 10, (23, 37))
    pairs = transform.policies if api is v1 else transform._policies
    for number, pair in enumerate(pairs):
        for first, second in itertools.product((-1.0, 1.0), repeat=2):
            u, answers = [(number + 0.5) / len(pairs)], [(number + 0.5) / len(pairs)]
            for (name, p, _), sign in zip(pair, (first, second), strict=True):
                done = p > 0
                u += [0.0 if done else 0.999, 0.5, 0.25 if sign < 0 else 0.75, *[0.5] * (DRAWS - 3)]
                answers += [
                    0.0 if done else 0.999,
                    *([negative(api, sign)] if done and table[name][1] else []),
                ]
            if api is v1:
                shares = [p for _, p, _ in pair]
                check_first(transform, u, number, (first, second), shares, monkeypatch)
            else:
                check(transform, u, answers, monkeypatch)


def check_first(
    transform: Any,
    u: list[float],
    number: int,
    signs: tuple[float, float],
    p: list[float],
    patched: pytest.MonkeyPatch,
) -> None:
    """The first API draws all before it looks: its own function says the three."""
    probabilities = torch.tensor([0.0 if each > 0 else 0.999 for each in p])
    drawn = (number, probabilities, torch.tensor([0 if sign < 0 else 1 for sign in signs]))
    with patched.context() as within:
        within.setattr(type(transform), "get_params", staticmethod(lambda _: drawn))
        want = transform(picture())
    (op,) = (ours_ for ours_ in lower_transform(transform)[0])
    record = op.params(np.array([u]), np.array([[23, 37]], np.int32)).records[0]
    np.testing.assert_array_equal(
        np.asarray(pil.apply(op, picture(), record)),
        np.asarray(want),
        err_msg=f"{transform} {number} {signs}",
    )
