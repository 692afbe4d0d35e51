"""Jobs: what happens to the samples of a batch, and when things go wrong."""

import gc
import weakref

import numpy as np
import pytest
from PIL import Image

from fastload import _native as native
from fastload.transforms.pil import PASS_ORDER

from .helpers import (
    HEIGHT,
    WIDTH,
    encoded,
    fetch,
    files,
    give_foreign,
    jpeg,
    noise,
    one_batch,
    picture,
    pillow,
    run,
    scene,
    table,
    whole,
)  # fmt: skip

LEAVES = "the box leaves the image"


def test_same_bytes_with_any_number_of_threads(batch):
    results = {}
    for threads in (0, 1, 4):
        pool = native.Pool(threads)
        assert pool.threads == threads
        job, results[threads] = one_batch(pool, batch)
        assert job.status.tolist() == [native.OK] * 12
    assert not np.isnan(results[0]).any()
    assert results[0].tobytes() == results[1].tobytes() == results[4].tobytes()


def test_the_pixels_are_crop_resize_and_store_of_the_decoded_image(batch):
    pool = native.Pool(2)
    job, out = one_batch(pool, batch)
    for n in (0, 3, 7, 11):
        image = noise(33, 44, n) if n in (3, 7) else pillow(job.payload(n))
        pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        crop = np.array([0, 0, *image.shape[:2], HEIGHT, WIDTH, 0, 0, 0], np.int32)
        native.crop_resize(np.ascontiguousarray(image), crop, pixels, "bilinear", "scalar")
        np.testing.assert_array_equal(out[n], table()[np.arange(3), pixels].transpose(2, 0, 1))


def test_each_sample_may_have_its_own_filter(batch):
    pool, numbers = native.Pool(2), np.arange(12, dtype=np.int32) % 6
    job = fetch(pool, batch)
    job.wait_fetched()
    give_foreign(job)
    out = np.zeros((12, HEIGHT, WIDTH, 3), np.uint8)
    crops = whole(job.sizes, HEIGHT, WIDTH)
    job.run([picture(crops, numbers, None, out, HEIGHT, WIDTH, True, PASS_ORDER)])
    job.wait_done()
    for n in np.flatnonzero(job.status == native.OK):
        image = noise(33, 44, int(n)) if n == 3 else pillow(job.payload(int(n)))
        want = Image.fromarray(image).resize((WIDTH, HEIGHT), Image.Resampling(int(numbers[n])))
        np.testing.assert_array_equal(out[n], np.asarray(want))
    for wrong, text in (
        (np.full(12, 6, np.int32), r"Job\.run: filter\[0\]: number .*6.*0 to 5"),
        (numbers[:3], r"Job\.run: filter: .*3"),
    ):
        with pytest.raises(ValueError, match=text):
            job.run(
                [
                    picture(
                        whole(job.sizes, HEIGHT, WIDTH),
                        np.ascontiguousarray(wrong),
                        None,
                        out,
                        HEIGHT,
                        WIDTH,
                        True,
                    )
                ]
            )


def test_foreign_samples_wait_for_pixels_and_the_rest_is_not_done_again(batch):
    pool = native.Pool(2)
    job = fetch(pool, batch)
    job.wait_fetched()
    assert job.status.tolist() == [native.OK] * 3 + [native.FOREIGN] + [native.OK] * 8
    assert job.sizes[3].tolist() == [50, 60]
    assert job.message(3) == "bmp: not a JPEG"
    out = np.zeros((12, 3, HEIGHT, WIDTH), np.float32)
    run(job, out)
    assert np.flatnonzero(job.status).tolist() == [3, 7]
    assert job.message(7) == "jpeg: Corrupt JPEG data: premature end of data segment"
    assert not out[[3, 7]].any()
    out[:] = 5
    give_foreign(job)
    assert job.sizes[7].tolist() == [33, 44]
    assert job.message(7) == ""
    run(job, out)
    assert job.status.tolist() == [native.OK] * 12
    assert (out[[0, 1, 2, 4, 5, 6, 8, 9, 10, 11]] == 5).all()
    assert (out[[3, 7]] != 5).any(axis=(1, 2, 3)).all()


