"""AUGMENT as the GPU runs it, by an emulated block: the scalar specification's bits, whoever of the
threads comes first.
"""

from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import _native as native

from .augment_helpers import FILTERS, SIZES, affine_maps, border_parts, images, instruction
from .test_augment_programs import colour_ops, image_of, mixing_ops, space_ops

block = pytest.importorskip(
    "fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES"
)

PLENTY, LITTLE = (
    227 * 1024,
    5000,
)  # bytes of shared memory: of an H100; room for what threads tell each other, and for tiny images
FACTORS = (-0.7, 0, 0.01, 1 / 3, 0.5, 1, 1.9, 9.99)
COLOURS = [
    *(
        instruction(name, factor)
        for name in ("Brightness", "Contrast", "Color", "Sharpness")
        for factor in FACTORS
    ),
    *(instruction("Posterize", bits) for bits in (0, 1, 4, 8)),
    *(instruction("Solarize", threshold) for threshold in (-1, 0, 127.5, 256)),
    *(
        instruction("SolarizeAdd", add, threshold)
        for add in (-255, 37, 255)
        for threshold in (0, 128, 256)
    ),
    *(instruction("Hue", turn) for turn in (0, 1, 100, 255)),
    *map(
        instruction,
        ("Identity", "Invert", "AutoContrast", "Equalize", "Grayscale", "FlipX", "FlipY"),
    ),
]


def orders() -> "list[np.ndarray]":
    """Turns of the threads of blocks of several sizes: forward, backward, shuffled."""
    forward = [np.arange(threads, dtype=np.int32) for threads in (1, 7, 33, 256)]
    shuffled = [
        np.random.default_rng(threads).permutation(threads).astype(np.int32)
        for threads in (33, 64, 1024)
    ]
    return [*forward, *(order[::-1].copy() for order in forward[1:]), *shuffled]


ORDERS = orders()


def check(image: np.ndarray, *programs: list[np.ndarray]) -> None:
    """Each program on `image`, in one batch, against the specification; what is given decides on
    the order and the memory.
    """
    depth = max(len(rows) for rows in programs)
    whole = np.zeros((len(programs), depth, 13))
    for program, rows in zip(whole, programs, strict=True):
        for place, row in enumerate(rows):
            program[place] = row
    batch = np.repeat(image[None], len(programs), axis=0)
    number = crc32(whole.tobytes() + image.tobytes())
    found = block.emulate(
        batch, whole, ORDERS[number % len(ORDERS)], (PLENTY, LITTLE, 2 * LITTLE)[number % 3]
    )
    for result, program, rows in zip(found, whole, programs, strict=True):
        np.testing.assert_array_equal(
            result, native.augment(image, program, "scalar"), err_msg=f"{image.shape} {rows}"
        )


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_colours_flips_and_sharpness(size):
    for image in images(*size).values():
        check(image, *([row] for row in COLOURS))


@pytest.mark.parametrize("sampling", FILTERS)
@pytest.mark.parametrize("name", ["Affine", "Perspective"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_warps(size, name, sampling):
    height, width = size
    rng = np.random.default_rng(size)
    for number, image in enumerate(images(height, width).values()):
        tilt = (
            (rng.normal(0, 0.3 / width), rng.normal(0, 0.3 / height))
            if name == "Perspective"
            else ()
        )
        maps = affine_maps(height, width, number)
        check(
            image,
            *([instruction(name, *a, *tilt, sampling=sampling, fill=(7, 250, 99))] for a in maps),
        )


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_borders(size):
    for image in images(*size).values():
        rows = [
            instruction("Border", kind, *part, fill=(7, 250, 99))
            for kind in range(4)
            for part in border_parts(*size)
        ]
        check(image, *([row] for row in rows))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_blurs(size):
    height, width = size
    boxes = [(0, 0, 1), (0.3, 0, 2), (1, 5.5, 1), (1.625, 0.2, 3), (127, 127, 2), (0, 16, 1)]
    kernels = [(1, 1, 1, 1), (3, 3, 0.5, 0.5), (5, 9, 0.1, 2), (23, 23, 1.7, 1.7), (1, 3, 1, 1)]
    fitting = [k for k in kernels if k[0] // 2 < width and k[1] // 2 < height]
    for image in images(height, width).values():
        check(
            image,
            *([instruction("BoxBlur", *how)] for how in boxes),
            *([instruction("GaussianBlur", *how)] for how in fitting),
        )


def test_images_larger_than_the_shared_memory_of_any_gpu():
    image = image_of(291, 263, 1)
    half = instruction("Affine", 0.9, 0.2, 3, -0.1, 1.1, 5, sampling="bilinear")
    rows = [
        half,
        instruction("Equalize"),
        instruction("GaussianBlur", 5, 7, 1, 2),
        instruction("Sharpness", 1.7),
        instruction("Invert"),
    ]
    assert block.layout(291, 263, False, False, PLENTY)[:2] == (False, False)
    check(image, rows, rows[::-1], rows[1:4], [])


def test_no_instruction_gives_the_image_back_on_every_memory():
    for _ in range(3):
        check(image_of(5, 9, 0), [], [instruction("Identity")])


def test_a_batch_of_no_images():
    found = block.emulate(np.zeros((0, 5, 9, 3), np.uint8), np.zeros((0, 2, 13)), ORDERS[0], PLENTY)
    assert found.shape == (0, 5, 9, 3)


def start() -> st.SearchStrategy[np.ndarray]:
    return st.builds(instruction, st.just("Start"))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    programs=st.lists(st.lists(st.one_of(colour_ops(), space_ops(), start()), max_size=5),
    min_size=1, max_size=3),
    height=st.integers(1, 45), width=st.integers(1, 90), seed=st.integers(0, 9),
)  # fmt: skip
def test_programs(programs, height, width, seed):
    check(image_of(height, width, seed), *programs)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    programs=st.lists(st.lists(st.one_of(mixing_ops(), mixing_ops(), colour_ops()), max_size=9),
    min_size=1, max_size=3),
    height=st.integers(1, 20), width=st.integers(1, 40),
)  # fmt: skip
def test_mixtures(programs, height, width):
    check(image_of(height, width, 4), *([instruction("Start"), *rows] for rows in programs))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(st.one_of(st.floats(-1e9, 1e9), st.floats(-1e15, 1e15)), min_size=8,
    max_size=8),
    name=st.sampled_from(["Affine", "Perspective"]), sampling=st.sampled_from(list(FILTERS)),
)  # fmt: skip
def test_maps_from_anywhere(values, name, sampling):
    check(
        image_of(19, 31, 1),
        [
            instruction(
                name, *values[: 6 if name == "Affine" else 8], sampling=sampling, fill=(1, 2, 3)
            )
        ],
    )


