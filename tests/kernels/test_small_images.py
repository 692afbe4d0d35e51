"""Small raw images: not fetched, and made several at a time."""

import ctypes
import threading
import time

import numpy as np
import pytest

from fastload import _native as native
from tests.waiting import until

from .helpers import HEIGHT, WIDTH, picture, whole
from .leases import unopened
from .test_pixel_array import fetched, in_memory, made

SMALL, LARGE = (20, 30), (97, 97)  # px: the second is more than a small one may have


def run(job, out):
    job.run([picture(whole(job.sizes, HEIGHT, WIDTH), "box", None, out, HEIGHT, WIDTH, True)])


def outs(count):
    return np.zeros((count, HEIGHT, WIDTH, 3), np.uint8)


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 50])
def test_every_one_is_made_and_counted(threads, count):
    array, pool, out = made((count, *SMALL), "rows"), native.Pool(threads), outs(count)
    job = fetched(pool, in_memory(array), array.shape)
    job.wait_fetched()
    assert job.sizes.tolist() == [list(SMALL)] * count
    run(job, out)
    assert job.wait_done()
    assert out.any(axis=(1, 2, 3)).all()
    stats = pool.stats()
    assert stats["read"] == (0, 0, 0)
    assert [stats[stage][0] for stage in ("decode", "resize", "store")] == [count] * 3


def test_reading_raw_pixels_is_no_task_of_its_own():
    """Where a pool has no threads, whoever waits does its tasks."""
    array = made((40, *SMALL), "rows")
    pool = native.Pool(0)
    job = fetched(pool, in_memory(array), array.shape)
    assert job.done
    run(job, outs(40))
    assert not job.done


@ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_int64
)
def leaves(*_):
    """A user's function that changes nothing."""
    return 0


def calling(count):
    """Programs of `count` images, and the function that they call."""
    rows = np.zeros((count, 1, 13))
    rows[:, :, 0] = native.INSTRUCTIONS.index("Custom")
    address = ctypes.cast(leaves, ctypes.c_void_p).value
    return {"programs": rows, "functions": native.Functions([(address, 0)], leaves)}


@pytest.mark.parametrize(
    ("size", "views", "steps", "at_once"),
    [(SMALL, 1, {}, 16), (LARGE, 1, {}, 1), (SMALL, 2, {}, 1), (SMALL, 1, calling(40), 1)],
)
def test_only_small_ones_of_one_picture_are_made_several_at_a_time(
    tmp_path, size, views, steps, at_once
):
    """What waits for the first image is what its thread has taken with it."""
    array = made((40, *size), "rows")
    for name, part in (("first", array[:1]), ("others", array[1:])):
        (tmp_path / name).write_bytes(part.tobytes())
    pool, numbers, each = native.Pool(2), np.arange(40), size[0] * size[1] * 3
    files = native.Files([str(tmp_path / name) for name in ("first", "others")], False)
    job = pool.fetch(
        files, np.minimum(numbers, 1), np.maximum(numbers - 1, 0) * each, np.full(40, each), None,
        raw=np.full((40, 2), size, np.int32),
    )  # fmt: skip
    crops, several = whole(job.sizes, HEIGHT, WIDTH), [outs(40) for _ in range(views)]
    with unopened(tmp_path / "first"):
        job.run([picture(crops, "box", None, out, HEIGHT, WIDTH, True, **steps) for out in several])
        want = list(range(at_once, 40))
        there = lambda: np.flatnonzero(several[-1].any(axis=(1, 2, 3))).tolist()  # noqa: E731
        assert until(lambda: there() == want and len(pool.running()) == 1)
        assert pool.running()[0][1] == f"makes {tmp_path / 'first'}"
        assert not job.done
    assert job.wait_done()
    assert all(out.any(axis=(1, 2, 3)).all() for out in several)


def test_the_time_of_one_in_seventeen_stands_for_all():
    """The sum is as long as the work takes, within what clocks and other programs do to it."""
    array, pool, out = made((64, 90, 90), "every other"), native.Pool(0), outs(64)
    source = in_memory(array)
    begun = time.thread_time_ns()
    for _ in range(60):
        job = fetched(pool, source, array.shape)
        run(job, out)
        job.wait_done()
    spent = time.thread_time_ns() - begun
    stats = pool.stats()
    counted = sum(cpu for _, _, cpu in stats.values())
    assert stats["store"][0] == 60 * 64
    assert spent / 2 < counted < 1.5 * spent


def test_one_that_cannot_be_read_leaves_the_others_alone(tmp_path):
    array = made((20, *SMALL), "rows")
    (tmp_path / "raw").write_bytes(array[:18].tobytes())
    pool, out = native.Pool(1), outs(20)
    job = fetched(pool, native.Files([str(tmp_path / "raw")], True), array.shape)
    run(job, out)
    assert not job.wait_done()
    assert job.status.tolist() == [native.OK] * 18 + [native.FAILED] * 2
    size = SMALL[0] * SMALL[1] * 3
    assert job.message(18) == (
        f"cannot be read (ends at byte {18 * size} (want bytes {18 * size}..{19 * size}))"
    )
    assert out[:18].any(axis=(1, 2, 3)).all()
    assert not out[18:].any()


def test_a_dropped_job_writes_nothing_more():
    array = made((4096, *SMALL), "planes")
    source, pool = in_memory(array), native.Pool(2)
    for _ in range(5):
        job, out = fetched(pool, source, array.shape), outs(4096)
        run(job, out)
        del job
        before = out.copy()
        time.sleep(0.005)
        np.testing.assert_array_equal(out, before)


def test_many_threads_share_them():
    array = made((500, *SMALL), "planes")
    source, pool, results = in_memory(array), native.Pool(2), []

    def batch():
        job, out = fetched(pool, source, array.shape), outs(500)
        run(job, out)
        assert job.wait_done()
        results.append(out)

    threads = [threading.Thread(target=batch) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert until(lambda: not any(thread.is_alive() for thread in threads), hangs=60.0)
    assert len(results) == 6
    assert len({out.tobytes() for out in results}) == 1
