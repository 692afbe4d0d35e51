"""The parts of CopyPaste that stand for slower functions of torch, torchvision and NumPy."""

import numpy as np
import pytest
import torch
from torchvision import ops

from fastload.detection import copy_paste
from fastload.joint import mixing

SIZES = [(1, 1), (1, 9), (2, 7), (3, 3), (24, 37)]
SHARES = (0.0, 0.02, 0.5, 1.0)


def mask(size, share, seed=0):
    return np.random.default_rng([*size, seed]).uniform(size=size) < share


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_a_mask_grows_as_by_max_pooling(size, share):
    of = torch.from_numpy(mask(size, share))
    reach = copy_paste.REACH
    want = torch.nn.functional.max_pool2d(of[None].float(), 2 * reach + 1, 1, reach)[0] > 0
    found = copy_paste.CopyPaste()._blended(of.clone())
    assert torch.equal(found, want)


@pytest.mark.parametrize("size", SIZES)
def test_ends_of_masks_are_their_boxes(size):
    masks = np.stack([mask(size, 0.1, seed) for seed in range(20)])
    masks = torch.from_numpy(masks[masks.any(axis=(1, 2))])
    left, right = copy_paste._ends(masks.any(dim=1))
    top, bottom = copy_paste._ends(masks.any(dim=2))
    found = torch.stack([left, top, right, bottom], dim=1).float()
    assert torch.equal(found, ops.masks_to_boxes(masks))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("runs", [0, mixing.RUNS])
def test_px_are_pasted_as_by_numpy(size, share, runs, monkeypatch):
    monkeypatch.setattr(mixing, "RUNS", runs)
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 256, (2, *size, 3), np.uint8)
    where, want = mask(size, share), one.copy()
    np.copyto(want, other, where=where[..., None])
    mixing._paste(one, other, where)
    assert np.array_equal(one, want)
