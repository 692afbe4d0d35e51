"""backend="ffcv", device="cuda":

FFCV's loop up to the crop, our kernels behind it, the CPU's bits.
"""

import pytest

import fastload
from fastload import transforms as T
from fastload.backends.ffcv import installed as ffcv_installed
from tests.beton.layout import Writer
from tests.gpu.test_loader import MEAN, OUTPUTS, STD, assert_equal

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"),
]


@pytest.fixture
def beton(tmp_path, make_image, encode):
    """17 images, every third one raw."""
    cells = []
    for number in range(17):
        pixels = make_image(40 + 3 * number, 61 - number, number)
        cells.append(("jpg", encode(pixels), *pixels.shape[:2]) if number % 3 else ("raw", pixels))
    rows = [[cell, number % 5] for number, cell in enumerate(cells)]
    (tmp_path / "x.beton").write_bytes(Writer([("image", "image"), ("label", "int")], rows).bytes())
    return str(tmp_path / "x.beton")


def make_loader(beton, ops, device, backend, **more):
    data = fastload.open(beton, [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), *ops])
    return fastload.DataLoader(
        data, 7, shuffle=True, num_workers=2, device=device, backend=backend, seed=5, **more
    )


@pytest.mark.parametrize("output", ["uint8", "float32 NHWC", "augmented", "bfloat16 NHWC"])
def test_batches_are_those_of_the_cpu(output, beton):
    found = make_loader(beton, OUTPUTS[output], "cuda", "ffcv")
    want = make_loader(beton, OUTPUTS[output], None, "native")
    for _ in range(2):
        assert_equal(list(found), list(want))


def test_augmented_and_mixed_on_the_device_they_are_the_same(beton):
    ops = [T.RandAugment(2), T.ToTensor(), T.Normalize(MEAN, STD)]
    assert_equal(
        list(make_loader(beton, ops, "cuda", "ffcv", augment="gpu")),
        list(make_loader(beton, ops, None, "native")),
    )
    mix = T.MixUp(alpha=0.3)
    assert_equal(
        list(make_loader(beton, ops, "cuda", "ffcv", mix=mix)),
        list(make_loader(beton, ops, None, "native", mix=mix)),
    )
