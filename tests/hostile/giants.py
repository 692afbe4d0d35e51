"""Images that are small on the disk and large in memory: what a data set of strangers' files may
hold.
"""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

SCAN, RESTART = b"\xff\xda", 0xD0


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _sized(data: bytes, height: int, width: int) -> bytes:
    """A JPEG with another size in its frame header."""
    for marker in (b"\xff\xc0", b"\xff\xc2"):
        if (at := data.find(marker)) >= 0:
            return (
                data[: at + 5]
                + height.to_bytes(2, "big")
                + width.to_bytes(2, "big")
                + data[at + 9 :]
            )
    raise ValueError("no frame header")


def baseline(height: int, width: int, mode: str = "RGB") -> bytes:
    """A whole JPEG, made of one row of MCUs and restart markers: nobody has to hold its pixels."""
    row = _saved(Image.new(mode, (width, 16), "red"), "JPEG", restart_marker_rows=1, subsampling=2)
    scan = row.find(SCAN)
    begin = scan + 2 + int.from_bytes(row[scan + 2 : scan + 4], "big")
    coded = row[begin:-2]
    rows = -(-height // 16)
    parts = [coded + bytes([0xFF, RESTART + n % 8]) for n in range(rows - 1)]
    return _sized(row[:begin], height, width) + b"".join(parts) + coded + b"\xff\xd9"


def patched(height: int, width: int, mode: str = "RGB", **options: object) -> bytes:
    """A JPEG of a few hundred bytes whose header says that it is large: it ends too early."""
    return _sized(_saved(Image.new(mode, (64, 48)), "JPEG", **options), height, width)


def flat(kind: str, height: int, width: int, mode: str = "RGB", **options: object) -> bytes:
    """A whole image of one colour."""
    return _saved(Image.new(mode, (width, height)), kind, **options)


def wide(height: int, width: int) -> bytes:
    """A PNG of 16 bits per value."""
    return _saved(Image.fromarray(np.zeros((height, width), np.uint16)), "PNG")


# Name: how it is made, of about so many megapixels.
KINDS: dict[str, Callable[[float], bytes]] = {
    "baseline.jpg": lambda mega: baseline(*_shape(mega)),
    "long.jpg": lambda mega: baseline(60_000, max(1, int(mega * 1e6) // 60_000)),
    "line.jpg": lambda _: baseline(1, 60_000),
    "progressive.jpg": lambda mega: flat("JPEG", *_shape(mega), progressive=True),
    "progressive grey.jpg": lambda mega: flat("JPEG", *_shape(mega), mode="L", progressive=True),
    "promised.jpg": lambda mega: patched(*_shape(mega)),
    "promised progressive.jpg": lambda mega: patched(*_shape(mega), progressive=True),
    "cmyk.jpg": lambda mega: patched(*_shape(mega), mode="CMYK", progressive=True),
    "cut.jpg": lambda mega: baseline(*_shape(mega))[:-2000],
    "flat.png": lambda mega: flat("PNG", *_shape(mega)),
    "palette.png": lambda mega: flat("PNG", *_shape(mega), mode="P"),
    "alpha.png": lambda mega: flat("PNG", *_shape(mega), mode="RGBA"),
    "16 bits.png": lambda mega: wide(*_shape(mega)),
    "lossy.webp": lambda mega: flat("WEBP", *_shape(mega), method=0),
    "lossless.webp": lambda mega: flat("WEBP", *_shape(mega), lossless=True, method=0),
    "deflate.tiff": lambda mega: flat("TIFF", *_shape(mega), compression="tiff_deflate"),
    "lzw.tiff": lambda mega: flat("TIFF", *_shape(mega), mode="RGBA", compression="tiff_lzw"),
    "flat.gif": lambda mega: flat("GIF", *_shape(mega), mode="P"),
    "flat.jp2": lambda mega: flat("JPEG2000", *_shape(mega)),
}


def _shape(mega: float) -> tuple[int, int]:
    """Height and width: 3 to 4."""
    height = int((mega * 1e6 * 3 / 4) ** 0.5)
    return height, int(mega * 1e6) // height


if __name__ == "__main__":  # python -m tests.hostile.giants FOLDER MEGAPIXELS
    import pathlib
    import sys

    folder, mega = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in KINDS.items():
        (folder / name).write_bytes(make(mega))
