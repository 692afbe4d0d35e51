"""The DALI backends as loaders: order, last batches, bad samples, sizes, ends; and why they
refuse.
"""

import gc
import weakref
from pathlib import Path

import pytest
import torch
from PIL import Image

import fastload
from fastload.errors import BackendError
from fastload.transforms import (
    AutoAugment,
    ColOut,
    Normalize,
    RandAugment,
    RandomHorizontalFlip,
    RandomResizedCrop,
    ToDtype,
    ToImage,
    TrivialAugmentWide,
    Views,
)

from .dali_helpers import BOTH, TRAIN, equal, loader, reasons

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("drop_last", [False, True])
def test_order_labels_and_last_batch_are_natives(backend, drop_last, folder):
    native, batches = (
        list(loader(folder, backend=name, drop_last=drop_last)) for name in ("native", backend)
    )
    assert [len(images) for images, _ in batches] == [7] * 5 + [5] * (not drop_last)
    assert [labels.tolist() for _, labels in batches] == [labels.tolist() for _, labels in native]


@pytest.mark.parametrize("backend", BOTH)
def test_epochs_differ_and_come_again_with_set_epoch(backend, folder):
    found = loader(folder, backend=backend, num_workers=2)
    first, second = list(found), list(found)
    found.set_epoch(0)
    assert equal(list(found), first)
    assert not equal(first, second)


def test_threads_and_batch_size_change_nothing(folder):
    whole = [torch.cat(parts) for parts in zip(*loader(folder), strict=True)]
    for options in ({"num_workers": 3}, {"batch_size": 40}, {"batch_size": 1, "num_workers": 1}):
        assert equal(
            [[torch.cat(parts) for parts in zip(*loader(folder, **options), strict=True)]], [whole]
        )


@pytest.mark.parametrize("backend", BOTH)
def test_several_iterators_and_early_ends(backend, folder):
    found = loader(folder, backend=backend, num_workers=1)
    want = list(found)
    found.set_epoch(0)
    left = iter(found)
    next(left)
    found.set_epoch(0)
    right = iter(found)
    assert equal([next(right)], want[:1])
    assert equal([next(left)], want[1:2])
    del left
    assert equal(list(right), want[1:])
    with pytest.raises(StopIteration):
        next(right)


def test_a_dropped_iterator_ends_its_pipeline(folder):
    iterator = iter(loader(folder, num_workers=1))
    next(iterator)
    pipeline = weakref.ref(iterator._batches.line.pipeline)
    del iterator
    gc.collect()
    assert pipeline() is None


@pytest.mark.parametrize("backend", BOTH)
def test_only_pipelines_without_draws_of_their_own_are_used_again(folder, backend):
    found, seen = loader(folder, backend=backend, num_workers=1), []
    for _ in range(2):
        iterator = iter(found)
        seen.append(iterator._batches.line.pipeline)
        assert len(list(iterator)) == len(found)
    assert (seen[0] is seen[1]) == (backend == "dali")


def test_kept_batches_are_never_overwritten(folder):
    found = loader(folder, num_workers=2, batch_size=3)
    kept = [(images, images.clone()) for images, _ in found]
    assert all(torch.equal(images, copy) for images, copy in kept)
    assert len({images.data_ptr() for images, _ in kept}) == len(kept)


@pytest.mark.long
@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_sizes_change_from_epoch_to_epoch_and_step_to_step(backend, mode, folder):
    ops = [
        RandomResizedCrop(40),
        RandomHorizontalFlip(),
        RandAugment(1),
        ToImage(channels_last=True),
    ]
    schedule = fastload.ProgressiveResize(
        total_steps=12, scale=0.5, delay=0, finetune=0.25, increment=1, mode=mode
    )
    native, found = (
        loader(folder, ops, name, size_schedule=schedule, num_workers=2)
        for name in ("native", backend)
    )
    for _ in range(2):
        shapes = [images.shape for images, _ in found]
        assert shapes == [images.shape for images, _ in native]
    assert shapes[0] != shapes[-1]


def test_batches_may_grow(folder):
    dataset = fastload.open(folder, TRAIN)
    batches = [[0, 1], [2, 3, 4], [5], list(range(6, 20)), [20, 21]]
    native, found = (
        fastload.DataLoader(dataset, batch_sampler=batches, seed=1, backend=name)
        for name in ("native", "dali")
    )
    for (images, labels), (want, want_labels) in zip(found, native, strict=True):
        assert images.shape == want.shape
        assert torch.equal(labels, want_labels)
        assert (images.float() - want.float()).abs().mean() < 1


def test_views(folder):
    two = Views([[RandomResizedCrop((24, 31))], [RandomResizedCrop((16, 20)), RandAugment(1)]])
    (large, small), labels = next(iter(loader(folder, two)))
    (want_large, want_small), want_labels = next(iter(loader(folder, two, "native")))
    assert (large.shape, small.shape, labels.tolist()) == (
        want_large.shape,
        want_small.shape,
        want_labels.tolist(),
    )
    assert (large.float() - want_large.float()).abs().mean() < 1


def test_masks_stay_on_their_images(folder, tmp_path):
    for path in Path(folder).rglob("*.jpg"):
        mask = tmp_path / "masks" / path.relative_to(folder).with_suffix(".png")
        mask.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image:
            image.convert("L").save(mask)
    found = {}
    for backend in ("native", "dali"):
        dataset = fastload.open(folder, TRAIN, masks=tmp_path / "masks")
        found[backend] = [
            masks
            for _, masks in fastload.DataLoader(dataset, 7, seed=3, shuffle=True, backend=backend)
        ]
    assert all(torch.equal(a, b) for a, b in zip(found["native"], found["dali"], strict=True))
    with pytest.raises(BackendError) as caught:
        fastload.DataLoader(dataset, 7, backend="dali-own")
    assert reasons(caught) == [
        "masks need the crops of their images, which only DALI knows; use backend='dali'"
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    "policy", [RandAugment(2, 9), TrivialAugmentWide(interpolation="bilinear"), AutoAugment()]
)
def test_dalis_own_policies_run(policy, folder):
    ops = [
        *TRAIN,
        policy,
        ToImage(),
        ColOut(),
        ToDtype("float32", scale=True),
        Normalize((0.5,) * 3, (0.25,) * 3),
    ]
    native, found = (list(loader(folder, ops, name)) for name in ("native", "dali-own"))
    for (images, _), (want, _) in zip(found, native, strict=True):
        assert (images.shape, images.dtype) == (want.shape, want.dtype)
        assert abs(images.mean() - want.mean()) < 0.6
        assert 0.3 < images.std() / want.std() < 3


@pytest.mark.parametrize("name", ["peer", "dali", "dali-own", "native"])
def test_the_benchmarks_loaders_give_the_same_number_of_images(name, folder):
    benchmark = pytest.importorskip("benchmarks.dali.child")  # not in an installed package
    spec = {
        "loader": name,
        "data": folder,
        "output": "float32",
        "workers": 1,
        "batch_size": 16,
        "size": 24,
    }
    found = list(benchmark.make_loader(spec))
    assert sum(len(labels) for _, labels in found) == benchmark.PASSES * 40
    assert {(tuple(images.shape[1:]), images.dtype, labels.dtype) for images, labels in found} == {
        ((3, 24, 24), torch.float32, torch.int64)
    }
