"""Stacks of pictures lie in memory that is used again, and never where somebody still looks."""

import gc
import pickle

import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional as F

import fastload
from fastload.engine.stacks import KEPT, Stacks


def stacked(crops):
    return torch.stack([F.to_tensor(crop) for crop in crops])


def ten(folder, side=12):
    chain = [v1.Resize(20), v1.TenCrop((side, 10)), v1.Lambda(stacked)]
    return ImageFolder(folder, v1.Compose(chain))


def pictures(seed, count=3, size=(4, 3, 5, 7)):
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(size, generator=generator) for _ in range(count)]


def addresses(loader):
    """Of the batches' memory, which is free before the next one is made."""
    out = []
    for images, _ in loader:
        out.append(images.data_ptr())
        del images, _
    return out


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_the_stock_loaders_and_all_may_be_kept(folder, workers):
    data = ten(folder)
    ours = fastload.DataLoader(data, 7, num_workers=workers)
    assert ours.explain().startswith("backend native")
    kept = [list(ours) for _ in range(2)]
    theirs = list(DataLoader(data, 7))
    for batches in kept:
        for (images, labels), (want, of_want) in zip(batches, theirs, strict=True):
            assert torch.equal(images, want)
            assert images.stride() == want.stride()
            assert images.view(-1, 3, 12, 10).shape[0] == 10 * len(labels)
            assert torch.equal(labels, of_want)


def test_what_is_free_is_used_again(folder):
    loader = fastload.DataLoader(ten(folder), 8, drop_last=True)
    first, second = addresses(loader), addresses(loader)
    assert len(first) == 5
    assert len({*first, *second}) == 1


def test_a_view_keeps_its_memory():
    stacks = Stacks()
    one = stacks(pictures(0))
    part, want = one[1, 2:, 0], one.clone()
    del one
    gc.collect()
    others = [stacks(pictures(seed)) for seed in range(1, 6)]
    assert torch.equal(part, want[1, 2:, 0])
    for seed, other in enumerate(others, 1):
        assert torch.equal(other, torch.stack(pictures(seed), dim=1))
    del others, other
    assert len(stacks._rings[3]._free) == KEPT


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32])
def test_every_type_and_size(dtype):
    stacks = Stacks()
    for count, size in ((2, (4, 3, 5, 7)), (2, (9, 3, 8, 6)), (5, (1, 1, 3, 2)), (2, (3, 3, 2, 2))):
        given = [(one * 200).to(dtype) for one in pictures(count, count, size)]
        for parts in (given, [one.to(memory_format=torch.channels_last) for one in given]):
            made, want = stacks(parts), torch.stack(parts, dim=1)
            assert (made.dtype, made.stride()) == (want.dtype, want.stride())
            assert torch.equal(made, want)


def test_pictures_of_other_sizes_raise_as_in_torch():
    one, other = pictures(0, 1) + pictures(1, 1, (4, 3, 5, 8))
    for stack in (Stacks(), lambda parts: torch.stack(parts, dim=1)):
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            stack([one, other])


def test_a_copy_of_a_loader_has_memory_of_its_own(folder):
    loader = fastload.DataLoader(ten(folder), 8)
    (images, _), *_ = loader
    want = images.clone()
    copy = pickle.loads(pickle.dumps(fastload.DataLoader(ImageFolder(folder, v1.ToTensor()), 8)))
    assert copy._stacks._rings == {}
    list(loader)
    assert torch.equal(images, want)
