"""JPEG regions as the GPU decodes them, by an emulated block: the CPU decoder's and resize's bits,
whoever of the threads comes first.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import _native as native

from .device_helpers import TURNS, crops_of, decode_work, decoded, job_of, on_cpu, packed
from .helpers import FILTERS, jpeg, noise, scene
from .jpeg_writer import Writer
from .test_jpeg_engine import ADOBE_RGB, FACTORS, some_boxes

block = pytest.importorskip(
    "fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES"
)


def check(
    folder, payloads, crops, height, width, *, steps=(8,), filters="bilinear", order="pillow13"
):
    """One sample for each crop, in one batch, all of them by the device; the payloads in turns, so
    are the steps of the indexes.
    """
    count = len(crops)
    repeated = [payloads[n % len(payloads)] for n in range(count)]
    indexes = [native.jpeg_index(data, steps[n % len(steps)]) for n, data in enumerate(repeated)]
    want = on_cpu(job_of(folder, repeated, [b""] * count), crops, filters, height, width, order)
    found, flags, reasons = decoded(
        block, job_of(folder, repeated, indexes), crops, height, width, filters, order
    )
    assert (reasons, flags) == ([""] * count, dict.fromkeys(range(count), 0))
    for n, (one, other) in enumerate(zip(found, want, strict=True)):
        np.testing.assert_array_equal(one, other, err_msg=f"{n}: {crops[n].tolist()}")


def regions(payload, rng, count):
    """Boxes that are not resized, in crops of one size that they need not fill, some of them
    flipped.
    """
    _, height, width, _, _ = native.probe(payload)
    boxes = some_boxes(height, width, rng, count)
    crops = crops_of(boxes, 1, 1)
    crops[:, 4:6] = crops[:, 2:4]
    crops[::2, 8] = 1
    return crops, height, width


@pytest.mark.parametrize("name", FACTORS)
def test_every_sampling(tmp_path, name):
    """Whole images, single px at the edges, any boxes; sizes of one MCU, of less and of many."""
    rng = np.random.default_rng(2)
    for n in range(12):
        height, width = (int(v) for v in rng.integers(1, 90, 2))
        data = Writer(height, width, FACTORS[name], seed=n, long=n % 2 == 1).encode()
        check(tmp_path, [data], *regions(data, rng, 6), steps=(8, 1, 0, 3))


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_crops_are_resized_and_flipped(tmp_path, sampling):
    """Up and down, each pass first, with both orders of the passes."""
    rng = np.random.default_rng(3)
    payloads = [jpeg(scene(*size), sampling) for size in ((131, 77), (64, 150))]
    for (height, width), filters, order in [
        ((24, 31), "bilinear", "pillow13"),
        ((97, 20), "lanczos", "pillow12"),
        ((7, 120), "box", "pillow13"),
    ]:
        boxes = rng.integers((0, 0, 1, 1), (20, 30, 44, 47), (12, 4)).tolist()
        crops = crops_of(boxes, height, width)
        crops[::3, 8] = 1
        check(tmp_path, payloads, crops, height, width, filters=filters, order=order)


def test_every_filter_in_one_batch(tmp_path):
    payload = jpeg(noise(53, 71), "4:2:0")
    filters = np.array(list(FILTERS.values()) * 2, np.int32)
    crops = crops_of([(3, 5, 40, 50)] * 6 + [(10, 20, 5, 6)] * 6, 17, 29)
    crops[::2, 8] = 1
    check(tmp_path, [payload], crops, 17, 29, filters=filters)


def test_windows_may_reach_beyond_the_image(tmp_path):
    """What the window shows beyond the resized box is black; so are the px that "nearest" rounds
    past the edge.
    """
    payload = jpeg(scene(40, 60), "4:2:0")
    crops = crops_of([(0, 0, 40, 60)] * 6, 40, 60)
    crops[:, 6:8] = [(-5, -7), (-50, 3), (30, 50), (0, 0), (7, -60), (-3, 8)]
    crops[3, 4:6] = 33, 21
    crops[1::2, 8] = 1
    crops[[1, 4], 6:8] = (-20, 3), (7, -30)
    check(tmp_path, [payload], crops, 50, 44)
    check(tmp_path, [payload], crops, 50, 44, filters="nearest")


def test_long_codes_and_wide_quantisers(tmp_path):
    rng = np.random.default_rng(5)
    for n, quant in enumerate(([1] * 64, [255] * 64, [300] + [17] * 63, [16000] * 64)):
        data = Writer(
            40, 55, FACTORS["4:2:0"], seed=n, quant=quant, wide=max(quant) > 255, long=True
        ).encode()
        check(tmp_path, [data], *regions(data, rng, 3))
    dense = Writer(40, 55, FACTORS["4:4:4"], long=True, density=0.9).encode()
    check(tmp_path, [dense], *regions(dense, rng, 3))


def test_colours_that_are_no_ycc(tmp_path):
    rng = np.random.default_rng(6)
    data = Writer(19, 23, FACTORS["4:4:4"], head=ADOBE_RGB).encode()
    check(tmp_path, [data], *regions(data, rng, 2))


def test_images_of_many_groups_of_segments(tmp_path):
    """More segments than a block has threads, and IDCT in several turns."""
    data = jpeg(scene(500, 620), "4:4:4")
    check(
        tmp_path,
        [data],
        crops_of([(0, 0, 500, 620), (100, 90, 300, 400)], 60, 50),
        60,
        50,
        steps=(1, 2),
    )


def test_who_comes_first_does_not_show(tmp_path):
    payloads = [jpeg(scene(70 + n, 90 - 9 * n), ("4:4:4", "4:2:0")[n % 2]) for n in range(4)]
    work = decode_work(
        job_of(tmp_path, payloads, [native.jpeg_index(data, 2) for data in payloads]),
        crops_of([(5, 7, 60, 50)] * 4, 30, 40),
        "bilinear",
        30,
        40,
    )
    work.wait()
    data = packed(work, np.arange(4))
    first = block.decode(data, TURNS[0], 4)[0]
    for order in TURNS[1:]:
        np.testing.assert_array_equal(block.decode(data, order, 4)[0], first)


def test_only_the_places_that_were_chosen_are_written(tmp_path):
    payloads = [jpeg(scene(40, 50, n)) for n in range(5)]
    crops = crops_of([(3, 4, 30, 40)] * 5, 20, 24)
    want = on_cpu(job_of(tmp_path, payloads, [b""] * 5), crops, "bilinear", 20, 24, "pillow13")
    work = decode_work(
        job_of(tmp_path, payloads, [native.jpeg_index(data, 4) for data in payloads]),
        crops,
        "bilinear",
        20,
        24,
    )
    work.wait()
    for chosen in ([1, 3], [4], [0, 1, 2, 3, 4], []):
        out, flags = block.decode(packed(work, np.array(chosen, np.int64)), TURNS[2], 5)
        assert flags.tolist() == [0] * len(chosen)
        np.testing.assert_array_equal(out[chosen], want[chosen])
        assert (out[[n for n in range(5) if n not in chosen]] == block.JUNK).all()


def test_bytes_are_those_under_the_crop(tmp_path):
    """A tenth of the image is sent as about a tenth of the bytes, and never more than the scan."""
    data = jpeg(noise(800, 800), "4:4:4")
    index = native.jpeg_index(data, 4)

    def sent(box):
        work = decode_work(
            job_of(tmp_path, [data], [index]), crops_of([box], 16, 16), "box", 16, 16
        )
        work.wait()
        work.choose(np.zeros(1, np.int64))
        return work.nbytes

    whole = sent((0, 0, 800, 800))
    assert len(data) * 0.98 < whole < len(data) * 1.2
    assert whole * 0.07 < sent((300, 300, 240, 240)) < whole * 0.15


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(sorted(FACTORS)), size=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    step=st.integers(0, 9),
    out=st.tuples(st.integers(1, 50), st.integers(1, 50)), seed=st.integers(0, 1 << 20),
    filters=st.sampled_from(sorted(FILTERS)),
)  # fmt: skip
def test_any_geometry(tmp_path_factory, name, size, step, out, seed, filters):
    rng = np.random.default_rng(seed)
    crops = crops_of(some_boxes(*size, rng, 2), *out)
    crops[:, 4:6] = rng.integers(1, 80, (len(crops), 2))
    crops[:, 6:8] = rng.integers(-3, np.maximum(crops[:, 4:6] - out, 0) + 3)
    crops[:, 8] = rng.integers(0, 2, len(crops))
    seen = (crops[:, 6:8] < crops[:, 4:6]).all(axis=1) & (crops[:, 6:8] + out > 0).all(axis=1)
    data = Writer(*size, FACTORS[name], seed=seed, long=seed % 2 == 1).encode()
    if filters != "nearest" and seen.any():
        check(
            tmp_path_factory.getbasetemp(),
            [data],
            crops[seen],
            *out,
            steps=(step,),
            filters=filters,
        )
