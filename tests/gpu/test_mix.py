"""MixRecords batches on the GPU are those of the CPU; the kernel alone: test_store.py."""

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.plan.placement import ALL

pytestmark = pytest.mark.cuda

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
MIXES = {
    "MixUp": T.MixUp(), "CutMix": T.CutMix(), "composer": T.MixUp.composer(1.0,
    label_smoothing=0.1), "smoothing": T.LabelSmoothing(),
    "timm": T.MixUp.timm(1.0, 1.0, prob=0.8, mode="elem"),
}  # fmt: skip


@pytest.mark.parametrize("placement", ALL, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("mix", MIXES)
def test_mixed_batches_are_those_of_the_cpu(folder, mix, dtype, placement):
    last = [
        T.ToImage(channels_last=dtype == "float16"),
        T.ColOut(0.1, 0.2),
        T.RandomErasing(0.5, value=77),
    ]
    if dtype != "uint8":
        last += [T.ToDtype(dtype, scale=True), T.Normalize(MEAN, STD)]
    data = fastload.open(folder, [T.RandomResizedCrop((31, 45)), T.RandAugment(1), *last])
    device, host = (
        fastload.DataLoader(data, 7, shuffle=True, num_workers=2, seed=5, mix=MIXES[mix], **more)
        for more in (
            {"device": "cuda", "decode": placement.decode, "augment": placement.augment},
            {},
        )
    )
    found = list(device)
    for (images, labels), (want, want_labels) in zip(found, host, strict=True):
        assert images.is_cuda
        assert labels.is_cuda
        assert images.stride() == want.stride()
        assert torch.equal(
            images.cpu().contiguous().view(torch.uint8), want.contiguous().view(torch.uint8)
        )
        assert torch.equal(labels.cpu(), want_labels)
