"""STORE with partners: the scalar body against NumPy, the tuned code against the body, and batches
that wait for each other.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import _native as native

from .helpers import HEIGHT, WIDTH, fetch, files, jpeg, noise, picture, scene, table, whole
from .helpers import stored as records

DTYPES = {"uint8": np.uint8, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
SIZES = [(1, 1), (3, 5), (7, 33), (40, 19), (33, 70)]


def tables(name):
    values = torch.from_numpy(np.random.default_rng(3).uniform(-3, 3, (3, 256)).astype(np.float32))
    if name == "uint8":
        return None
    return (
        values.to(torch.bfloat16).view(torch.uint16).numpy()
        if name == "bfloat16"
        else values.numpy().astype(DTYPES[name])
    )


def partners(count, height, width, rng, boxes=True):
    """int32 [count, 7]: every kind: blended, a box, both, neither."""
    out = np.zeros((count, 7), np.int32)
    out[:, 0] = rng.integers(0, count, count)
    own = rng.random(count).astype(np.float32)
    own[::3] = 1
    out[:, 5], out[:, 6] = own.view(np.int32), (1 - own).view(np.int32)
    if boxes:
        out[:, 3], out[:, 4] = rng.integers(0, height + 1, count), rng.integers(0, width + 1, count)
        out[1::4, 3] = 0
        out[:, 1], out[:, 2] = (
            (rng.random(count) * (side + 1 - out[:, k])).astype(int)
            for side, k in ((height, 3), (width, 4))
        )
    return out


def erased(count, height, width, rng, dtype):
    boxes = np.zeros((count, 2, 4), np.int32)
    for k, side in ((0, height), (1, width)):
        boxes[..., 2 + k] = rng.integers(0, side + 1, (count, 2))
        boxes[..., k] = (rng.random((count, 2)) * (side + 1 - boxes[..., 2 + k])).astype(int)
    fills = rng.integers(0, 200, (2, 3)).astype(np.float32)
    bits = (
        torch.from_numpy(fills).to(torch.bfloat16).view(torch.uint16).numpy()
        if dtype == np.uint16
        else fills.astype(dtype)
    )
    return boxes, bits


def stored(name, images, rows, target, channels_last, boxes=None, fills=None):
    count, height, width, _ = images.shape
    out = np.zeros(
        (count, height, width, 3) if channels_last else (count, 3, height, width), DTYPES[name]
    )
    native.store_mixed(
        images,
        records(tables(name), channels_last, partners=rows, boxes=boxes, fills=fills),
        out,
        target,
    )
    return out


def expected(name, images, rows, boxes=None, fills=None):
    """[N, h, w, 3] by torch, as float32."""
    dtype = getattr(torch, name)
    values = tables(name)
    if values is None:
        finished = torch.from_numpy(images.copy())
    else:
        plain = torch.from_numpy(values[np.arange(3), images])
        finished = plain.view(torch.bfloat16) if name == "bfloat16" else plain
    for n in range(len(images) if boxes is not None else 0):
        for (top, left, height, width), fill in zip(boxes[n], fills, strict=True):
            colour = (
                torch.from_numpy(fill).view(torch.bfloat16)
                if name == "bfloat16"
                else torch.from_numpy(fill)
            )
            finished[n, top : top + height, left : left + width] = colour
    others, weights = (
        finished[torch.from_numpy(rows[:, 0]).long()],
        rows[:, 5:].copy().view(np.float32),
    )
    own, other = (torch.from_numpy(weights[:, k].copy())[:, None, None, None] for k in (0, 1))
    both = finished.float() * own + others.float() * other
    out = torch.where(
        other == 0, finished, (both.round() if dtype == torch.uint8 else both).to(dtype)
    )
    for n, (_, top, left, height, width, *_) in enumerate(rows.tolist()):
        out[n, top : top + height, left : left + width] = others[
            n, top : top + height, left : left + width
        ]
    return out.float().numpy()


def as_float(name, out, channels_last):
    values = torch.from_numpy(out)
    values = values.view(torch.bfloat16) if name == "bfloat16" else values
    return (values if channels_last else values.permute(0, 2, 3, 1)).float().numpy()


@pytest.mark.parametrize("with_erased", [False, True])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_the_body_is_torchs_and_the_tuned_code_the_bodys(
    name, channels_last, height, width, with_erased
):
    rng = np.random.default_rng([height, width])
    images = np.stack([noise(height, width, n) for n in range(6)])
    rows = partners(6, height, width, rng)
    extra = erased(6, height, width, rng, DTYPES[name]) if with_erased else ()
    scalar, best = (
        stored(name, images, rows, target, channels_last, *extra) for target in ("scalar", "best")
    )
    np.testing.assert_array_equal(best.view(np.uint8), scalar.view(np.uint8))
    np.testing.assert_array_equal(
        as_float(name, scalar, channels_last), expected(name, images, rows, *extra)
    )


def test_every_instruction_set_gives_the_same_bits():
    images, rng = np.stack([noise(13, 41, n) for n in range(4)]), np.random.default_rng(1)
    rows = partners(4, 13, 41, rng, boxes=False)
    try:
        for name in DTYPES:
            want = stored(name, images, rows, "scalar", True)
            for target in native.targets():
                native.limit_targets(target)
                np.testing.assert_array_equal(
                    stored(name, images, rows, "best", True).view(np.uint8), want.view(np.uint8)
                )
    finally:
        native.limit_targets("")


@settings(deadline=None)
@given(st.floats(0, 1, width=32), st.integers(0, 255), st.integers(0, 255))
def test_bytes_are_rounded_to_even(share, a, b):
    weights = np.array([share, np.float32(1) - np.float32(share)], np.float32)
    rows = np.array(
        [[1, 0, 0, 0, 0, *weights.view(np.int32)], [0, 0, 0, 0, 0, *weights.view(np.int32)]],
        np.int32,
    )
    images = np.array([a, b], np.uint8)[:, None, None, None] * np.ones((1, 1, 17, 3), np.uint8)
    out = stored("uint8", images, rows, "best", True)
    first = np.float32(a) * weights[0] + np.float32(b) * weights[1] if weights[1] else np.float32(a)
    assert (out[0] == np.rint(first)).all()


@settings(deadline=None)
@given(st.lists(st.floats(-70000, 70000, width=32), min_size=1, max_size=40))
def test_halves_are_rounded_as_numpy_rounds_them(values):
    """With weights 1/2 and 1/2 of equal images the sum is the value again: both conversions,
    subnormal numbers and infinity too.
    """
    for scale in (1.0, 1e-6, 1e-9):
        halves = np.zeros((3, 256), np.float16)
        with np.errstate(over="ignore"):
            halves[:, : len(values)] = (np.array(values, np.float32) * np.float32(scale)).astype(
                np.float16
            )
        weights = np.array([0.75, 0.5], np.float32)
        rows = np.array([[0, 0, 0, 0, 0, *weights.view(np.int32)]], np.int32)
        images = np.tile(np.arange(len(values), dtype=np.uint8)[:, None], (1, 3))[None, None]
        with np.errstate(over="ignore"):
            want = (
                halves[0].astype(np.float32) * weights[0]
                + halves[0].astype(np.float32) * weights[1]
            ).astype(np.float16)
        for target in ("scalar", "best"):
            out = np.zeros((1, 1, len(values), 3), np.float16)
            native.store_mixed(
                images, records(halves, channels_last=True, partners=rows), out, target
            )
            np.testing.assert_array_equal(out[0, 0, :, 1], want[: len(values)])


def test_bad_partners_are_refused():
    images, out = noise(4, 6)[None], np.zeros((1, 4, 6, 3), np.uint8)
    one = np.array([0.5, 0.5], np.float32).view(np.int32)
    cases = [
        ([1, 0, 0, 0, 0, *one], "store_mixed: partners[0]: no such sample (got 1, want 0..0)"),
        (
            [0, 2, 0, 3, 1, *one],
            (
                "store_mixed: partners[0]: top, left, height, width (got 2, 0, 3, 1, want a box "
                "inside 4x6)"
            ),
        ),
        (
            [0, 0, 0, 0, 0, *np.array([np.nan, 1], np.float32).view(np.int32)],
            "store_mixed: partners[0]: weight (got nan, want 0 to 1)",
        ),
        (
            [0, 0, 0, 0, 0, *np.array([0, -1], np.float32).view(np.int32)],
            "store_mixed: partners[0]: weight (got -1.000000, want 0 to 1)",
        ),
    ]
    for row, text in cases:
        with pytest.raises(ValueError) as error:
            native.store_mixed(
                images,
                records(None, channels_last=True, partners=np.array([row], np.int32)),
                out,
                "best",
            )
        assert str(error.value) == text
    with pytest.raises(ValueError) as error:
        native.store_mixed(
            images,
            records(None, channels_last=True, partners=np.zeros((1, 6), np.int32)),
            out,
            "best",
        )
    assert str(error.value) == "store_mixed: partners: shape (got [1, 6], want [1, 7])"


def mixed_job(pool, source, rows, out):
    job = fetch(pool, source)
    job.wait_fetched()
    arguments = (whole(job.sizes, HEIGHT, WIDTH), "bilinear", table(), out, HEIGHT, WIDTH, False)
    job.run([picture(*arguments, partners=rows)])
    return job, arguments


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_batch_is_mixed_once_all_its_images_are_there(tmp_path, threads):
    payloads = [jpeg(scene(30 + n, 40, n)) for n in range(9)]
    payloads[4] = payloads[4][
        :-60
    ]  # cut off: the decoder finds out, and the caller gives its pixels
    pool, source = native.Pool(threads), files(tmp_path, payloads)
    rows = partners(9, HEIGHT, WIDTH, np.random.default_rng(2))
    out = np.full((9, 3, HEIGHT, WIDTH), np.nan, np.float32)
    job, arguments = mixed_job(pool, source, rows, out)
    job.wait_done()
    assert job.status.tolist() == [native.OK] * 4 + [native.FOREIGN] + [native.OK] * 4
    assert np.isnan(out).all()  # nothing is mixed yet
    pixels = scene(34, 40, 4)
    job.set_pixels(4, pixels)
    job.run([picture(*arguments, partners=rows)])
    job.wait_done()
    plain = np.zeros((9, HEIGHT, WIDTH, 3), np.uint8)
    one = fetch(pool, source)
    one.wait_fetched()
    for _ in range(2):
        one.run(
            [picture(whole(one.sizes, HEIGHT, WIDTH), "bilinear", None, plain, HEIGHT, WIDTH, True)]
        )
        one.wait_done()
        if one.status[4] == native.FOREIGN:
            one.set_pixels(4, pixels)
    want = np.zeros_like(out)
    native.store_mixed(plain, records(table(), partners=rows), want, "scalar")
    np.testing.assert_array_equal(out, want)
    assert pool.stats()["store"][0] == 18  # each image counts once


@pytest.mark.parametrize("threads", [0, 2])
def test_a_job_or_pool_may_go_before_its_batch_is_mixed(tmp_path, threads):
    source = files(tmp_path, [jpeg(scene(60, 80, n)) for n in range(6)])
    rows = partners(6, HEIGHT, WIDTH, np.random.default_rng(2))
    for _ in range(10):
        pool = native.Pool(threads)
        job, _ = mixed_job(pool, source, rows, np.zeros((6, 3, HEIGHT, WIDTH), np.float32))
        del job
        job, _ = mixed_job(pool, source, rows, np.zeros((6, 3, HEIGHT, WIDTH), np.float32))
        del pool
        ended = ""
        try:
            job.wait_done()
        except RuntimeError as error:
            ended = str(error)
        closed = "Job.wait_done: the pool was closed before the job was done"
        assert ended in (
            (closed,) if threads == 0 else (closed, "")
        )  # threads may have been quicker
