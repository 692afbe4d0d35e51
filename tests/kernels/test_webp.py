"""The native decoding of WebP against Pillow: the same pixels, or none."""

import io
import itertools
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fastload import _native
from fastload.transforms import pil
from tests.kernels.test_png import changed
from tests.kernels.webp_writer import chunks, many_codes, riff

SIZES = [(1, 1), (1, 9), (9, 1), (16, 16), (17, 33), (64, 48), (75, 101), (131, 58)]
KINDS: dict[str, dict[str, Any]] = {
    "good": {"quality": 90},
    "coarse": {"quality": 5},
    "fast": {"quality": 40, "method": 0},
    "slow": {"quality": 60, "method": 6},
    "lossless": {"lossless": True},
    "lossless, slow": {"lossless": True, "quality": 100, "method": 6},
    "beside": {"quality": 50, "exif": b"Exif\0\0MM\0*", "icc_profile": bytes(131), "xmp": b"<x/>"},
    "packed alpha": {"quality": 50, "alpha_quality": 60},
}
CODES = 320  # px a side: 6,400 sets of codes, which take 75 MB


def encoded(size: tuple[int, int], *, alpha: bool = False, seed: int = 0, **how: Any) -> bytes:
    """Smooth colours with noise; some of it is transparent."""
    rng = np.random.default_rng([seed, *size])
    down, across = np.mgrid[: size[0], : size[1]]
    planes = [
        60 * np.sin(down / 7 + k) + 50 * np.cos(across / 5 - k) + 128 + rng.normal(0, 12, size)
        for k in range(3 + alpha)
    ]
    out = io.BytesIO()
    pixels = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(out, "webp", **how)
    return out.getvalue()


def by_pillow(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def part(data: bytes, top: int, left: int, height: int, width: int) -> np.ndarray:
    made, _ = _native.image_pixels(
        data, scale=1, crop=(left, top, left + width, top + height), size=(width, height),
        box=(0.0, 0.0, float(width), float(height)), window=(0, 0, width, height), flip=False,
        filter="bilinear", order=pil.PASS_ORDER, channels=3, filler=255, library=False,
    )  # fmt: skip
    return made


def decoded(data: bytes) -> np.ndarray:
    _, height, width, *_ = _native.probe(data)
    return part(data, 0, 0, height, width)


def is_taken(data: bytes) -> bool:
    status, *_ = _native.image_header(data)
    return bool(status == _native.OK)


@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_pillows_pixels(kind: str, alpha: bool) -> None:
    for size in SIZES:
        data = encoded(size, alpha=alpha, **KINDS[kind])
        assert is_taken(data)
        assert np.array_equal(decoded(data), by_pillow(data)), size


@pytest.mark.parametrize("alpha", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_region_is_cut_from_the_whole(kind: str, alpha: bool) -> None:
    rng = np.random.default_rng(1)
    for height, width in ((75, 101), (34, 20)):
        data = encoded((height, width), alpha=alpha, **KINDS[kind])
        whole = by_pillow(data)
        for _ in range(30):
            top, left = int(rng.integers(height)), int(rng.integers(width))
            high = int(rng.integers(1, height - top + 1))
            wide = int(rng.integers(1, width - left + 1))
            got = part(data, top, left, high, wide)
            assert np.array_equal(got, whole[top : top + high, left : left + wide])


def test_every_row_and_column_may_be_a_border() -> None:
    data = encoded((35, 37), quality=30)
    whole = by_pillow(data)
    for at in range(35):
        assert np.array_equal(part(data, at, at, 35 - at, 37 - at), whole[at:, at:])
        assert np.array_equal(part(data, 0, 0, at + 1, at + 1), whole[: at + 1, : at + 1])


def refusal(data: bytes) -> str:
    with pytest.raises(ValueError, match=r"^image_pixels: webp: ") as caught:
        part(data, 0, 0, 1, 1)
    assert not is_taken(data)
    return str(caught.value).removeprefix("image_pixels: webp: ")


def animated() -> bytes:
    frames = [Image.new("RGB", (9, 7), (30 * n, 0, 0)) for n in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "webp", save_all=True, append_images=frames[1:])
    return out.getvalue()


SIMPLE, BESIDE = chunks(encoded((9, 7))), chunks(encoded((9, 7), **KINDS["beside"]))
CLEAR = chunks(encoded((9, 7), alpha=True))
FLAGS = (b"VP8X", b"\x10" + CLEAR[0][1][1:])
REFUSED = {
    "animated": animated(),
    "its size is not the file's": riff(SIMPLE) + b"\0\0",
    "a chunk is cut off": riff(SIMPLE).replace(b"VP8 ", b"VP8 \xff", 1)[:-1],
    "several images": riff([*SIMPLE, *SIMPLE]),
    "chunks that the simple form has not": riff([*SIMPLE, (b"EXIF", b"1234")]),
    "an extended header of another kind": riff([(b"VP8X", bytes(11)), *SIMPLE]),
    "transparency in another place": riff([CLEAR[0], CLEAR[2], CLEAR[1]]),
    "a chunk of another kind": riff([*BESIDE, (b"abcd", b"")]),
    "no image": riff([CLEAR[0]]),
    "a bad header": riff([(b"VP8 ", bytes(30))]),
    "a transparency that is and is not": riff([(b"VP8X", bytes(1) + CLEAR[0][1][1:]), *CLEAR[1:]]),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_left_to_pillow_says_why(why: str) -> None:
    assert refusal(REFUSED[why]) == why


def test_a_file_that_is_cut_off_is_left_to_pillow() -> None:
    for data in (encoded((20, 30)), encoded((20, 30), lossless=True)):
        for length in range(12, len(data)):
            assert not is_taken(data[:length])


def test_codes_that_take_more_memory_than_pixels_are_left_to_pillow() -> None:
    """Each set of codes takes 20 bits of the file, and 12 kB of memory before it is read."""
    few, many = many_codes(64), many_codes(CODES)
    assert len(many) < 32_000
    assert np.array_equal(decoded(few), by_pillow(few))
    assert by_pillow(many).shape == (CODES, CODES, 3)
    with pytest.raises(ValueError, match=r"^image_pixels: webp: it asks for more memory than"):
        decoded(many)


def test_what_is_taken_pillow_takes_with_the_same_pixels() -> None:
    """Files with some bytes changed; many of them are decoded to something."""
    rng = np.random.default_rng(3)
    taken = 0
    kinds = itertools.cycle([{"quality": 30}, {"lossless": True}, {"quality": 40, "alpha": True}])
    for number, kind in zip(range(600), kinds, strict=False):
        data = changed(encoded((17, 29), seed=number % 12, **kind), rng)
        if not is_taken(data):
            continue
        try:
            got = decoded(data)
        except ValueError:
            continue
        taken += 1
        assert np.array_equal(got, by_pillow(data))
    assert taken > 100
