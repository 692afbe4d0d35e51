"""Size schedules: the sizes of the libraries that define them, and every problem at once."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastload import ProgressiveResize
from fastload.errors import PipelineError, UsageError
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.progressive import ByFunction, PerEpoch, Ramp, schedule
from fastload.sources import FileSource
from fastload.transforms import (
    CenterCrop,
    ColOut,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    Resize,
    ToTensor,
)
from fastload.transforms.batch_resize import BatchCrop, BatchResize, nearest

SOURCE = FileSource("data", ("data/a/0.jpg",), np.zeros(1, np.int64), ("a",))
SHARES = (0, 0.3, 0.5, 0.6, 0.7, 0.8)
TRAIN = (RandomResizedCrop(64), ToTensor())


def planned(ops, how):
    return plan(Pipeline(SOURCE, ops), "exact", schedule(how))


def problems(ops, how):
    with pytest.raises(PipelineError) as caught:
        planned(ops, how)
    return list(caught.value.problems)


def resized(side, factor):
    """Numbers of the px that torch keeps of a row of `side`."""
    row = torch.arange(side, dtype=torch.float32)[None, None, None]
    return torch.nn.functional.interpolate(
        row, scale_factor=(1, factor), mode="nearest", recompute_scale_factor=False
    )[0, 0, 0]


# (full size, scale, delay, finetune): sizes at SHARES, as Composer 0.7.1's "resize" makes them, and
# as they are decoded.
VECTORS = [
    (176, 0.5, 0.4, 0.2, (88, 88, 112, 132, 152, 176), (88, 88, 112, 132, 152, 176)),
    (167, 0.6, 0.2, 0.2, (99, 112, 132, 144, 156, 167), (100, 112, 132, 144, 156, 167)),
    (224, 0.5, 0.5, 0.2, (112, 112, 112, 148, 188, 224), (112, 112, 112, 148, 188, 224)),
]


@pytest.mark.parametrize(("full", "scale", "delay", "finetune", "composers", "ours"), VECTORS)
def test_composers_sizes(full, scale, delay, finetune, composers, ours):
    how = ProgressiveResize(10, scale=scale, delay=delay, finetune=finetune, mode="resize")
    found = [how.size(full, round(10 * share)) for share in SHARES]
    assert tuple(found) == ours
    kept = [
        full if size == full else BatchResize(size / full).kept(full, full)[1] for size in found
    ]
    assert tuple(kept) == composers


@pytest.mark.parametrize(
    ("full", "size", "kept"), [(176, 60, 59), (176, 120, 119), (167, 100, 99), (176, 88, 88)]
)
def test_a_side_may_come_out_one_smaller(full, size, kept):
    assert BatchResize(size / full).kept(full, 2 * full) == (kept, int(2 * full * (size / full)))
    assert BatchCrop(size / full).kept(full, full) == (kept, kept)
    assert len(resized(full, size / full)) == kept


@given(st.integers(2, 400).flatmap(lambda full: st.tuples(st.just(full), st.integers(1, full - 1))))
def test_a_resize_takes_the_px_that_torch_takes(sides):
    full, size = sides
    kept = BatchResize(size / full).kept(full, full)[0]
    if kept:
        np.testing.assert_array_equal(
            nearest(kept, full, size / full), resized(full, size / full).numpy()
        )


@given(
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1, exclude_max=True),
    st.integers(2, 300),
    st.integers(2, 300),
    st.floats(0.3, 0.99),
)
def test_a_crop_is_a_window_that_never_reaches_the_last_row(top, left, height, width, factor):
    op = BatchCrop(factor)
    rows, columns = op.kept(height, width)
    record = op.params(np.array([[top, left]]), np.array([[height, width]] * 3, np.int32)).records
    assert record.shape == (3, rows + columns)
    assert (record == record[0]).all()
    for window, full in ((record[0, :rows], height), (record[0, rows:], width)):
        assert (np.diff(window) == 1).all()
        assert not len(window) or (window[0] >= 0 and window[-1] < full - 1)


@given(
    st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 64), st.integers(1, 512)
)
def test_sizes_rise_to_the_full_size(scale, delay, finetune, increment, full):
    how = ProgressiveResize(
        20, scale=scale, delay=delay * (1 - finetune), finetune=finetune, increment=increment
    )
    sizes = [how.size(full, epoch) for epoch in range(25)]
    assert sizes == sorted(sizes)
    assert all(0 <= size <= full and (size % increment == 0 or size == full) for size in sizes)
    assert how.known(full) == (sizes[0], full)


def test_without_a_ramp_the_size_jumps():
    how = ProgressiveResize(10, scale=0.5, delay=0.5, finetune=0.5)
    assert [how.size(64, epoch) for epoch in (0, 4, 5, 9, 20)] == [32, 32, 64, 64, 64]


def test_steps_count_over_epochs():
    how = ProgressiveResize(total_steps=20, delay=0, finetune=0, increment=8)
    assert [how.size(64, epoch, step, 5) for epoch in range(2) for step in range(5)] == [
        32,
        32,
        32,
        40,
        40,
        40,
        40,
        40,
        48,
        48,
    ]


# Source: libffcv/ffcv-imagenet, rn50 configs: (start, end) of 16 to 88 epochs, and the first epoch
# (from 0) at 192.
@pytest.mark.parametrize(
    ("start", "end", "first"),
    [(11, 13, 12), (17, 20, 19), (23, 27, 25), (29, 34, 32), (41, 48, 45), (65, 76, 71)],
)
def test_ffcvs_ramp(start, end, first):
    how = Ramp(160, 192, start, end)
    sizes = [how.size(224, epoch) for epoch in range(end + 3)]
    assert sizes == [160] * first + [192] * (end + 3 - first)
    assert set(sizes) <= set(how.known(224))


def test_lists_and_functions():
    assert [PerEpoch((32, 48)).size(64, epoch) for epoch in (0, 1, 2, 9)] == [32, 48, 48, 48]
    assert schedule([32, 48]) == PerEpoch((32, 48))
    assert schedule(None) is None
    assert isinstance(schedule(lambda epoch: 32 + epoch), ByFunction)
    with pytest.raises(UsageError) as caught:
        schedule(7)
    want = (
        "want ProgressiveResize, progressive.Ramp, a list of sizes per epoch or a function of "
        "the epoch"
    )
    assert str(caught.value) == f"DataLoader: size_schedule is 7, {want}"


def test_every_size_of_crop_follows():
    found = planned(
        (
            Resize(72, max_size=300),
            CenterCrop(64),
            RandomHorizontalFlip(),
            ToTensor(),
            ColOut(0.25, 0.125),
        ),
        [32],
    )
    small = found.at(32)
    assert [getattr(step.op, "size", None) for step in small.steps] == [
        36,
        (32, 32),
        None,
        None,
        None,
    ]
    assert (small.ops[0].max_size, found.out.height, found.out.width) == (150, 48, 56)
    assert (small.out.height, small.out.width, small.out.dtype) == (24, 28, "float32")
    assert [step.number for step in small.steps] == [step.number for step in found.steps]


def test_other_modes_change_the_finished_batch():
    found = planned(
        (RandomResizedCrop((64, 80)), ToTensor(), ColOut(0.25, 0)),
        ProgressiveResize(9, mode="crop"),
    )
    assert (found.full, found.at(40).out.height, found.at(40).out.width) == (80, 24, 40)
    with pytest.raises(PipelineError) as caught:
        found.at(81)
    assert (
        str(caught.value)
        == "size_schedule: size is 81, want up to 80 px; only mode 'decode' makes images larger"
    )


SIZE = "want a whole number from 1 to 16384 px"


@pytest.mark.parametrize(
    ("how", "texts"),
    [
        (
            ProgressiveResize(scale=0, delay=0.9, finetune=0.2, increment=0, mode="zoom"),
            [
                "0 of total_epochs and total_steps are given, want exactly one",
                "scale is 0, want above 0 and up to 1",
                "delay + finetune is 1.1, want at most 1",
                "increment is 0, want a whole number from 1",
                "mode is 'zoom', want one of decode, resize, crop",
            ],
        ),
        (
            ProgressiveResize(0, 1.5, scale=1.1, delay=-1, finetune=float("nan"), increment=True),
            [
                "2 of total_epochs and total_steps are given, want exactly one",
                "total_epochs is 0, want a whole number from 1",
                "total_steps is 1.5, want a whole number from 1",
                "scale is 1.1, want above 0 and up to 1",
                "delay is -1, want 0 to 1",
                "finetune is nan, want 0 to 1",
                "increment is True, want a whole number from 1",
            ],
        ),
        (ProgressiveResize(9, scale=0.2, increment=32), [f"size is 0, {SIZE}"]),
        (Ramp(0, 16385, 5, 4), [
            f"min_res is 0, {SIZE}", f"max_res is 16385, {SIZE}", ("start is 5 and end is 4, want "
                                                                  "0 <= start <= end, in epochs"),
        ]),
        (Ramp(192, 160, 1, 2), ["min_res is 192, want at most max_res (160)"]),
        (Ramp(8, 9, 1, 4), [f"size is 0, {SIZE}"]),
        ([], ["the list is empty, want one size per epoch"]),
        ([64, 0, 32.5, "48"], [f"epoch 1: size is 0, {SIZE}", f"epoch 2: size is 32.5, {SIZE}",
        f"epoch 3: size is 48, {SIZE}"]),
        (lambda epoch: epoch - 1, [f"size is -1, {SIZE}"]),
    ],
)  # fmt: skip
def test_problems_of_schedules(how, texts):
    assert problems(TRAIN, how) == [f"size_schedule: {text}" for text in texts]


def test_problems_of_pipelines():
    instead = "use ProgressiveResize(mode='resize')"
    assert problems(
        (CenterCrop(40), Pad(2), RandomRotation(9), RandomCrop((40, 44), padding=2)), [32]
    ) == [
        (
            "size_schedule: nothing resizes the images, so another size would only cut them; begin "
            f"with Resize, or {instead}"
        ),
        f"size_schedule: op 2 (Pad) has no other size; leave it out, or {instead}",
        f"size_schedule: op 3 (RandomRotation) has no other size; leave it out, or {instead}",
        f"size_schedule: op 4 (RandomCrop) has no other size; leave it out, or {instead}",
        f"size_schedule: CROP ends with 40x44 px, want a square; make it one, or {instead}",
    ]
    assert problems((RandomResizedCrop(0), ToTensor()), []) == [
        "op 1 (RandomResizedCrop): size is (0, 0), want whole numbers from 1 to 16384 px",
        "size_schedule: the list is empty, want one size per epoch",
    ]
    assert problems((RandomResizedCrop(64), ColOut(0.9, 0)), [64, 8, 4]) == [
        (
            "size_schedule: at 8 px, op 2 (ColOut): nothing of 8x8 would be left (p_row 0.9, p_col "
            "0); lower them"
        ),
        (
            "size_schedule: at 4 px, op 2 (ColOut): nothing of 4x4 would be left (p_row 0.9, p_col "
            "0); lower them"
        ),
    ]
    assert problems(
        (RandomResizedCrop((1, 80)), ToTensor()), ProgressiveResize(9, mode="resize")
    ) == [
        (
            "size_schedule: at 40 px, op 3 (BatchResize): nothing of 1x80 would be left (factor "
            "0.5); use larger sizes"
        )
    ]
