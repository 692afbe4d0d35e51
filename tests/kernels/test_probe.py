"""Headers of every format, whole and cut off at every byte."""

import struct
from io import BytesIO

import pytest
from PIL import Image

from fastload import _native as native

from .helpers import encoded, jpeg, noise, scene

HEIGHT, WIDTH = 21, 34  # not square: height and width must not be swapped
PIXELS = scene(HEIGHT, WIDTH)


def as_mode(mode, kind, **options):
    out = BytesIO()
    Image.fromarray(PIXELS).convert(mode).save(out, kind, **options)
    return out.getvalue()


CASES = {
    "jpeg 4:4:4": (jpeg(PIXELS, "4:4:4"), native.OK, 3, "jpeg 4:4:4"),
    "jpeg 4:2:2": (jpeg(PIXELS, "4:2:2"), native.OK, 3, "jpeg 4:2:2"),
    "jpeg 4:2:0": (jpeg(PIXELS, "4:2:0"), native.OK, 3, "jpeg 4:2:0"),
    "jpeg progressive": (jpeg(PIXELS, progressive=True), native.OK, 3, "jpeg 4:2:0"),
    "jpeg grey": (as_mode("L", "JPEG"), native.OK, 1, "jpeg grey"),
    "jpeg cmyk": (as_mode("CMYK", "JPEG"), native.FOREIGN, 4, "jpeg"),
    "png rgb": (encoded(PIXELS, "PNG"), native.FOREIGN, 3, "png"),
    "png rgba": (as_mode("RGBA", "PNG"), native.FOREIGN, 4, "png"),
    "png grey alpha": (as_mode("LA", "PNG"), native.FOREIGN, 2, "png"),
    "png palette": (as_mode("P", "PNG"), native.FOREIGN, 1, "png"),
    "webp lossy": (encoded(PIXELS, "WEBP"), native.FOREIGN, 3, "webp"),
    "webp lossless": (encoded(PIXELS, "WEBP", lossless=True), native.FOREIGN, 3, "webp"),
    "webp extended": (encoded(PIXELS, "WEBP", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0"),
    native.FOREIGN, 3, "webp"),
    "bmp": (encoded(PIXELS, "BMP"), native.FOREIGN, 3, "bmp"),
    "gif": (encoded(PIXELS, "GIF"), native.FOREIGN, 1, "gif"),
    "tiff": (encoded(PIXELS, "TIFF"), native.FOREIGN, 3, "tiff"),
    "tiff big endian": (
        b"MM\0*\0\0\0\x08\0\x03"
        + struct.pack(">HHIHH", 256, 3, 1, WIDTH, 0)
        + struct.pack(">HHII", 257, 4, 1, HEIGHT)
        + struct.pack(">HHIHH", 277, 3, 1, 3, 0),
        native.FOREIGN, 3, "tiff",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_header(name):
    data, status, components, format = CASES[name]
    assert native.probe(data) == (status, HEIGHT, WIDTH, components, format)


@pytest.mark.parametrize("name", CASES)
def test_cut_off_at_every_byte_is_never_a_wrong_size(name):
    data, _, _, _ = CASES[name]
    for end in [*range(min(len(data), 1500)), *range(1500, len(data), 97)]:
        _, height, width, _, _ = native.probe(data[:end])
        assert (height, width) in [(0, 0), (HEIGHT, WIDTH)]


@pytest.mark.parametrize("data", [b"", b"x", b"\xff\xd8", b"\xff\xd8\xff", b"hello, world"])
def test_unknown(data):
    status, height, width, components, _ = native.probe(data)
    assert (status, height, width, components) == (native.FOREIGN, 0, 0, 0)


def test_frame_headers_that_are_not_native():
    data = jpeg(noise(16, 16))
    at = data.index(b"\xff\xc0")
    for marker in (0xC3, 0xC5, 0xC9, 0xCA, 0xCF):
        assert native.probe(data[: at + 1] + bytes([marker]) + data[at + 2 :])[0] == native.FOREIGN
    assert native.probe(data[: at + 4] + b"\x0c" + data[at + 5 :])[0] == native.FOREIGN  # 12 bits
    assert (
        native.probe(data[: at + 5] + b"\0\0" + data[at + 7 :])[0] == native.FOREIGN
    )  # height later (DNL)
    huge = data[: at + 5] + struct.pack(">HH", 65500, 65500) + data[at + 9 :]
    assert native.probe(huge)[:3] == (native.FOREIGN, 65500, 65500)


# xxHash 0.8: XXH3_64bits without a seed, of the first bytes of its own sanity checks.
XXH3 = {
    0: 0x2D06800538D394C2,
    1: 0xC44BDFF4074EECDB,
    2048: 0xDD59E2C3A5F038E0,
    2240: 0x6E73A90539CF2948,
    2367: 0xCB37AEB9E5D361ED,
}


@pytest.mark.parametrize("target", native.targets())
def test_xxh3_known_answers(target):
    state, data = 2654435761, bytearray()
    while len(data) < max(XXH3):
        data.append(state >> 56)
        state = state * 11400714785074694797 % 2**64
    native.limit_targets(target)
    try:
        for size, answer in XXH3.items():
            assert native.xxh3(data[:size]) == native.xxh3(memoryview(data)[:size]) == answer
    finally:
        native.limit_targets("")
