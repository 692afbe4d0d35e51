"""A job with several pictures of each sample: each as if it were made alone, and decoded as seldom
as pays.
"""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import encoded, fetch, files, jpeg, noise, picture, scene, table

SHAPES = ((61, 93), (200, 75), (48, 160), (33, 33))
COUNT = 8
LEFT, RIGHT, ALL, NOTHING = (
    (0.1, 0.0, 0.3, 0.2),
    (0.5, 0.7, 0.4, 0.3),
    (0, 0, 1, 1),
    (0.2, 0.2, 0.5, 0.5),
)


@pytest.fixture
def payloads():
    return [
        jpeg(scene(*SHAPES[n % 4], n), ("4:4:4", "4:2:0", "4:2:2")[n % 3]) for n in range(COUNT)
    ]


def crops_of(sizes, shares, size, window=0):
    out = np.zeros((len(sizes), 9), np.int32)
    out[:, :4] = np.tile(sizes, 2) * np.array(shares)
    out[:, 2:4] = np.maximum(out[:, 2:4], 1)
    out[:, 4:6] = size
    out[:, 6] = window
    return out


# crop, output size, table, channels_last; the last window shows nothing of its image
PICTURES = [
    (crops_of, LEFT, (24, 20), False, True, 0), (crops_of, RIGHT, (9, 31), True, False, 0),
    (crops_of, ALL, (40, 17), False, False, 3), (crops_of, NOTHING, (8, 5), True, True, 99),
]  # fmt: skip


def run(job, pictures):
    outs, works = [], []
    for make, shares, (height, width), looked_up, last, window in pictures:
        shape = (len(job), height, width, 3) if last else (len(job), 3, height, width)
        outs.append(np.zeros(shape, np.float32 if looked_up else np.uint8))
        crops, values = (
            make(job.sizes, shares, (height, width), window),
            table() if looked_up else None,
        )
        works.append(picture(crops, "bilinear", values, outs[-1], height, width, last))
    job.run(works)
    job.wait_done()
    return outs


def begin(tmp_path, payloads, *, index):
    source = files(tmp_path, payloads)
    if not index:
        return native.Pool(2), source, None
    (tmp_path / "seek").write_bytes(
        b"".join(blobs := [native.jpeg_index(data, 8) for data in payloads])
    )
    sizes = np.array([len(blob) for blob in blobs], np.int64)
    seek = (
        native.Files([str(tmp_path / "seek")], True),
        np.zeros(COUNT, np.int64),
        np.cumsum(sizes) - sizes,
        sizes,
    )
    return native.Pool(2), source, seek


def made(tmp_path, payloads, pictures, *, index):
    pool, source, seek = begin(tmp_path, payloads, index=index)
    job = pool.fetch(
        source, np.arange(COUNT), np.zeros(COUNT, int), np.full(COUNT, -1), None, seek=seek
    )
    job.wait_fetched()
    outs = run(job, pictures)
    assert job.status.tolist() == [native.OK] * COUNT
    return outs, pool.ways()


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (0, 1), (1, 1, 0), (3,)])
def test_each_picture_is_as_if_made_alone(tmp_path, payloads, order, index):
    together, _ = made(tmp_path, payloads, [PICTURES[n] for n in order], index=index)
    for place, found in zip(order, together, strict=True):
        (alone,), _ = made(tmp_path, payloads, [PICTURES[place]], index=False)
        np.testing.assert_array_equal(found, alone)


def window(top, left, flip, height=31):
    """A picture of one resize: FiveCrop's and TenCrop's are such. Its table is its own."""

    def make(sizes, shares, size, _):
        crops = crops_of(sizes, shares, (height, 29))
        crops[:, 6:9] = top, left, flip
        return crops

    return make, LEFT if height == 30 else ALL, (24, 20), bool(flip), not left, 0


