"""One encoded image: what it is, and whether it can be decoded."""

import io
from typing import NamedTuple

from PIL import Image, UnidentifiedImageError

from fastload import _native
from fastload.transforms import pil

EXTENSIONS = {"jpeg": "jpg", "png": "png", "webp": "webp", "bmp": "bmp", "gif": "gif", "tiff": "tiff", "ppm": "ppm"}
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
    """The file name extension of an image format: of the bytes, not of the name that the file happened to have."""
    return EXTENSIONS.get(format.split(maxsplit=1)[0], "bin")


def examine(data: bytes, *, check: bool) -> Facts:
    """Facts of an encoded image; with `check` it is decoded completely. Raises BadSampleError."""
    if not data:
        raise BadSampleError("is empty (0 bytes); mend or remove the file")
    facts = headers(data)
    if not check:
        return facts
    if facts.format == "unknown":
        raise BadSampleError("is no image that Pillow knows; mend or remove the file")
    if not (facts.format.startswith("jpeg") and decodes_natively(data)):
        try:
            pil.decode(data)
        except PILLOW_ERRORS as error:
            raise BadSampleError(f"cannot be decoded ({reason(error)}); mend or remove the file") from error
    return facts


def headers(data: bytes) -> Facts:
    """Facts from the first bytes; Pillow is asked where the native probe does not know the size."""
    _, height, width, _, format = _native.probe(data)
    if height and width:
        return Facts(height, width, format)
    try:
        with Image.open(io.BytesIO(data)) as image:
            return Facts(image.height, image.width, (image.format or "unknown").lower() if format == "unknown" else format)
    except PILLOW_ERRORS:
        return Facts(height, width, format)


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
