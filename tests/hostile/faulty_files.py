"""Files that fail, each in its own way."""

import io
import os
import socket
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.conftest import textured
from tests.hostile import kinds


def picture(form: str, **how: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(textured(23, 31, 1)).save(out, form, **how)
    return out.getvalue()


def cut(form: str, share: float = 0.6, **how: object) -> Callable[[], bytes]:
    return lambda: (whole := picture(form, **how))[: int(len(whole) * share)]


def chunk(name: bytes, content: bytes, *, right: bool = True) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content) ^ (not right))
    )


def png(*chunks: bytes, height: int = 4, width: int = 5, depth: int = 8) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0))
        + b"".join(chunks)
    )


PIXELS = zlib.compress(bytes(4 * 16))
FILES: dict[str, Callable[[], bytes]] = {
    "a cut PNG": cut("PNG"),
    "a PNG with a wrong checksum": lambda: png(
        chunk(b"IDAT", PIXELS, right=False), chunk(b"IEND", b"")
    ),
    "a PNG whose chunks have no names": lambda: png(
        chunk(b"IDAT", PIXELS[:5]), chunk(b"!!!!", b"")
    ),
    "a PNG whose pixels are no zlib": lambda: png(chunk(b"IDAT", b"no zlib"), chunk(b"IEND", b"")),
    "a PNG without pixels": lambda: png(chunk(b"IEND", b"")),
    "a PNG of a depth that is none": lambda: png(chunk(b"IDAT", PIXELS), depth=3),
    "a PNG bomb": lambda: png(chunk(b"IDAT", PIXELS), height=40_000, width=40_000),
    "a cut GIF": cut("GIF"),
    "a cut GIF header": cut("GIF", 0.02),
    "a cut BMP": cut("BMP"),
    "a cut BMP header": lambda: picture("BMP")[:20],
    "a cut TIFF": cut("TIFF"),
    "a cut TIFF with deflate": cut("TIFF", 0.9, compression="tiff_adobe_deflate"),
    "a TIFF of nothing": lambda: b"II*\0\x08\0\0\0\0\0",
    "a cut WebP": cut("WEBP"),
    "a cut PPM": cut("PPM"),
    "a PPM without numbers": lambda: b"P6\nwide high\n255\n",
    "a PPM of no size": lambda: b"P6\n0 0\n255\n",
    "a PPM of letters": lambda: b"P3\n2 2\n255\n1 2 x 4",
    "a cut TGA": cut("TGA", 0.3),
    "a cut ICO": cut("ICO"),
    "a cut JPEG 2000": cut("JPEG2000", 0.5),
    "a DDS of no format": lambda: b"DDS " + struct.pack("<I", 124) + bytes(120),
    "a cut SGI": cut("SGI", 0.2),
    "text": lambda: b"<html><body>404 Not Found</body></html>",
}
BYTES = {**FILES, **{f"JPEG: {name}": make for name, (make, _) in kinds.KINDS.items()}}


def missing(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def under_a_file(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_bytes(b"")


def a_socket(path: Path) -> None:
    path.unlink()
    where = os.getcwd()
    os.chdir(path.parent)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(where)


def locked(path: Path) -> None:
    path.chmod(0)


PLACES = (missing, folder, dangling, loop, under_a_file, a_socket, locked)
