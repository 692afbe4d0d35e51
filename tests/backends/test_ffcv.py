"""backend="ffcv": the native engine's batches by FFCV's loop, and everything that FFCV itself does
not notice.
"""

import gc
import os
import re
import threading
from pathlib import Path

import pytest
import torch
from torch.utils.data import WeightedRandomSampler

import fastload
from fastload.backends.ffcv import runner as ffcv
from fastload.errors import SampleError
from fastload.transforms import (
    CenterCrop,
    ColOut,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomResizedCrop,
    Resize,
    ToDtype,
    ToImage,
    ToTensor,
    Views,
)
from tests.waiting import until

from .ffcv_helpers import CROPS, needs_ffcv, pair

MEDIUM = [
    *CROPS,
    RandAugment(2, 9),
    ToTensor(),
    Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
    RandomErasing(0.5, value="random"),
]
STORED = [
    Resize((26, 35)),
    CenterCrop((24, 31)),
    ColOut(),
    ToImage(channels_last=True),
    ToDtype("bfloat16", scale=True),
]
TWO = Views(
    [([RandomResizedCrop((24, 31)), ToTensor()], 1), ([RandomResizedCrop((9, 12)), ToTensor()], 2)]
)


def same(got, want):
    got, want = list(got), list(want)
    assert len(got) == len(want)
    for (a, a_labels), (b, b_labels) in zip(got, want, strict=True):
        for x, y in zip(
            a if isinstance(a, list) else [a], b if isinstance(b, list) else [b], strict=True
        ):
            assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            assert torch.equal(x, y)
        assert torch.equal(a_labels, b_labels)
        assert a_labels.dtype == torch.int64


@needs_ffcv
@pytest.mark.parametrize(
    ("ops", "workers"), [(MEDIUM, 2), (STORED, 0), (TWO, 1)], ids=["medium", "stored", "views"]
)
def test_batches_are_the_native_ones_over_epochs(ops, workers, cells, beton):
    threads = torch.get_num_threads()
    ours, native = pair(beton(cells), ops, shuffle=True, num_workers=workers)
    for _ in range(2):
        same(ours, native)  # kept to the end: none is overwritten, and the last one is short
    assert torch.get_num_threads() == threads  # which FFCV sets to its own


@needs_ffcv
def test_repeated_samples_and_parts_of_a_file(cells, beton):
    sampler = WeightedRandomSampler([1.0] * 5, 11, generator=torch.Generator().manual_seed(1))
    order = list(sampler)
    ours, native = pair(
        beton(cells), MEDIUM, subset=[7, 4, 4, 0, 12], sampler=order, drop_last=True, num_workers=1
    )
    same(ours, native)


@needs_ffcv
def test_sizes_change_without_compiling_again(cells, beton):
    ours, native = pair(
        beton(cells), [RandomResizedCrop(31)], size_schedule=[31, 16], num_workers=1
    )
    same(ours, native)
    code = ours._engine.loop.loader.code
    same(ours, native)
    assert ours._engine.loop.loader.code is code
    stage, _ = code[0][0]
    (compiled,) = (value for name, value in stage.__globals__.items() if name.startswith("code_"))
    assert len(compiled.signatures) == 1


@needs_ffcv
@pytest.mark.parametrize("mode", ["decode", "resize", "crop"])
def test_sizes_change_from_batch_to_batch(mode, cells, beton):
    schedule = fastload.ProgressiveResize(
        total_steps=8, delay=0, finetune=0.25, increment=1, mode=mode
    )
    ours, native = pair(
        beton(cells), [RandomResizedCrop(31)], size_schedule=schedule, num_workers=1
    )
    for _ in range(2):
        found = list(ours)
        same(found, native)
    assert len({images.shape for images, _ in found}) > 2


@needs_ffcv
def test_two_epochs_at_once_and_one_that_is_dropped(cells, beton):
    ours, native = pair(beton(cells), MEDIUM, num_workers=1)
    both = list(zip(ours, ours, strict=True))
    same([first for first, _ in both], native)
    same([second for _, second in both], native)
    before = threading.active_count()
    iterator = iter(ours)
    next(iterator)
    assert threading.active_count() > before
    del iterator
    gc.collect()
    assert until(
        lambda: threading.active_count() == before
    )  # dropping it waits for none of its threads


@needs_ffcv
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda jpeg: (*jpeg[:1], jpeg[1][: len(jpeg[1]) // 2], *jpeg[2:]),
            "cannot be decoded (image file is truncated",
        ),
        (
            lambda jpeg: ("jpg", b"no image at all", *jpeg[2:]),
            "cannot be decoded (cannot identify image file",
        ),
        (lambda jpeg: (*jpeg[:2], jpeg[2] + 1, jpeg[3]), "is 55x56 px, and its row says 56x56"),
    ],
    ids=["cut off", "text", "another size"],
)
def test_what_ffcv_passes_over_is_named(spoil, reason, cells, beton):
    cells[5] = spoil(cells[5])
    path = beton(cells)
    ours, _ = pair(path, CROPS, num_workers=1)
    batches = iter(ours)
    next(batches)
    with pytest.raises(SampleError) as found:
        next(batches)
    assert str(found.value).startswith(f"{path}[5], sample 5: {reason}")
    assert len(list(batches)) == 2  # the epoch goes on


@needs_ffcv
def test_a_file_that_is_cut_off_in_an_epoch(cells, beton):
    path = beton(cells)
    ours, _ = pair(path, CROPS, batch_size=1, num_workers=1, prefetch_factor=1)
    batches = iter(ours)
    next(batches)
    assert path not in Path("/proc/self/maps").read_text()  # a mapped file would end the process
    os.truncate(path, 8192)
    found = []
    for _ in cells[1:]:
        try:
            next(batches)
        except SampleError as error:
            found.append(str(error))
    assert len(found) >= 9  # of 12; some were made before, or lie in front
    reason = r"cannot be read \(ends at byte (\d+) \(want bytes \1\.\.\d+\)\)"
    assert re.fullmatch(rf"{path}\[12\], sample 12: {reason}", found[-1])


@needs_ffcv
def test_what_is_raised_in_ffcvs_thread_arrives(cells, beton, monkeypatch):
    ours, _ = pair(beton(cells), CROPS, num_workers=1)

    def fail(self, *_):
        raise MemoryError("no records")

    monkeypatch.setattr(ffcv.Runner, "draw", fail)
    with pytest.raises(MemoryError, match="no records"):
        next(iter(ours))
    monkeypatch.undo()
    assert len(list(ours)) == 4
