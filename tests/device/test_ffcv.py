"""backend="ffcv" with device="cuda":

FFCV's loop brings uint8 crops, and the device gets what the native engine would send.
"""

import pytest
import torch

import fastload
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.backends.ffcv import runner as ffcv
from fastload.backends.native import runner as native
from fastload.plan.plan import plan
from fastload.transforms import (
    ColOut,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToTensor,
)
from tests.beton.layout import Writer

CROPS = [RandomResizedCrop((24, 31)), RandomHorizontalFlip()]
FLOATS = [ToTensor(), Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))]


@pytest.fixture
def beton(tmp_path, make_image, encode):
    """9 images, every third one raw."""
    cells = []
    for number in range(9):
        pixels = make_image(40 + 3 * number, 61 - number, number)
        cells.append(("jpg", encode(pixels), *pixels.shape[:2]) if number % 3 else ("raw", pixels))
    rows = [[cell, number % 5] for number, cell in enumerate(cells)]
    (tmp_path / "x.beton").write_bytes(Writer([("image", "image"), ("label", "int")], rows).bytes())
    return str(tmp_path / "x.beton")


@pytest.fixture
def loaded():
    """FFCV, which looks for a GPU when it is imported: before one is played."""
    from fastload.backends.ffcv import imports

    imports.load()


@pytest.mark.skipif(bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}")
@pytest.mark.parametrize("augment", ["cpu", "gpu", "auto"])
def test_the_device_gets_what_makes_the_native_batches(augment, beton, loaded, gpu):
    data = fastload.open(
        beton,
        [
            *CROPS,
            RandAugment(2, 9),
            FLOATS[0],
            ColOut(),
            FLOATS[1],
            RandomErasing(0.8, value="random"),
        ],
    )
    loader = fastload.DataLoader(
        data, 4, shuffle=True, seed=3, num_workers=1, backend="ffcv", device="cuda", augment=augment
    )
    want = fastload.DataLoader(data, 4, shuffle=True, seed=3)
    for _ in range(2):
        for (images, labels), (wanted, wanted_labels) in zip(loader, want, strict=True):
            assert torch.equal(images, wanted)
            assert torch.equal(labels, wanted_labels)
    assert loader._engine.uploader.images == 18
    lines = loader.explain()
    assert (
        "decode='gpu', augment='gpu' is out: FFCV's loop decodes; use backend='native'" in lines
        or augment == "cpu"
    )


def test_what_the_device_lacks_is_said_as_natively(beton):
    found = plan(fastload.open(beton, [*CROPS, ToTensor(), RandomErasing(), ColOut()]).pipeline)
    assert ffcv.unsupported(found, "cuda")[-1:] == native.unsupported(found, "cuda")
    want = (
        "op 5 (ColOut) drops rows and columns after op 4 (RandomErasing); natively it comes before"
    )
    assert ffcv.unsupported(found, "cuda")[-1] == want


def test_the_gpu_does_not_decode_for_ffcv(beton, gpu):
    with pytest.raises(fastload.BackendError) as caught:
        fastload.DataLoader(
            fastload.open(beton, [*CROPS, ToTensor()]),
            4,
            backend="ffcv",
            device="cuda",
            decode="gpu",
        )
    assert "decode 'gpu': FFCV's loop decodes; leave decode out, or use backend=\"native\"" in str(
        caught.value
    )