def test_failed_reads_and_checksums(tmp_path):
    good, other = jpeg(scene(30, 40)), jpeg(scene(30, 40, 1))
    source = files(tmp_path, [good, other, b"", good])
    (tmp_path / "3.bin").unlink()
    sums = np.array([native.xxh3(good), native.xxh3(good), native.xxh3(b""), 0], np.uint64)
    pool = native.Pool(2)
    job = fetch(pool, source, sums)
    job.wait_fetched()
    assert job.status.tolist() == [native.OK, native.FAILED, native.FOREIGN, native.FAILED]
    got, want = f"{native.xxh3(other):016x}", f"{native.xxh3(good):016x}"
    assert job.message(1) == f"checksum mismatch (got {got}, want {want})"
    assert job.message(2) == "empty file"
    assert job.message(3) == "cannot be read (No such file or directory)"
    assert job.payload(0) == good
    assert job.payload(2) == b""
    out = np.zeros((4, 3, HEIGHT, WIDTH), np.float32)
    run(job, out)
    assert out.any(axis=(1, 2, 3)).tolist() == [True, False, False, False]


def test_ranges_of_one_file(tmp_path):
    parts = [jpeg(scene(20 + n, 30)) for n in range(5)]
    source = files(tmp_path, [b"".join(parts)], keep_open=True)
    size = np.array([len(part) for part in parts])
    pool = native.Pool(2)
    offset = np.cumsum(size) - size
    job = pool.fetch(source, np.zeros(5, int), offset, size, None)
    pool.advise(source, np.zeros(5, int), offset, size)
    job.wait_fetched()
    assert [job.payload(n) for n in range(5)] == parts
    assert job.sizes.tolist() == [[20 + n, 30] for n in range(5)]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32])
@pytest.mark.parametrize("channels_last", [False, True])
def test_every_output(tmp_path, dtype, channels_last):
    image = scene(HEIGHT, WIDTH)
    pool = native.Pool(1)
    job = fetch(pool, files(tmp_path, [jpeg(image), jpeg(image)]))
    job.wait_fetched()
    values = np.arange(768).reshape(3, 256).astype(dtype)
    shape = (2, HEIGHT, WIDTH, 3) if channels_last else (2, 3, HEIGHT, WIDTH)
    for chosen in (values, None) if dtype is np.uint8 else (values,):
        out = np.zeros(shape, dtype)
        job = fetch(pool, files(tmp_path, [jpeg(image), jpeg(image)]))
        job.wait_fetched()
        job.run(
            [
                picture(
                    whole(job.sizes, HEIGHT, WIDTH),
                    "bicubic",
                    chosen,
                    out,
                    HEIGHT,
                    WIDTH,
                    channels_last,
                )
            ]
        )
        job.wait_done()
        want = pillow(jpeg(image)) if chosen is None else values[np.arange(3), pillow(jpeg(image))]
        np.testing.assert_array_equal(out[1] if channels_last else out[1].transpose(1, 2, 0), want)


def test_an_empty_batch(tmp_path):
    for threads in (0, 2):
        pool = native.Pool(threads)
        job = fetch(pool, native.Files([], False))
        job.wait_fetched()
        assert job.sizes.shape == (0, 2)
        run(job, np.zeros((0, 3, HEIGHT, WIDTH), np.float32))


def test_stats_count_samples_and_time(batch):
    pool = native.Pool(2)
    one_batch(pool, batch)
    stats = pool.stats()
    assert {stage: found[0] for stage, found in stats.items()} == {
        "read": 12,
        "decode": 12,
        "resize": 12,
        "augment": 0,
        "store": 12,
    }
    assert stats.pop("augment") == (0, 0, 0)  # no programs were given
    for _, wall, cpu in stats.values():
        assert 0 < cpu < 10**10
        assert 0 < wall < 10**10


