"""AUGMENT policies and ColOut: torchvision's and Composer's definitions, number by number."""

import math
import pickle

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import autoaugment

from fastload.errors import PipelineError
from fastload.spec import Spec
from fastload.transforms import AutoAugment, ColOut, RandAugment, TrivialAugmentWide, pil
from fastload.transforms.definitions.torchvision import RAND
from fastload.transforms.policies import CODE, CODES

SIZES = np.array([[37, 53], [64, 48]], np.int32)  # height, width; px


def programs(op, u):
    return op.params(u, SIZES[: len(u)]).records


def uniforms(op_index: int, count: int, bin_u: float = 0.0, side_u: float = 0.9) -> np.ndarray:
    return np.array([[(op_index + 0.5) / count, bin_u, side_u, 0.0]])


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("magnitude", [0, 9, 15, 30])
@pytest.mark.parametrize("name", RAND.names)
def test_randaugment_has_torchvisions_magnitudes(name, magnitude, negative):
    magnitudes, signed = autoaugment.RandAugment()._augmentation_space(31, (37, 53))[name]
    value = float(magnitudes[magnitude]) if magnitudes.ndim else 0.0
    want = final(name, -value if signed and negative else value)
    op = RandAugment(1, magnitude)
    assert tuple(
        programs(op, uniforms(RAND.names.index(name), 14, side_u=0.1 if negative else 0.9))[0, 0]
    ) == (
        CODE[name],
        want,
        0,
    )


@pytest.mark.parametrize("bin_", [0, 7, 15, 30])
@pytest.mark.parametrize("name", RAND.names)
def test_trivialaugment_has_torchvisions_magnitudes(name, bin_):
    magnitudes, _ = autoaugment.TrivialAugmentWide()._augmentation_space(31)[name]
    want = final(name, float(magnitudes[bin_]) if magnitudes.ndim else 0.0)
    op = TrivialAugmentWide()
    assert tuple(
        programs(op, uniforms(RAND.names.index(name), 14, bin_u=(bin_ + 0.5) / 31))[0, 0]
    ) == (
        CODE[name],
        want,
        0,
    )


def final(name: str, magnitude: float) -> float:
    """What torchvision's _apply_op makes of a magnitude, in policies.CODES' units."""
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        return 1.0 + magnitude
    if name.startswith("Shear"):  # through an angle, and back as the coefficient that PIL gets
        angle = math.radians(math.degrees(math.atan(magnitude)))
        return math.tan(angle) if name == "ShearX" else math.sin(angle) / math.cos(angle)
    return float(int(magnitude)) if name.startswith("Translate") else magnitude


@pytest.mark.parametrize(
    "op", [RandAugment(2, 20, interpolation="bilinear"), TrivialAugmentWide()], ids=str
)
def test_programs_run_as_torchvision_runs_them(op, make_image):
    image = Image.fromarray(make_image(37, 53, 3))
    mode = autoaugment.InterpolationMode(op.interpolation)
    u = np.random.default_rng(0).random((60, op.draws(Spec())))
    for program in op.params(u, np.repeat(SIZES[:1], 60, axis=0)).records:
        want = image
        for code, argument, _ in program:
            name = CODES[int(code)]
            magnitude = (
                argument - 1.0
                if name in ("Brightness", "Color", "Contrast", "Sharpness")
                else argument
            )
            want = autoaugment._apply_op(want, name, magnitude, interpolation=mode, fill=None)
        np.testing.assert_array_equal(np.asarray(pil.apply(op, image, program)), np.asarray(want))


def drawn(op, count=100_000, seed=5):
    return op.params(
        np.random.default_rng(seed).random((count, op.draws(Spec()))),
        np.repeat(SIZES[:1], count, axis=0),
    ).records


@pytest.mark.parametrize("op", [RandAugment(2), TrivialAugmentWide()], ids=str)
def test_ops_and_signs_are_drawn_evenly(op, p_value):
    programs = drawn(op)
    for place in range(programs.shape[1]):
        counts = np.array([(programs[:, place, 0] == CODE[name]).sum() for name in RAND.names])
        assert p_value(counts, np.full(14, 1 / 14)) > 1e-3
        turns = programs[programs[:, place, 0] == CODE["Rotate"], place, 1]
        turns = turns[turns != 0]
        assert (
            p_value(np.array([(turns < 0).sum(), (turns > 0).sum()]), np.array([0.5, 0.5])) > 1e-3
        )


def test_pairs_of_ops_are_independent(p_value):
    number = np.zeros(len(CODES), int)
    number[[CODE[name] for name in RAND.names]] = range(14)
    ops = number[drawn(RandAugment(2))[..., 0].astype(int)]
    counts = np.bincount(ops[:, 0] * 14 + ops[:, 1], minlength=196)
    assert p_value(counts, np.full(196, 1 / 196)) > 1e-3


