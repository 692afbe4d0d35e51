"""Batches are handed over before their pixels are there. What comes of those whose job cannot go on
by itself: the batches are those of a loader without workers, which makes each at once.
"""

import threading
import time

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import transforms as T
from fastload.engine import feeding
from fastload.engine.flight import LOOK_AGAIN

COUNT, SIZE = 40, 4
OPS = [T.RandomResizedCrop((24, 32)), T.RandomHorizontalFlip(), T.ToImage()]


def folder_of(root, irregular=()):
    """Non-square JPEGs; those at `irregular` places of the order only Pillow decodes."""
    rng = np.random.Generator(np.random.Philox(3))
    path = root / "class"
    path.mkdir(parents=True)
    for number in range(COUNT):
        image = Image.fromarray(rng.integers(0, 256, (5, 7, 3), np.uint8)).resize((60, 47))
        image = image.convert("CMYK") if number in irregular else image
        image.save(path / f"{number:02d}.jpg", quality=90)
    return str(root)


def made(folder, workers, ops=OPS, **given):
    return fastload.DataLoader(
        fastload.open(folder, list(ops)), SIZE, seed=5, num_workers=workers, backend="native",
        seek_index="off", **given,
    )  # fmt: skip


def same(native, inline):
    count = 0
    for one, other in zip(native, inline, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
        count += 1
    return count


@pytest.mark.parametrize(
    "irregular",
    [(), range(COUNT), (3, 21, 30), (COUNT - 1,), range(12, 24)],
    ids=["none", "all", "some", "the last", "a stretch"],
)
@pytest.mark.parametrize("timeout", [0, 30])
def test_batches_are_the_same_whatever_comes_back(tmp_path, irregular, timeout):
    folder = folder_of(tmp_path / "images", irregular)
    native, inline = made(folder, 2, timeout=timeout), made(folder, 0)
    for _ in range(2):
        assert same(native, inline) == COUNT // SIZE


def test_jobs_are_waited_for_once_one_has_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(feeding, "WATCHED", 2)
    # Of an order that is not known the feeder is asked for one batch at a time
    native = made(folder_of(tmp_path / "images", (8,)), 2, sampler=list(range(COUNT)))
    for _ in native:  # which records
        pass
    found, goes_on = [], feeding._goes_on

    def noted(feed, begun):  # in the feeder
        found.append(feed.watched)
        return goes_on(feed, begun)

    monkeypatch.setattr(feeding, "_goes_on", noted)
    for _ in native:
        pass
    assert found[0] == 0
    assert max(found) == 2
    assert found[-1] == 0


def test_all_that_was_asked_for_is_ready_in_time(tmp_path):
    """`ready` counts a batch whose job came back once it is made anew: the feeder looks for these
    with each request, however late they come back.
    """
    native = made(folder_of(tmp_path / "images", range(COUNT)), 2)
    for _ in native:
        pass
    epoch = iter(native)
    batches, end = epoch._batches, time.monotonic() + 20
    next(epoch)
    while batches.ready < batches.pending - 1 and time.monotonic() < end:
        batches.feed.requests.put(LOOK_AGAIN)
        time.sleep(0.002)
    assert batches.ready >= batches.pending - 1


def test_what_is_begun_is_started_though_the_feeder_is_to_look_again(tmp_path, monkeypatch):
    """That request brings no batch, so those at the end of an epoch would wait for another."""
    begun = feeding._begun

    def and_look(engine, feed, *rest):
        made = begun(engine, feed, *rest)
        feed.requests.put(LOOK_AGAIN)
        return made

    monkeypatch.setattr(feeding, "_begun", and_look)
    folder = folder_of(tmp_path / "images", range(COUNT))
    native, inline = made(folder, 2, timeout=30), made(folder, 0)
    for _ in range(2):
        assert same(native, inline) == COUNT // SIZE


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_one_channel_is_taken_of_pixels_that_are_there(tmp_path, dtype):
    """It is copied, so not before."""
    ops = [*OPS[:1], T.Grayscale(1), T.ToImage(), T.ToDtype(dtype, scale=True)]
    folder = folder_of(tmp_path / "images")
    native, inline = made(folder, 1, ops), made(folder, 0, ops)
    for _ in range(2):
        assert same(native, inline) == COUNT // SIZE


def test_an_error_on_the_way_to_the_second_start_is_the_batchs(tmp_path):
    folder = folder_of(tmp_path / "images")
    (tmp_path / "images" / "class" / "22.jpg").write_bytes(b"\xff\xd8 no image")
    native, errors = made(folder, 2), []
    for _ in range(2):
        epoch = iter(native)
        for step in range(COUNT // SIZE):
            try:
                next(epoch)
            except fastload.SampleError as error:
                errors.append((step, error.index))
    assert errors == [(5, 22)] * 2


def test_a_feeder_without_memory_is_said_while_a_batch_is_to_be_started_again(
    tmp_path, monkeypatch
):
    native = made(folder_of(tmp_path / "images", (COUNT - 1,)), 2)
    for _ in native:
        pass

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(feeding, "_look", fail)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with pytest.raises(fastload.HostMemoryError, match="fastload-feeder has ended"):
        for _ in native:
            pass