def test_arrays_stay_alive_while_tasks_use_them_and_not_longer(tmp_path):
    class Memory(np.ndarray):
        pass  # a plain ndarray has no weak references

    pool = native.Pool(1)
    job = fetch(pool, files(tmp_path, [encoded(noise(9, 8), "BMP")]))
    job.wait_fetched()
    pixels, out = (
        noise(50, 60).view(Memory),
        np.zeros((1, 3, HEIGHT, WIDTH), np.float32).view(Memory),
    )
    alive = weakref.ref(pixels), weakref.ref(out)
    job.set_pixels(0, pixels)
    job.run([picture(whole(job.sizes, HEIGHT, WIDTH), "box", table(), out, HEIGHT, WIDTH, False)])
    del pixels, out
    assert all(ref() is not None for ref in alive)
    job.wait_done()
    assert alive[1]() is None
    del job
    gc.collect()
    assert alive[0]() is None


def test_asking_too_early_is_refused(tmp_path):
    pool = native.Pool(0)  # so that nothing happens before the wait
    job = fetch(pool, files(tmp_path, [jpeg(scene(30, 40))]))
    for ask, name in [(lambda: job.status, "Job.status"), (lambda: job.payload(0), "Job.payload")]:
        with pytest.raises(RuntimeError) as error:
            ask()
        assert str(error.value) == f"{name}: tasks are still running; wait first"


def test_bad_arguments_are_refused(tmp_path):
    pool = native.Pool(0)
    source = files(tmp_path, [jpeg(scene(30, 40))])
    job = fetch(pool, source)
    job.wait_fetched()
    good = whole(job.sizes, HEIGHT, WIDTH)
    out, one = np.zeros((1, 3, HEIGHT, WIDTH), np.float32), np.zeros(1, int)
    outside = good.copy()
    outside[0, 0] = 1

    def start(crops, values, height):
        return job.run([picture(crops, "box", values, out, height, WIDTH, False)])

    cases = [
        (lambda: start(good[:, :8].copy(), table(), HEIGHT),
        "Job.run: crops: shape (got [1, 8], want [1, 9])"),
        (lambda: start(good, table(), 9),
        "Job.run: out: shape (got [1, 3, 24, 31], want [1, 3, 9, 31])"),
        (lambda: start(good, None, HEIGHT),
        "Job.run: out: dtype without a table (got float32, want uint8)"),
        (lambda: start(good, table(), 0), f"Job.run: size (got 0x{WIDTH}, want 1 px or more)"),
        (lambda: run(job, out, crops=outside),
        f"Job.run: crops[0]: {LEAVES} (got top 1, left 0, size 30x40, want a box inside 30x40)"),
        (lambda: job.set_pixels(0, noise(4, 4)[..., :2].copy()),
        "Job.set_pixels: pixels: shape (got [4, 4, 2], want [any, any, 3])"),
        (lambda: pool.fetch(source, one + 1, one, one, None),
        "Pool.fetch: file[0]: no such file (got 1, want 0..0)"),
        (lambda: pool.fetch(source, one, one - 1, one, None),
        "Pool.fetch: offset[0]: negative (got -1, want 0 or more)"),
        (lambda: pool.fetch(source, one, one, one - 2, None),
        "Pool.fetch: size[0]: negative (got -2, want -1 or more)"),
        (lambda: pool.fetch(source, one, one, np.zeros(2, int), None),
        "Pool.fetch: size: shape (got [2], want [1])"),
    ]  # fmt: skip
    for call, text in cases:
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == text
    run(job, out)  # after all that the job still works
    assert out.any()


def test_a_sample_that_is_not_there_has_no_message(tmp_path):
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, [jpeg(scene(30, 40))]))
    job.wait_fetched()
    with pytest.raises(IndexError) as index:
        job.message(1)
    assert str(index.value) == "Job.message: no such sample (got 1, want 0..0)"


def test_a_wait_may_be_limited(batch):
    pool = native.Pool(0)  # nothing runs but in a wait
    job = fetch(pool, batch)
    assert not job.done
    assert not job.wait(0)
    assert not job.wait(-1)
    assert not job.wait(float("nan"))
    assert not job.done
    assert job.wait(60)
    assert job.done
    assert job.wait(0)
