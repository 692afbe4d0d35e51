"""Batches whose length follows the images' size."""

import pytest

import fastload
from fastload.errors import PipelineError, UsageError
from fastload.progressive import ProgressiveResize, Ramp

NO_SIZES = (
    "PixelBatchSampler: schedule gives no size per epoch (want one that counts epochs); "
    "use total_epochs"
)


def sampler(schedule, **options):
    return fastload.PixelBatchSampler(range(1000), schedule, 224, 64, **options)


def test_the_number_of_pixels_stays_about_the_same():
    lengths = {size: sampler([size]).at(0) for size in (112, 128, 160, 176, 200, 224)}
    assert lengths == {112: 256, 128: 192, 160: 120, 176: 96, 200: 80, 224: 64}
    for size, length in lengths.items():
        pixels = length * size * size / (64 * 224 * 224)
        assert 1 - 8 / length < pixels <= 1


def test_larger_images_come_in_smaller_batches():
    assert [sampler([size]).at(0) for size in (256, 448, 4096)] == [48, 16, 1]
    assert sampler([223]).at(0) == 64  # a hair smaller is no reason for a smaller batch
    assert sampler([112], multiple=100).at(0) == 200
    assert sampler([112], largest=128).at(0) == 128


def test_every_sample_comes_once_in_its_order():
    found = list(sampler([112, 224]))
    assert [len(batch) for batch in found] == [256, 256, 256, 232]
    assert [sample for batch in found for sample in batch] == list(range(1000))
    assert [len(batch) for batch in sampler([112], drop_last=True)] == [256] * 3


def test_epochs_count_and_can_be_set():
    batches = sampler([112, 160, 224])
    lengths = []
    for _ in range(4):
        expected = len(batches)
        lengths.append([len(batch) for batch in batches])
        assert len(lengths[-1]) == expected
    assert [each[0] for each in lengths] == [256, 120, 64, 64]
    batches.set_epoch(1)
    assert len(next(iter(batches))) == 120


def test_the_inner_sampler_hears_of_the_epoch():
    inner = fastload.ShuffleSampler(1000, seed=3)
    batches = fastload.PixelBatchSampler(inner, Ramp(128, 224, 1, 4), 224, 50)
    batches.set_epoch(2)
    first = next(iter(batches))
    other = fastload.ShuffleSampler(1000, seed=3)
    other.set_epoch(2)
    assert first == list(other)[: len(first)]


@pytest.mark.parametrize("epoch", [-1, "2"])
def test_epochs_count_from_0(epoch):
    with pytest.raises(UsageError) as caught:
        sampler([112]).set_epoch(epoch)
    assert str(caught.value) == (
        f"PixelBatchSampler.set_epoch: epoch is {epoch!r}, want a whole number from 0 to "
        "4294967295; epochs count from 0"
    )


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((None, 224, 64), UsageError, NO_SIZES),
        ((ProgressiveResize(total_steps=5), 224, 64), UsageError, NO_SIZES),
        (([96], 0, 64), UsageError, "PixelBatchSampler: full is 0, want a whole number from 1"),
        (([96], 224, 2.0), UsageError, ("PixelBatchSampler: batch_size is 2.0, want a whole number "
                                       "from 1")),
        (([0], 224, 64), PipelineError, ("size_schedule: epoch 0: size is 0, want a whole number "
                                        "from 1 to 16384 px")),
    ],
)  # fmt: skip
def test_what_makes_no_batches_is_refused(arguments, kind, text):
    with pytest.raises(kind) as caught:
        fastload.PixelBatchSampler(range(10), *arguments)
    assert str(caught.value) == text


def test_largest_is_at_least_a_batch():
    with pytest.raises(UsageError) as caught:
        sampler([96], largest=63)
    assert str(caught.value) == "PixelBatchSampler: largest is 63, want a whole number from 64"
