"""What windows show beyond an image: natively the reference's pixels, whatever is mirrored."""

import itertools

import pytest
import torch

import fastload
from fastload import transforms as T
from fastload.transforms.timm_sizes import CenterCropOrPad

FLIPS = [T.RandomHorizontalFlip(), T.RandomVerticalFlip()]
WINDOWS = {
    "pad": lambda how: [T.Pad((5, 0, 2, 7), **how)],
    "crop": lambda how: [T.RandomCrop((26, 33), padding=(6, 3), **how)],
    "smaller than wanted": lambda how: [T.RandomCrop((60, 50), pad_if_needed=True, **how)],
    "pad, then crop": lambda how: [T.Pad(6, **how), T.RandomCrop((27, 30))],
    "timm": lambda how: [CenterCropOrPad((40, 25), **how)],
}
BEYOND = [
    {"fill": (9, 80, 250)},
    {"padding_mode": "edge"},
    {"padding_mode": "reflect"},
    {"padding_mode": "symmetric"},
]


def batches(folder, ops, backend):
    data = fastload.open(folder, ops)
    return [images for images, _ in fastload.DataLoader(data, 9, seed=3, backend=backend)]


@pytest.mark.parametrize("how", BEYOND, ids=str)
@pytest.mark.parametrize("window", WINDOWS)
def test_borders_are_the_references(folder, window, how):
    for before, after in itertools.product(([], FLIPS), ([], FLIPS, [T.RandomRotation(20)])):
        ops = [T.Resize((24, 31)), *before, *WINDOWS[window](how), *after, T.ToImage()]
        ours, theirs = (batches(folder, ops, backend) for backend in ("native", "torch"))
        assert all(map(torch.equal, ours, theirs))


def test_one_channel_is_the_references(folder):
    ops = [T.RandomResizedCrop((20, 28)), T.RandomInvert(), T.Grayscale(), *FLIPS]
    ops += [T.ToTensor(), T.Normalize((0.4,), (0.3,)), T.RandomErasing(0.8, value=0.7)]
    ours, theirs = (batches(folder, ops, backend) for backend in ("native", "torch"))
    assert ours[0].shape[1] == 1
    assert all(map(torch.equal, ours, theirs))
    assert ours[0].is_contiguous()
