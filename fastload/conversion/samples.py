"""One encoded image: what it is, and whether it can be decoded."""

import io
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, UnidentifiedImageError

from fastload import _native
from fastload.transforms import pil

EXTENSIONS = {
    "jpeg": "jpg",
    "png": "png",
    "webp": "webp",
    "bmp": "bmp",
    "gif": "gif",
    "tiff": "tiff",
    "ppm": "ppm",
}
# How an image is checked: by decoding it (of a baseline JPEG its coded blocks, which is what can be
# wrong); a JPEG by its markers, which have to lead to its end, all else by decoding; not at all.
CHECKS = ("decode", "markers", "none")
# Warnings are errors where the user asked Python for that.
PILLOW_ERRORS = (*pil.DECODE_ERRORS, Warning)


class BadSampleError(Exception):
    """This sample cannot go into a data set; the text says what is wrong and what to do."""


class Facts(NamedTuple):
    """What the header of an image says."""

    height: int  # px; 0 where not known
    width: int
    format: str  # "jpeg 4:2:0", "png", … or "unknown"


def extension(format: str) -> str:
    """The file name extension of an image format: of the bytes, not of the name that the file
    happened to have.
    """
    return EXTENSIONS.get(format.split(maxsplit=1)[0], "bin")


@dataclass(frozen=True)
class Looked:
    """An encoded image after one look at its bytes."""

    facts: Facts
    coding: str  # as _native.jpeg_coding says
    checksum: int  # XXH3-64
    sound: bool  # the check was passed; else nobody knows
    index: bytes  # for seeking, if one was asked for and can be
    reason: str  # … or why not


def look(data: bytes, check: str, step: int | None = None) -> Looked:
    """What an encoded image is.

    check: one of CHECKS; step: MCUs per entry of a seek index, None for none. Raises
    BadSampleError.
    """
    if not data:
        raise BadSampleError("is empty (0 bytes); mend or remove the file")
    height, width, format, coding, checksum, sound, index, reason = _native.examine(
        data, check, step
    )
    return Looked(
        _known(data, Facts(height, width, format)), coding, checksum, sound, index, reason
    )


def require_sound(data: bytes, looked: Looked) -> None:
    """What the look has left open: decode the image, natively or by Pillow.

    Raises BadSampleError.
    """
    if looked.sound:
        return
    if looked.facts.format == "unknown":
        raise BadSampleError("is no image that Pillow knows; mend or remove the file")
    if looked.facts.format.startswith("jpeg") and decodes_natively(data):
        return
    try:
        pil.decode(data)
    except PILLOW_ERRORS as error:
        raise BadSampleError(
            f"cannot be decoded ({reason(error)}); mend or remove the file"
        ) from error


def examine(data: bytes, check: str = "none", step: int | None = None) -> Looked:
    """Look at an image and check it. Raises BadSampleError."""
    looked = look(data, check, step)
    if check != "none":
        require_sound(data, looked)
    return looked


def headers(data: bytes) -> Facts:
    """Facts from the first bytes."""
    _, height, width, _, format = _native.probe(data)
    return _known(data, Facts(height, width, format))


def _known(data: bytes, facts: Facts) -> Facts:
    """Pillow is asked where the native probe does not know the size, and of TIFFs: it turns these
    as their orientation says.
    """
    height, width, format = facts
    if height and width and format != "tiff":
        return facts
    try:
        with Image.open(io.BytesIO(data)) as image:
            return Facts(
                image.height,
                image.width,
                (image.format or "unknown").lower() if format == "unknown" else format,
            )
    except PILLOW_ERRORS:
        return facts


def decodes_natively(data: bytes) -> bool:
    """Whether libjpeg-turbo decodes this JPEG to RGB without a complaint."""
    try:
        _native.decode(data)
    except (ValueError, RuntimeError, MemoryError):
        return False
    return True


def reason(error: BaseException) -> str:
    """What Pillow says, without what differs from run to run."""
    if isinstance(error, UnidentifiedImageError):  # its own text holds a memory address
        return "not an image"
    return " ".join(str(error).split()) or type(error).__name__
