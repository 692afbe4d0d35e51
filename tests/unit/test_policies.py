"""AUGMENT policies and ColOut: torchvision's and Composer's definitions, number by number."""

import math

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import autoaugment

from fastload.errors import PipelineError
from fastload.spec import Spec
from fastload.transforms import ColOut, RandAugment, TrivialAugmentWide, pil
from fastload.transforms.definitions.composer import ALL as COMPOSER_ALL
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
    assert tuple(programs(op, uniforms(CODE[name], 14, side_u=0.1 if negative else 0.9))[0, 0]) == (CODE[name], want, 0)


@pytest.mark.parametrize("bin_", [0, 7, 15, 30])
@pytest.mark.parametrize("name", RAND.names)
def test_trivialaugment_has_torchvisions_magnitudes(name, bin_):
    magnitudes, _ = autoaugment.TrivialAugmentWide()._augmentation_space(31)[name]
    want = final(name, float(magnitudes[bin_]) if magnitudes.ndim else 0.0)
    op = TrivialAugmentWide()
    assert tuple(programs(op, uniforms(CODE[name], 14, bin_u=(bin_ + 0.5) / 31))[0, 0]) == (CODE[name], want, 0)


def final(name: str, magnitude: float) -> float:
    """What torchvision's _apply_op makes of a magnitude, in policies.CODES' units."""
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        return 1.0 + magnitude
    if name.startswith("Shear"):  # through an angle, and back as the coefficient that PIL gets
        angle = math.radians(math.degrees(math.atan(magnitude)))
        return math.tan(angle) if name == "ShearX" else math.sin(angle) / math.cos(angle)
    return float(int(magnitude)) if name.startswith("Translate") else magnitude


@pytest.mark.parametrize("op", [RandAugment(2, 20, interpolation="bilinear"), TrivialAugmentWide()], ids=str)
def test_programs_run_as_torchvision_runs_them(op, make_image):
    image = Image.fromarray(make_image(37, 53, 3))
    mode = autoaugment.InterpolationMode(op.interpolation)
    u = np.random.default_rng(0).random((60, op.draws(Spec())))
    for program in op.params(u, np.repeat(SIZES[:1], 60, axis=0)).records:
        want = image
        for code, argument, _ in program:
            name = CODES[int(code)]
            magnitude = argument - 1.0 if name in ("Brightness", "Color", "Contrast", "Sharpness") else argument
            want = autoaugment._apply_op(want, name, magnitude, interpolation=mode, fill=None)
        np.testing.assert_array_equal(np.asarray(pil.apply(op, image, program)), np.asarray(want))


@pytest.mark.parametrize("op", [RandAugment(1), TrivialAugmentWide(), RandAugment.composer(10, 1)], ids=str)
def test_ops_are_drawn_evenly(op):
    u = np.random.default_rng(5).random((100_000, op.draws(Spec())))
    records = op.params(u, np.repeat(SIZES[:1], len(u), axis=0)).records
    names = COMPOSER_ALL if op.definition else RAND.names
    counts = np.array([(records[:, 0, 0] == CODE[name]).sum() for name in names])
    assert counts.sum() == len(u)
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < 40  # 13 degrees of freedom; p = 1e-4 lies at 39


def test_composers_ranges():
    u = np.random.default_rng(6).random((50_000, 4))
    records = RandAugment.composer(severity=10, depth=1).params(u, np.tile(np.array([[90, 60]], np.int32), (len(u), 1))).records[:, 0]
    ranges = {
        "ShearX": (-0.3, 0.3), "TranslateX": (-20, 20), "TranslateY": (-30, 30), "Rotate": (-30, 30),
        "Posterize": (0, 4), "Solarize": (0, 256), "Color": (0.1, 10), "Brightness": (0.1, 7.5),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        values = records[records[:, 0] == CODE[name], 1]
        assert low <= values.min() < low + 0.1 * (high - low) + 1.1
        assert high - 0.1 * (high - low) - 1.1 < values.max() <= high
    factors = records[records[:, 0] == CODE["Color"], 1]
    assert abs((factors > 1).mean() - 0.5) < 0.03


def test_posterize_to_no_bits_is_black(make_image):
    image = Image.fromarray(make_image(9, 13, 0))
    op = RandAugment(1)
    assert not np.asarray(pil.apply(op, image, np.array([[CODE["Posterize"], 0.0, 0.0]]))).any()


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