CORNERS = [window(0, 0, 0), window(0, 9, 0), window(7, 0, 1), window(7, 9, 1), window(3, 4, 0)]
OTHERS = [window(8, 0, 0), window(-1, 0, 0), window(0, 0, 0, height=30)]


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("pictures", [CORNERS, CORNERS[:2], *([*CORNERS, one] for one in OTHERS)])
def test_windows_of_one_resize_are_as_if_made_alone(tmp_path, payloads, pictures, index):
    together, _ = made(tmp_path, payloads, pictures, index=index)
    for one, found in zip(pictures, together, strict=True):
        np.testing.assert_array_equal(found, made(tmp_path, payloads, [one], index=False)[0][0])
        assert found.any()


def test_without_an_index_an_image_is_decoded_once(tmp_path, payloads):
    assert made(tmp_path, payloads, PICTURES, index=False)[1]["whole"] == COUNT


def test_with_an_index_crops_that_lie_apart_are_decoded_apart(tmp_path, payloads):
    assert made(tmp_path, payloads, PICTURES[:2], index=True)[1]["indexed"] == 2 * COUNT
    assert (
        made(tmp_path, payloads, PICTURES[1:3], index=True)[1]["indexed"] == COUNT
    )  # one holds the other


@pytest.fixture
def pool():
    return native.Pool(0)


def test_pixels_that_are_given_serve_every_picture(tmp_path, pool):
    pixels = noise(33, 44)
    source = files(tmp_path, [encoded(pixels, "BMP")])
    job = fetch(pool, source)
    job.wait_fetched()
    assert job.status.tolist() == [native.FOREIGN]
    job.set_pixels(0, pixels)
    for (make, shares, size, looked_up, last, window), found in zip(
        PICTURES, run(job, PICTURES), strict=True
    ):
        again = fetch(pool, source)
        again.wait_fetched()
        again.set_pixels(0, pixels)
        (alone,) = run(again, [(make, shares, size, looked_up, last, window)])
        np.testing.assert_array_equal(found, alone)


def test_a_scan_that_breaks_leaves_the_sample_to_be_done_again(tmp_path, pool):
    data = jpeg(scene(61, 93, 1), "4:2:0")
    job = fetch(pool, files(tmp_path, [data[: len(data) // 2] + b"\xff\xd9"]))
    job.wait_fetched()
    run(job, PICTURES[:3])
    assert job.status.tolist() == [native.FOREIGN]
    pixels = noise(61, 93)
    job.set_pixels(0, pixels)
    found = run(job, PICTURES[:3])
    for which, out in zip(PICTURES[:3], found, strict=True):
        again = fetch(pool, files(tmp_path, [encoded(pixels, "BMP")]))
        again.wait_fetched()
        again.set_pixels(0, pixels)
        np.testing.assert_array_equal(out, run(again, [which])[0])


def test_pictures_of_two_scales_are_refused_together(tmp_path, payloads, pool):
    job = fetch(pool, files(tmp_path, payloads))
    job.wait_fetched()
    crops = crops_of(job.sizes, ALL, (4, 5))
    out = np.zeros((COUNT, 4, 5, 3), np.uint8)
    scaled = np.concatenate([crops, np.full((COUNT, 1), 2, np.int32)], axis=1)
    with pytest.raises(ValueError) as caught:
        job.run([picture(rows, "box", None, out, 4, 5, True) for rows in (crops, scaled)])
    assert (
        str(caught.value)
        == "Job.run: crops[0]: scale (got 2, want 1, that of the sample's other pictures)"
    )
    assert not out.any()
    job.run(
        [picture(scaled, "box", None, out, 4, 5, True)]
    )  # alone: nothing is left of what was refused
    job.wait_done()
    assert job.status.tolist() == [native.OK] * COUNT
    assert out.any(axis=(1, 2, 3)).all()


def test_a_run_wants_pictures(tmp_path, payloads, pool):
    job = fetch(pool, files(tmp_path, payloads))
    job.wait_fetched()
    with pytest.raises(ValueError) as caught:
        job.run([])
    assert str(caught.value) == "Job.run: pictures (got none, want 1 or more of each sample)"
