"""Job.run with programs, and with rows and columns to keep: every dtype and layout, and what is
refused.
"""

import math

import numpy as np
import pytest

from fastload import _native as native
from fastload import rng

from .augment_helpers import augmented, instruction
from .helpers import files, jpeg, picture, scene, whole

HEIGHT, WIDTH = 24, 31  # of the crops
PROGRAM = [
    instruction("Equalize"),
    instruction("Affine", 1, 0.2, 0, 0.1, 1, 0, sampling="bilinear"),
    instruction("Solarize", 100),
]
LAST_IS_A_LOOKUP = np.array([PROGRAM, PROGRAM[::-1], [instruction("Identity")] * 3])


@pytest.fixture
def source(tmp_path):
    return files(tmp_path, [jpeg(scene(HEIGHT, WIDTH, n), "4:4:4") for n in range(3)])


def started(source):
    """A pool, and three samples, fetched; the crops are the images, so nothing is resized."""
    pool = native.Pool(2)
    job = pool.fetch(source, np.arange(3), np.zeros(3, int), np.full(3, -1), None)
    job.wait_fetched()
    return pool, job


def run(source, table, out, channels_last, **options):
    _, job = started(source)
    job.run(
        [
            picture(
                whole(job.sizes, HEIGHT, WIDTH),
                "bilinear",
                table,
                out,
                HEIGHT,
                WIDTH,
                channels_last,
                **options,
            )
        ]
    )
    job.wait_done()
    assert job.status.tolist() == [native.OK] * 3
    return out


def expected(source, programs, rows, columns, table, channels_last):
    """uint8 images through the program, the lists and the table, by NumPy."""
    plain = run(source, None, np.zeros((3, HEIGHT, WIDTH, 3), np.uint8), True)
    done = []
    for n, image in enumerate(plain):
        pixels = image if programs is None else augmented(image, *programs[n], target="scalar")
        pixels = pixels[rows[n % len(rows)]][:, columns[n % len(columns)]]
        pixels = pixels if table is None else table[np.arange(3), pixels]
        done.append(pixels if channels_last else pixels.transpose(2, 0, 1))
    return np.stack(done)


