"""Mixing on the GPU gives the bits of the scalar specification, and loaders those of the CPU."""

import numpy as np
import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T

pytestmark = pytest.mark.cuda

DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CANARY = 0xA5
MIXES = {
    "MixUp": T.MixUp(), "CutMix": T.CutMix(), "composer": T.MixUp.composer(1.0, label_smoothing=0.1), "smoothing": T.LabelSmoothing(),
    "timm": T.MixUp.timm(1.0, 1.0, prob=0.8, mode="elem"),
}  # fmt: skip


def table(name: str) -> np.ndarray:
    """[3, 256] of finite values."""
    values = torch.from_numpy(np.random.default_rng(7).uniform(-3, 3, (3, 256)).astype(np.float32))
    if name == "bfloat16":
        return values.to(torch.bfloat16).view(torch.uint16).numpy()
    return (values * 40 + 120 if name == "uint8" else values).numpy().astype(DTYPES[name])


def partners(count: int, height: int, width: int) -> np.ndarray:
    """int32 [count, 7]: blends, boxes, both and neither."""
    rng = np.random.default_rng(count)
    out = np.zeros((count, 7), np.int32)
    out[:, 0] = rng.integers(0, count, count)
    out[:, 3], out[:, 4] = rng.integers(0, height + 1, count), rng.integers(0, width + 1, count)
    out[::3, 3] = 0
    out[:, 1], out[:, 2] = (rng.integers(0, side + 1 - out[:, k]) for k, side in ((3, height), (4, width)))
    own = rng.random(count).astype(np.float32)
    own[::2] = 1
    out[:, 5], out[:, 6] = own.view(np.int32), (1 - own).view(np.int32)
    return out


@pytest.mark.parametrize("last", [False, True], ids=["NCHW", "NHWC"])
@pytest.mark.parametrize("size", [(1, 1), (13, 7), (33, 65), (224, 161)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("count", [1, 5, 64])
@pytest.mark.parametrize("name", DTYPES)
def test_the_gpu_gives_the_bits_of_the_specification(name, count, size, last):
    (height, width), values, rows = size, table(name), partners(count, *size)
    images = np.random.default_rng(count).integers(0, 256, (count, height, width, 3), np.uint8)
    want = np.zeros((count, height, width, 3) if last else (count, 3, height, width), DTYPES[name])
    _native.store_mixed(images, values, want, last, "scalar", rows)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        there, tables, how = (torch.from_numpy(np.ascontiguousarray(a)).cuda() for a in (images, values.view(np.uint8), rows))
        out = torch.full((want.nbytes + 64,), CANARY, dtype=torch.uint8, device="cuda")
        _native.mix_cuda(
            there.data_ptr(), tables.data_ptr(), out.data_ptr(), count, height, width, name, last, how.data_ptr(), stream.cuda_stream
        )
        whole = out.cpu().numpy()
    assert (whole[-64:] == CANARY).all()
    np.testing.assert_array_equal(whole[:-64], want.reshape(-1).view(np.uint8))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("mix", MIXES)
def test_mixed_batches_are_those_of_the_cpu(folder, mix, dtype):
    last = [T.ToImage(channels_last=dtype == "float16"), T.ColOut(0.1, 0.2)]
    if dtype != "uint8":
        last += [T.ToDtype(dtype, scale=True), T.Normalize(MEAN, STD)]
    data = fastload.open(folder, [T.RandomResizedCrop((31, 45)), T.RandAugment(1), *last])
    device, host = (fastload.DataLoader(data, 7, shuffle=True, num_workers=2, device=on, seed=5, mix=MIXES[mix]) for on in ("cuda", "cpu"))
    found = list(device)
    for (images, labels), (want, want_labels) in zip(found, host, strict=True):
        assert images.is_cuda
        assert labels.is_cuda
        assert images.stride() == want.stride()
        assert torch.equal(images.cpu().contiguous().view(torch.uint8), want.contiguous().view(torch.uint8))
        assert torch.equal(labels.cpu(), want_labels)
