"""Encoded images through Pillow, any format that it reads.

Its decoders are not called without room for what they need: some end the process where an
allocation fails. The need is known from the header: px times what the format's decoder and Pillow
hold of each.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from PIL import Image

from fastload import _native
from fastload.spec import Pixels
from fastload.system import room

SLACK = 16 << 20  # bytes: tables, rows, the headers' texts
BLOCK = 32  # px: the largest block of a JPEG, to which its coefficients are rounded up
STRIP = 1 << 20  # px that are converted at once
# Bytes per px that Pillow stores; it has four for all that are not here.
STORED = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2, "I;16N": 2}
# Bytes per px that a decoder holds besides, measured as address space and rounded up.
HELD = {
    "PNG": 1,
    "BMP": 1,
    "DIB": 1,
    "PPM": 1,
    "QOI": 4,
    "GIF": 8,
    "TIFF": 9,
    "WEBP": 14,
    "JPEG2000": 24,
    "AVIF": 24,
}
OTHERS = 24
CANVASES = 8  # bytes per px that a WebP takes when it is opened
SIZED = ("JPEG", "MPO", *HELD)  # formats whose header tells the size that the decoded image has


def check_size(height: int, width: int) -> None:
    """What Image.open raises and warns of for an image of this size, by
    `PIL.Image.MAX_IMAGE_PIXELS` of now.
    """
    most = Image.MAX_IMAGE_PIXELS
    pixels = max(1, width) * max(1, height)
    if most is None or pixels <= most:
        return
    text = (
        f"Image size ({pixels} pixels) exceeds limit of {{}} pixels, could be decompression "
        "bomb DOS attack."
    )
    if pixels > 2 * most:
        raise Image.DecompressionBombError(text.format(2 * most))
    warnings.warn(text.format(most), Image.DecompressionBombWarning, stacklevel=3)


def need(image: Image.Image, pixels: int, copy: int) -> int:
    """Bytes to decode an opened image of so many px (less than its size where it is scaled) and to
    make `copy` bytes per px of it.
    """
    stored = STORED.get(image.mode, 4)
    whole = max(pixels, image.width * image.height)
    if image.format in ("JPEG", "MPO"):  # all coefficients, where there are several scans
        held = 2 * len(image.getbands()) * (image.width + BLOCK) * (image.height + BLOCK)
    else:
        held = HELD.get(image.format or "", OTHERS) * whole
    return pixels * stored + max(held, pixels * copy) + SLACK


@contextmanager
def opened(data: bytes, scale: int, copy: int) -> Iterator[Image.Image]:
    """The image, with room to decode it at 1/scale and to make `copy` bytes per px of that."""
    with _looked_at(data) as image:
        pixels = -(-image.width // scale) * -(-image.height // scale)
        with room.claimed(need(image, pixels, copy) + 2 * len(data)):
            if scale > 1:
                # The size at which Pillow picks this scale
                image.draft("RGB", (image.width // scale, image.height // scale))
            yield image


def _looked_at(data: bytes) -> Image.Image:
    """The image, of which only the header is read."""
    _, height, width, _, form = _native.probe(data)
    canvases = CANVASES * height * width if form == "webp" else 0
    if canvases and (most := Image.MAX_IMAGE_PIXELS) is not None and height * width > 2 * most:
        check_size(height, width)  # before its canvases are made, as Pillow says it afterwards
    with room.claimed(canvases + 2 * len(data) + SLACK):
        return Image.open(io.BytesIO(data))


def decode(data: bytes, scale: int = 1) -> Image.Image:
    """An RGB image. Raises pil.DECODE_ERRORS."""
    with opened(data, scale, 4) as image:
        rgb: Image.Image = image.convert("RGB")
        return rgb


def decode_pixels(data: bytes, scale: int = 1) -> Pixels:
    """uint8 [H, W, 3], the same pixels for less memory: strip by strip.

    Raises pil.DECODE_ERRORS.
    """
    with opened(data, scale, 3) as image:
        if image.height * image.width > _native.MAX_PIXELS:
            raise ValueError(
                f"{image.height}x{image.width} px, want at most {_native.MAX_PIXELS:,} px"
            )
        image.load()
        height, width = image.height, image.width  # of some formats it is known only now
        rows = max(1, STRIP // width)
        if height <= rows:
            return np.asarray(image.convert("RGB"))
        out = np.empty((height, width, 3), np.uint8)
        for top in range(0, height, rows):
            bottom = min(top + rows, height)
            out[top:bottom] = np.asarray(image.crop((0, top, width, bottom)).convert("RGB"))
        return out


def header_size(data: bytes) -> tuple[int, int] | None:
    """Height and width, px, as the decoded image has them; None where only decoding tells.

    Raises pil.DECODE_ERRORS.
    """
    with _looked_at(data) as image:
        return (image.height, image.width) if image.format in SIZED else None