def lists(count):
    rng = np.random.default_rng(count)
    pick = [
        (np.sort(rng.permutation(HEIGHT)[:19]), np.sort(rng.permutation(WIDTH)[:22]))
        for _ in range(count)
    ]
    return (np.array([part[axis] for part in pick], np.int32) for axis in (0, 1))


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [None, np.uint8, np.uint16, np.float16, np.float32], ids=str)
@pytest.mark.parametrize("programs", [None, LAST_IS_A_LOOKUP], ids=["plain", "augmented"])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_every_way_to_store(source, programs, kept, dtype, channels_last):
    table = (
        None
        if dtype is None
        else np.random.default_rng(1)
        .permuted(np.tile(np.arange(256), (3, 1)), axis=1)
        .astype(dtype)
    )
    rows, columns = (
        lists(kept)
        if kept
        else (np.arange(HEIGHT, dtype=np.int32)[None], np.arange(WIDTH, dtype=np.int32)[None])
    )
    shape = (
        (3, rows.shape[1], columns.shape[1], 3)
        if channels_last
        else (3, 3, rows.shape[1], columns.shape[1])
    )
    out = np.zeros(shape, dtype or np.uint8)
    given = {"rows": rows, "columns": columns} if kept else {}
    run(source, table, out, channels_last, programs=programs, **given)
    np.testing.assert_array_equal(
        out, expected(source, programs, rows, columns, table, channels_last)
    )


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32], ids=str)
@pytest.mark.parametrize("kept", [0, 3])
def test_boxes_are_filled_in_order_where_they_lie_in_what_is_stored(
    source, dtype, channels_last, kept
):
    table = np.tile(np.arange(256), (3, 1)).astype(dtype)
    rows, columns = lists(3) if kept else (None, None)
    height, width = (19, 22) if kept else (HEIGHT, WIDTH)
    boxes = np.array([[[0, 0, 0, 0], [2, 3, 5, 7], [4, 1, 6, 4]], [[height - 1, width - 2, 1, 2],
        [0, 0, 0, 5], [3, 2, 4, 0]],
                      [[0, 0, height, width], [1, 1, 1, 1], [height, width, 0, 0]]],
                      np.int32)  # fmt: skip
    fills = (np.arange(9).reshape(3, 3) + 7).astype(dtype)
    shape = (3, height, width, 3) if channels_last else (3, 3, height, width)
    want = run(source, table, np.zeros(shape, dtype), channels_last, rows=rows, columns=columns)
    got = run(
        source,
        table,
        np.zeros(shape, dtype),
        channels_last,
        rows=rows,
        columns=columns,
        boxes=boxes,
        fills=fills,
    )
    for image, of in zip(want if channels_last else want.transpose(0, 2, 3, 1), boxes, strict=True):
        for (top, left, tall, wide), fill in zip(of, fills, strict=True):
            image[top : top + tall, left : left + wide] = fill
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32], ids=str)
def test_noise_is_by_levels_and_tables_in_the_order_of_boxes(source, dtype, channels_last):
    table = np.tile(np.arange(256), (3, 1)).astype(dtype)
    boxes = np.array([[2, 3, 5, 7], [4, 1, 6, 4], [0, 0, HEIGHT, 2], [7, 7, 3, 1]], np.int32)
    fills, keys = (
        np.full((4, 3), 9, dtype),
        np.array([[5, 2**32 - 1, 0, 3], [1, 2, 3, 4], [5, 5, 5, 5]], np.uint32),
    )
    tables = (np.arange(2 * 3 * 4096).reshape(2, 3, 4096) % 251).astype(dtype)
    noise = (keys, np.array([[1, 1], [2, 0], [1, 0], [0, -7]], np.int32), tables)
    shape = (3, HEIGHT, WIDTH, 3) if channels_last else (3, 3, HEIGHT, WIDTH)
    want = run(source, table, np.zeros(shape, dtype), channels_last)
    every = np.tile(boxes, (3, 1, 1))
    got = run(
        source, table, np.zeros(shape, dtype), channels_last, boxes=every, fills=fills, noise=noise
    )
    for image, of in zip(
        want if channels_last else want.transpose(0, 2, 3, 1), keys.tolist(), strict=True
    ):
        for (top, left, tall, wide), (kind, number), key in zip(boxes, noise[1], of, strict=True):
            size = (tall, wide, 3) if kind == 1 else (1, 1, 3)
            levels = rng.noise_levels(key, math.prod(size)).reshape(size)
            fill = tables[number][np.arange(3), levels] if kind else 9
            image[top : top + tall, left : left + wide] = fill
    np.testing.assert_array_equal(got, want)


def test_augmenting_is_counted(source):
    pool, job = started(source)
    out = np.zeros((3, 3, HEIGHT, WIDTH), np.uint8)
    job.run(
        [
            picture(
                whole(job.sizes, HEIGHT, WIDTH),
                "bilinear",
                None,
                out,
                HEIGHT,
                WIDTH,
                False,
                programs=LAST_IS_A_LOOKUP,
            )
        ]
    )
    job.wait_done()
    assert {stage: found[0] for stage, found in pool.stats().items()} == dict.fromkeys(
        ("read", "decode", "resize", "augment", "store"), 3
    )


ROWS, COLUMNS = np.array([[0, 2]], np.int32), np.array([[1, 30]], np.int32)
BOXES, FILLS = (
    np.tile(np.array([1, 2, 23, 29], np.int32), (3, 2, 1)),
    np.array([[1, 2, 3], [4, 5, 6]], np.uint8),
)

KEYS, FILLINGS, TABLES = (
    np.ones((3, 2), np.uint32),
    np.array([[1, 0], [0, 0]], np.int32),
    np.zeros((1, 3, 4096), np.uint8),
)


def moved(column, by):
    boxes = BOXES.copy()
    boxes[..., column] += by
    return boxes


