"""backend="ffcv" with device="cuda": FFCV's loop brings uint8 crops, the device gets what the native engine would send. Needs no GPU."""

import numpy as np
import pytest
import torch

import fastload
from fastload import _native, engine
from fastload.backends import cuda, ffcv, native
from fastload.engine import NativeEngine
from fastload.ffcv_engine import FfcvEngine
from fastload.plan import plan
from fastload.sources import collect
from fastload.spec import Work
from fastload.transforms import ColOut, Normalize, RandAugment, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, ToTensor
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


class Device:
    """In place of slots.Uploader: STORE, and AUGMENT where it is left to the device, by the scalar kernels."""

    def __init__(self, picture):
        self.picture = picture

    def __call__(self, host, labels, drawn):
        assert (host.dtype, host.shape[1:]) == (torch.uint8, self.picture.host_shape(1)[1:])
        out = self.picture.plan.out
        images = np.empty((len(host), 3, out.height, out.width), self.picture.table.dtype)
        for n, crop in enumerate(host.numpy()):
            crop = crop if drawn.on_device is None else _native.augment(crop, drawn.on_device[n])
            _native.store(crop, self.picture.table, images[n], False, "scalar")
        return torch.from_numpy(images), labels


def works():
    return iter([Work(np.arange(5), np.zeros(5, np.int64), 7, 0, 0), Work(np.arange(5, 9), np.zeros(4, np.int64), 7, 0, 1)])


@pytest.mark.skipif(bool(ffcv.problem()), reason=f"{ffcv.problem()}")
@pytest.mark.parametrize("augment", ["cpu", "gpu"])
def test_the_device_gets_what_makes_the_native_batches(augment, beton, monkeypatch):
    dropped = [ColOut()] if augment == "cpu" else []  # which the host does
    ops = [*CROPS, RandAugment(2, 9), FLOATS[0], *dropped, FLOATS[1]]
    pipeline = fastload.open(beton, ops).pipeline
    monkeypatch.setattr(engine, "Uploader", Device)
    monkeypatch.setattr(cuda, "programs", lambda instructions, *_: instructions)  # the device's can only be launched
    found = plan(pipeline, augment=augment, device="cuda")
    assert ffcv.unsupported(found, "cuda") == []
    seek = collect.make("off", found.source)
    ours = list(FfcvEngine(ffcv.compile(found, "cuda"), 1, 2, seek, pinned=False).epoch(works()))
    want = list(NativeEngine(native.compile(plan(pipeline), "cpu"), 0, 2, seek, pinned=False).epoch(works()))
    for (images, labels), (wanted, wanted_labels) in zip(ours, want, strict=True):
        assert torch.equal(images, wanted)
        assert torch.equal(labels, wanted_labels)


def test_what_the_device_lacks_is_said_as_natively(beton):
    found = plan(fastload.open(beton, [*CROPS, ToTensor(), RandomErasing()]).pipeline)
    assert ffcv.unsupported(found, "cuda")[-1:] == native.unsupported(found, "cuda")
    assert ffcv.unsupported(found, "cuda")[-1] == "op 4 (RandomErasing) runs on the host only (got device 'cuda', want 'cpu')"