def test_trivialaugments_bins_are_drawn_evenly(p_value):
    programs = drawn(TrivialAugmentWide())[:, 0]
    turns = np.abs(programs[programs[:, 0] == CODE["Rotate"], 1])
    assert (
        p_value(np.bincount(np.rint(turns / 4.5).astype(int), minlength=31), np.full(31, 1 / 31))
        > 1e-3
    )
    bits = programs[programs[:, 0] == CODE["Posterize"], 1].astype(int)
    assert (
        p_value(np.bincount(bits, minlength=9), np.array([0, 0, 3, 5, 5, 5, 5, 5, 3]) / 31) > 1e-3
    )


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_autoaugment_draws_its_policies(policy, p_value):
    theirs = autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy(policy))
    space = theirs._augmentation_space(10, (37, 53))
    programs = drawn(AutoAugment(policy))
    for place in (0, 1):
        shares: dict[tuple[int, float], float] = {}
        for name, p, bin_ in (pair[place] for pair in theirs.policies):
            magnitudes, signed = space[name]
            value = float(magnitudes[bin_]) if magnitudes.ndim else 0.0
            for argument in (
                (final(name, value), final(name, -value)) if signed else (final(name, value),)
            ):
                key = (CODE[name], round(argument, 9))
                shares[key] = shares.get(key, 0.0) + p / len(theirs.policies) / (1 + signed)
        shares = {key: share for key, share in shares.items() if share}
        shares[0, 0.0] = 1 - sum(shares.values())
        found = [(int(code), round(argument, 9) + 0.0) for code, argument, _ in programs[:, place]]
        assert set(found) == set(shares)
        assert (
            p_value(np.array([found.count(key) for key in shares]), np.array(list(shares.values())))
            > 1e-3
        )


WRONG = [
    (RandAugment(17, 31, 1, "box", (1, 2)), [
        "num_ops is 17, want 0 to 16",
        "interpolation is 'box', want one of nearest, bilinear, bicubic",
        "fill is (1, 2), want None (black), a number from 0 to 255, or one for each of 3 channels",
        "num_magnitude_bins is 1, want at least 2",
        "magnitude is 31, want 0 to 0 (torchvision's definition)",
    ]),
    (RandAugment.composer(11, 2, "best"), [
        "severity is 11, want 0 to 10 (Composer's definition)",
        "augmentation_set is 'best', want one of all, safe, original",
    ]),
    (RandAugment.timm("rand-m9-p2-n20"), ["num_ops is 20, want 0 to 16", "p is 2.0, want 0 to 1"]),
    (RandAugment.timm("rand-m9", interpolation="area"),
    ["interpolation is 'area', want one of random, nearest, bilinear, bicubic"]),
    (RandAugment(definition="composer"),
    ["definition is 'composer', want None; RandAugment.timm and the like set it"]),
    (TrivialAugmentWide(1, "random"), [
        "interpolation is 'random', want one of nearest, bilinear, bicubic",
        "num_magnitude_bins is 1, want at least 2",
    ]),
    (AutoAugment("food", fill=-1), [
        "policy is 'food', want one of imagenet, cifar10, svhn",
        "fill is -1, want None (black), a number from 0 to 255, or one for each of 3 channels",
    ]),
    (AutoAugment("original"), ["policy is 'original', want one of imagenet, cifar10, svhn"]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "texts"), WRONG, ids=str)
def test_every_problem_is_told(op, texts):
    assert op.problems(Spec(37, 53)) == texts


def test_policies_travel_to_worker_processes():
    for op in (
        RandAugment.timm("rand-m9-mstd0.5"),
        RandAugment.composer(),
        TrivialAugmentWide.official(),
        AutoAugment.timm(),
    ):
        assert pickle.loads(pickle.dumps(op)) == op


def test_colout_keeps_sorted_rows_and_columns():
    op = ColOut(0.05, 0.1, batch=False)
    assert op.kept(176, 176) == (167, 158)
    spec = Spec(176, 120)
    u = np.random.default_rng(2).random((5, op.draws(spec)))
    records, sizes = op.params(u, np.tile(np.array([[176, 120]], np.int32), (5, 1)))
    rows, columns = records[:, :167], records[:, 167:]
    assert sizes.tolist() == [[167, 108]] * 5
    assert (np.diff(rows, axis=1) > 0).all()
    assert (np.diff(columns, axis=1) > 0).all()
    assert rows.max() < 176
    assert columns.max() < 120
    assert len({r.tobytes() for r in rows}) == 5


def test_colout_of_a_batch_is_one_draw():
    op = ColOut(0.05, 0.05)
    u = np.random.default_rng(2).random((1, 352))
    records, _ = op.params(u, np.tile(np.array([[176, 176]], np.int32), (5, 1)))
    assert records.shape == (5, 334)
    assert (records == records[0]).all()


def test_colout_drops_every_row_alike():
    op = ColOut(0.2, 0.2, batch=False)
    u = np.random.default_rng(3).random((20_000, 40))
    records, _ = op.params(u, np.tile(np.array([[20, 20]], np.int32), (20_000, 1)))
    counts = np.bincount(records[:, :16].ravel(), minlength=20)
    assert abs(counts / 16_000 - 1).max() < 0.02


def test_ops_work_on_one_image(make_image):
    pixels = make_image(37, 53, 3)
    tensor = torch.from_numpy(pixels).permute(2, 0, 1)
    for op in (RandAugment(2, 15), TrivialAugmentWide(), ColOut(0.1, 0.1)):
        torch.manual_seed(1)
        of_pil = op(Image.fromarray(pixels))
        torch.manual_seed(1)
        of_tensor = op(tensor)
        np.testing.assert_array_equal(np.asarray(of_pil), of_tensor.permute(1, 2, 0).numpy())


def test_a_wrong_op_on_one_image_says_so(make_image):
    with pytest.raises(PipelineError, match=r"^ColOut: p_row is 2, want 0 to 1$"):
        ColOut(p_row=2)(Image.fromarray(make_image(9, 13, 0)))