@pytest.mark.parametrize(
    "a",
    [
        [0.1, 0, -0.05, 0, 0.1, -0.05],  # a scaling
        [2000, 0.1, 5 - 1000 - 0.05, 0, 0.1, 3 - 0.05],  # too far for 16.16; sums go down
        [0.1, 2000, 5 - 1000 - 0.05, 0.1, 0, 3 - 0.05],  # and right
    ],
)
def test_running_sums_round_at_every_step(a):
    """Ten times 0.1, added one by one, is less than 1: the px before."""
    image = image_of(25, 31, 2)
    check(image, [instruction("Affine", *a)])
    slightly_more = [value * (1 + 1e-12) for value in a]
    row, other = instruction("Affine", *a), instruction("Affine", *slightly_more)
    assert (
        native.augment(image, row[None], "scalar") != native.augment(image, other[None], "scalar")
    ).any()


@pytest.mark.parametrize(
    ("size", "limit", "places"),
    [
        ((224, 224), 227 << 10, (True, False)),  # H100, B200
        ((224, 224), 163 << 10, (True, False)),  # A100
        ((224, 224), 99 << 10, (False, False)),  # GeForce
        ((128, 128), 227 << 10, (True, True)),
        ((288, 288), 227 << 10, (False, False)),
    ],
)  # fmt: skip
def test_the_image_and_its_copy_are_in_shared_memory_where_they_fit(size, limit, places):
    pixels = size[0] * size[1]
    image, other, shared, workspace = block.layout(*size, False, False, limit)
    assert (image, other) == places
    assert shared <= limit
    assert workspace == (0 if image else 3 * pixels)
    mixing = block.layout(*size, True, True, limit)
    assert mixing[3] == workspace + 3 * pixels * (1 + 4 + 4)


@pytest.mark.parametrize("limit", [PLENTY, LITTLE])
def test_threads_of_the_host_that_really_run_together(limit):
    """Each has a machine of its own, as on the GPU.

    Under ThreadSanitizer this finds what two of them touch in one phase.
    """
    image = image_of(29, 37, 7)
    tilt = instruction(
        "Perspective", 0.9, 0.2, 3, -0.1, 1.1, 5, 1e-3, 1e-3, sampling="bicubic", fill=(1, 2, 3)
    )
    blurs = [instruction("BoxBlur", 1.625, 2.5, 3), instruction("GaussianBlur", 5, 7, 1, 2)]
    mixture = [
        instruction("Start"),
        COLOURS[0],
        instruction("Add", 0.4),
        blurs[1],
        instruction("Add", 0.7),
        instruction("Mix", 0.6),
    ]
    programs = [
        *([row] for row in COLOURS[::3]),
        blurs,
        [tilt],
        mixture,
        [*blurs, tilt, *COLOURS[-7:], *mixture, instruction("Contrast", 2)],
    ]
    whole = np.zeros((len(programs), max(map(len, programs)), 13))
    for program, rows in zip(whole, programs, strict=True):
        program[: len(rows)] = rows
    found = block.concurrent(np.repeat(image[None], len(whole), axis=0), whole, 4, limit)
    for result, program in zip(found, whole, strict=True):
        np.testing.assert_array_equal(result, native.augment(image, program, "scalar"))
