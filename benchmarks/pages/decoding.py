"""`python -m benchmarks decoding`: the picture of docs/how-decoding-works.md, which tiles of a JPEG
a crop needs with a seek index and without one.
"""

import io
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.pages.picture import landscape
from fastload import _native
from fastload.spec import Pixels

PICTURE = "pictures/decoding.webp"  # below docs/
STEP, MCU = 8, 16  # MCUs per checkpoint; px of an MCU, with 4:2:0
CROP = (150, 300, 160, 210)  # top, left, height, width; px
GAP, HEAD, LEGEND = 16, 34, 96  # px
PAPER, INK, RED, DOT = "#eef1f4", "#111827", (220, 30, 40), (250, 204, 21)
SKIPPED, UNTOUCHED = (37, 99, 235), (120, 126, 136)  # tints
KINDS = (
    ("decoded to pixels", None),
    ("Huffman codes read, no pixels made", SKIPPED),
    ("never read", UNTOUCHED),
)


class Tiles(NamedTuple):
    """What happens to each MCU."""

    kind: Pixels  # [rows, columns]: 0 decoded, 1 only its codes are read, 2 nothing
    checkpoints: tuple[tuple[int, int], ...]  # row and column of those where decoding begins


def jpeg() -> bytes:
    out = io.BytesIO()
    landscape().save(out, "JPEG", quality=85, subsampling="4:2:0")
    return out.getvalue()


def tiles(data: bytes, indexed: bool) -> Tiles:
    """By the decoder's rules (kernels/jpeg/region_tiles.cpp), for CROP of `data`."""
    step, rows, columns = struct.unpack_from("<HHH", _native.jpeg_index(data, STEP), 6)
    top, left, height, width = CROP
    first_row, last_row = _covered(top, top + height, rows)
    first, last = _covered(left, left + width, columns)
    kind = np.full((rows, columns), 2, np.uint8)
    starts: list[tuple[int, int]] = []
    if indexed:
        start = first // step * step
        kind[first_row:last_row, start:last] = 1
        starts = [(row, start) for row in range(first_row, last_row)]
    else:
        kind[:last_row] = 1
        kind[last_row - 1, last:] = 2
        starts = [(0, 0)]
    kind[first_row:last_row, first:last] = 0
    return Tiles(kind, tuple(starts))


def _covered(begin: int, end: int, count: int) -> tuple[int, int]:
    """First MCU and the one after the last, with the neighbours that chroma's upsampling needs."""
    half = MCU // 2
    return max(begin // 2 - 1, 0) // half, min(((end - 1) // 2 + 1) // half + 1, count)


def draw() -> Image.Image:
    """Both ways beside each other, on opaque paper: legible on light and dark pages."""
    data = jpeg()
    image = Image.open(io.BytesIO(data)).convert("RGB")
    width, height = 3 * GAP + 2 * image.width, HEAD + image.height + LEGEND + 2 * GAP
    out = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(out)
    for number, (title, indexed) in enumerate(
        (("Without a seek index: from the first tile on", False),
         ("With one: from the checkpoint before the crop", True))
    ):  # fmt: skip
        x, y = GAP + number * (image.width + GAP), GAP + HEAD
        found = tiles(data, indexed)
        pen.text((x, GAP), title, INK, ImageFont.load_default(22))
        out.paste(_tinted(image, found), (x, y))
        _legend(pen, x, y + image.height + 10, found)
    return out


def _tinted(image: Image.Image, found: Tiles) -> Image.Image:
    pixels = np.asarray(image, np.float64)
    kind = np.kron(found.kind, np.ones((MCU, MCU), np.uint8))[: image.height, : image.width]
    for number, colour, share in ((1, SKIPPED, 0.55), (2, UNTOUCHED, 0.82)):
        tinted = pixels * (1 - share) + np.array(colour) * share
        pixels = np.where((kind == number)[..., None], tinted, pixels)
    pixels[::MCU] *= 0.86
    pixels[:, ::MCU] *= 0.86
    out = Image.fromarray(pixels.astype(np.uint8))
    pen, (top, left, height, width) = ImageDraw.Draw(out), CROP
    pen.rectangle((left, top, left + width - 1, top + height - 1), outline=RED, width=3)
    for row, column in found.checkpoints:
        x, y = column * MCU + MCU // 2, row * MCU + MCU // 2
        pen.ellipse((x - 5, y - 5, x + 5, y + 5), fill=DOT, outline=INK)
    return out


def _legend(pen: ImageDraw.ImageDraw, x: int, y: int, found: Tiles) -> None:
    font = ImageFont.load_default(16)
    for number, (words, colour) in enumerate(KINDS):
        count, below = int((found.kind == number).sum()), y + 22 * number
        box = (x, below + 2, x + 16, below + 16)
        pen.rectangle(box, fill=colour or PAPER, outline=RED if colour is None else INK, width=2)
        pen.text((x + 26, below - 1), f"{count} of {found.kind.size} tiles: {words}", INK, font)
    pen.ellipse((x + 3, y + 69, x + 13, y + 79), fill=DOT, outline=INK)
    pen.text((x + 26, y + 65), "where decoding begins; red: the crop", INK, font)


def write(docs: Path) -> list[Path]:
    """Write the picture below `docs`."""
    where = docs / PICTURE
    where.parent.mkdir(exist_ok=True)
    draw().save(where, quality=85, method=6)
    return [where]