BAD = [
    ({"programs": np.zeros((2, 1, 13))}, "programs: shape (got [2, 1, 13], want [3, any, 13])"),
    ({"programs": np.zeros((3, 1, 12))}, "programs: shape (got [3, 1, 12], want [3, any, 13])"),
    ({"programs": np.zeros((3, 1, 13), np.float32)}, "programs: dtype (got float32, want float64)"),
    ({"programs": np.full((3, 1, 13), 77.0)},
    "programs[0][0]: code (got 77, want a whole number, 0..25)"),
    ({"programs": np.tile(instruction("GaussianBlur", 1, 49, 1, 1), (3, 1, 1))},
     "programs[0][0]: taps down (got 49, want at most 47 on this image)"),
    ({"rows": ROWS}, "rows and columns (got rows only, want both or neither)"),
    ({"columns": COLUMNS}, "rows and columns (got columns only, want both or neither)"),
    ({"rows": ROWS + HEIGHT, "columns": COLUMNS}, "rows: number (got 24, want 0..23)"),
    ({"rows": ROWS - 1, "columns": COLUMNS}, "rows: number (got -1, want 0..23)"),
    ({"rows": ROWS, "columns": COLUMNS + 1}, "columns: number (got 31, want 0..30)"),
    ({"rows": ROWS[:, :0], "columns": COLUMNS}, "rows: length (got 0, want 1 or more)"),
    ({"rows": np.tile(ROWS, (2, 1)), "columns": COLUMNS},
    "rows: lists (got 2, want 1 or 3, one per sample)"),
    ({"rows": ROWS.astype(np.int64), "columns": COLUMNS}, "rows: dtype (got int64, want int32)"),
    ({"boxes": BOXES}, "boxes and fills (got boxes only, want both or neither)"),
    ({"fills": FILLS}, "boxes and fills (got fills only, want both or neither)"),
    ({"boxes": BOXES[:2], "fills": FILLS}, "boxes: shape (got [2, 2, 4], want [3, any, 4])"),
    ({"boxes": BOXES, "fills": FILLS[:1]}, "fills: shape (got [1, 3], want [2, 3])"),
    ({"boxes": BOXES, "fills": FILLS.astype(np.float32)}, "fills: dtype (got float32, want uint8)"),
    ({"boxes": moved(3, 1), "fills": FILLS},
    "boxes[0][0]: top, left, height, width (got 1, 2, 23, 30, want a box inside 24x31)"),
    ({"boxes": moved(0, -2), "fills": FILLS},
    "boxes[0][0]: top, left, height, width (got -1, 2, 23, 29, want a box inside 24x31)"),
    ({"boxes": moved(0, 2**31 - 2), "fills": FILLS},
     "boxes[0][0]: top, left, height, width (got 2147483647, 2, 23, 29, want a box inside 24x31)"),
    *(({"boxes": BOXES, "fills": FILLS, "noise": noise}, text) for noise, text in [
        ((KEYS[:2], FILLINGS, TABLES), "noise: keys: shape (got [2, 2], want [3, 2])"),
        ((KEYS.view(np.int32), FILLINGS, TABLES), "noise: keys: dtype (got int32, want uint32)"),
        ((KEYS, FILLINGS[:1], TABLES), "noise: fillings: shape (got [1, 2], want [2, 2])"),
        ((KEYS, FILLINGS + 1, TABLES), "noise: fillings[0]: no such table (got 1, want 0..0)"),
        ((KEYS, FILLINGS * [1, -1] - [0, 1], TABLES),
        "noise: fillings: dtype (got int64, want int32)"),
        ((KEYS, FILLINGS + np.int32([2, 0]), TABLES),
         "noise: fillings[0]: kind (got 3, want 0 (a colour), 1 (noise) or 2 (its colour))"),
        ((KEYS, FILLINGS, np.zeros((1, 3, 8192), np.uint8)[..., ::2]),
        "noise: tables: memory layout (got strided, want C-contiguous)"),
        ((KEYS, FILLINGS, TABLES[..., 1:].copy()),
        "noise: tables: shape (got [1, 3, 4095], want [any, 3, 4096])"),
        ((KEYS, FILLINGS, TABLES.astype(np.float32)),
        "noise: tables: dtype (got float32, want uint8)"),
    ]),
    ({"noise": (KEYS, FILLINGS, TABLES)}, "noise: keys: shape (got [3, 2], want [3, 0])"),
    ({"rows": ROWS, "columns": COLUMNS}, "out: shape (got [3, 3, 24, 31], want [3, 3, 2, 2])"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text"), BAD, ids=[text for _, text in BAD])
def test_what_no_job_may_run(source, options, text):
    _, job = started(source)
    out = np.zeros((3, 3, HEIGHT, WIDTH), np.uint8)
    with pytest.raises(ValueError) as error:
        job.run(
            [
                picture(
                    whole(job.sizes, HEIGHT, WIDTH),
                    "bilinear",
                    None,
                    out,
                    HEIGHT,
                    WIDTH,
                    False,
                    **options,
                )
            ]
        )
    assert str(error.value) == f"Job.run: {text}"
