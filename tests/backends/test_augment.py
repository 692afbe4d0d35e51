"""Folding AUGMENT's records into instructions: what comes out does to an image what the reference
does.
"""

import numpy as np
import pytest
from PIL import Image, ImageFilter

from fastload import _native
from fastload.backends.native import augment, instructions
from fastload.plan.steps import infer_specs
from fastload.transforms import CenterCrop, RandAugment, TrivialAugmentWide, pil
from fastload.transforms.programs import CODE, filter_number, rows
from tests import pillow

POLICIES = [
    *(
        RandAugment(1, magnitude, interpolation=how)
        for magnitude in (0, 1, 9, 15, 30)
        for how in ("nearest", "bilinear")
    ),
    pytest.param(RandAugment(3, 20), marks=pillow.rounds_twice),
    *(TrivialAugmentWide(interpolation=how) for how in ("nearest", "bilinear")),
    *(RandAugment.composer(severity, 1) for severity in (0.1, 3, 9, 10)),
]
SIZES = [(1, 1), (2, 9), (24, 24), (37, 53)]


@pytest.mark.parametrize("op", POLICIES, ids=str)
def test_policies_do_what_the_reference_does(op, make_image):
    pytest.importorskip("torchvision")
    seen = set()
    for height, width in SIZES:
        steps, _ = infer_specs((CenterCrop((height, width)), op))
        u = np.random.default_rng([height, width]).uniform(size=(150, steps[1].draws))
        sizes = np.full((len(u), 2), (height, width), np.int32)
        records = op.params(u, sizes).records
        image = make_image(height, width, 1)
        for record, program in zip(
            records, augment.fold(steps[1:], [records], sizes)[0], strict=True
        ):
            want = np.asarray(pil.apply(op, Image.fromarray(image), record))
            np.testing.assert_allclose(
                _native.augment(image, program).astype(int), want, rtol=0, atol=pillow.LEVELS,
                err_msg=f"{height}x{width} {record}",
            )  # fmt: skip
            seen.add(int(record[0][0]))
    assert len(seen) >= 13  # Composer has no Identity


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
@pytest.mark.parametrize(
    ("height", "width"), [(24, 24), (23, 23), (37, 53), (52, 30), (1, 1), (1, 8)]
)
def test_turns_are_pillows_at_every_right_angle_and_beside_it(
    height, width, interpolation, make_image
):
    image = make_image(height, width, 2)
    for degrees in (
        -450,
        -270,
        -180,
        -90,
        -1e-9,
        0,
        1e-9,
        30,
        45,
        89.999,
        90,
        90.001,
        135,
        180,
        270,
        360,
        400,
    ):
        want = Image.fromarray(image).rotate(degrees, filter_number(interpolation))
        program = rows([[CODE["Rotate"]]], degrees, filter_number(interpolation))
        found = instructions.of_program(
            RandAugment(), program, np.array([[height, width]], np.int32)
        )
        np.testing.assert_allclose(
            _native.augment(image, found[0]).astype(int), np.asarray(want), rtol=0,
            atol=pillow.LEVELS, err_msg=str(degrees),
        )  # fmt: skip


def test_no_step_needs_no_programs():
    assert instructions.joined(augment.fold((), [], np.zeros((3, 2), np.int32))) is None


def test_steps_stand_one_after_the_other():
    steps, _ = infer_specs((CenterCrop((5, 7)), RandAugment(2), TrivialAugmentWide()))
    sizes = np.full((4, 2), (5, 7), np.int32)
    records = [step.op.params(np.full((4, step.draws), 0.99), sizes).records for step in steps[1:]]
    got = instructions.joined(augment.fold(steps[1:], records, sizes))
    assert got.shape == (4, 3, 13)
    assert got[..., 0].tolist() == [[_native.INSTRUCTIONS.index("Equalize")] * 3] * 4


def test_blurs_by_boxes_are_pillows(make_image):
    """Up to where the boxes grow by a whole pixel, and beside it: sqrt(12 * sigma^2 / 3 + 1) is odd
    at sqrt(2), sqrt(6), …
    """
    image = make_image(19, 31, 3)
    edges = [(k * (k + 1)) ** 0.5 for k in range(1, 6)]
    sigmas = [
        0.0,
        0.1,
        0.5,
        1.0,
        2.0,
        7.7,
        40.0,
        *(edge * (1 + step) for edge in edges for step in (-1e-7, 0.0, 1e-7, 1e-3)),
    ]
    program = rows([[CODE["GaussianBlurPIL"]]], np.array(sigmas)[:, None])
    found = instructions.of_program(
        RandAugment(), program, np.full((len(sigmas), 2), (19, 31), np.int32)
    )
    for sigma, steps in zip(sigmas, found, strict=True):
        want = Image.fromarray(image).filter(ImageFilter.GaussianBlur(sigma))
        np.testing.assert_array_equal(
            _native.augment(image, steps), np.asarray(want), err_msg=str(sigma)
        )
