"""`decode`: an encoded image to an array, in one call."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from fastload import _native
from fastload.errors import UsageError, sample_error
from fastload.image import seeking
from fastload.image.cut import FILTERS, Box, Size, is_inside, whole
from fastload.spec import Pixels
from fastload.transforms import pil

WHERE = "image.decode"


def decode(
    data: bytes | bytearray | memoryview,
    *,
    region: tuple[int, int, int, int] | None = None,
    size: tuple[int, int] | None = None,
    interpolation: str = "bilinear",
    out: Any = None,
) -> Any:
    """An encoded image as an array of RGB pixels.

    JPEGs, PNGs and WebPs are decoded natively, without the GIL. What the native decoders do not
    take, and other formats, are decoded by Pillow, with the same result. EXIF's orientation is not
    applied.

    Args:
        data: The encoded image.
        region: (left, top, right, bottom), px of the image, as in Pillow's `crop`; None: all of
            it. Of a baseline JPEG only these pixels are made.
        size: (height, width), px, to which the region is resized; None: it is not. The pixels are
            those of Pillow's `crop` and `resize`, so shrinking is antialiased.
        interpolation: "nearest", "box", "bilinear", "hamming", "bicubic" or "lanczos".
        out: uint8 [height, width, 3], contiguous: an array, or a tensor on the CPU.

    Returns:
        uint8 [height, width, 3], a NumPy array; or `out`, with the pixels in it.

    Raises:
        UsageError: An argument makes no sense.
        SampleError: The image cannot be decoded, or is too large for
            PIL.Image.MAX_IMAGE_PIXELS. It is of the class that Pillow raised, too.

    Example:
        >>> from pathlib import Path
        >>> import fastload.image
        >>> data = Path("train/cat/0.jpg").read_bytes()
        >>> fastload.image.decode(data, region=(10, 0, 110, 80), size=(40, 50)).shape
        (40, 50, 3)
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise UsageError(
            f"{WHERE}: data (got {type(data).__name__}, want encoded bytes); read the file first"
        )
    if interpolation not in FILTERS.values():
        raise UsageError(
            f"{WHERE}: interpolation (got {interpolation!r}, want one of "
            f"{', '.join(FILTERS.values())})"
        )
    shape = None if size is None else _numbers(operator.index, size, 2)
    if size is not None and (shape is None or min(shape) < 1):
        raise UsageError(f"{WHERE}: size (got {size!r}, want height and width, 1 px or more)")
    try:
        return _decoded(data, region, shape, interpolation, out)
    except UsageError:
        raise
    except pil.DECODE_ERRORS as error:
        text = f"{WHERE}: cannot be decoded ({pil.reason(error)}); mend or remove the file"
        raise sample_error(text, -1, "", error) from error


def _numbers(number: Callable[[Any], int], values: Any, count: int) -> Any:
    """So many whole numbers, by `number`; None: they are none."""
    try:
        found = tuple(number(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if len(found) == count else None


def _decoded(data: Any, region: Box | None, size: Size | None, interpolation: str, out: Any) -> Any:
    status, _, height, width, _ = _native.image_header(data)
    if status != _native.OK:
        image = pil.decode(bytes(data))
        box = _region(region, image.size)
        return _by_pillow(image, box, _target(box, size, out), interpolation, out)
    pil.check_size(height, width)
    box = _region(region, (width, height))
    target = _target(box, size, out)
    full = whole((box[2] - box[0], box[3] - box[1]))
    # NumPy's memory is used again at once, what is new to the process costs a page fault per 4 KiB
    pixels = np.empty((*target[::-1], 3), np.uint8) if out is None else np.asarray(out)
    try:
        seeking.pixels(
            data, scale=1, crop=box, size=target, box=full, window=whole(target), flip=False,
            filter=interpolation, order=pil.PASS_ORDER, channels=3, filler=255, library=True,
            out=pixels,
        )  # fmt: skip
    except ValueError:
        return _by_pillow(pil.decode(bytes(data)), box, target, interpolation, out)
    return pixels if out is None else out


def _by_pillow(image: Image.Image, box: Box, target: Size, interpolation: str, out: Any) -> Any:
    resample = next(key for key, name in FILTERS.items() if name == interpolation)
    pixels: Pixels = np.array(image.crop(box).resize(target, resample))
    if out is None:
        return pixels
    np.asarray(out)[:] = pixels
    return out


def _region(region: Box | None, size: Size) -> Box:
    if region is None:
        return whole(size)
    box: Box | None = _numbers(round, region, 4)  # as Pillow rounds
    if box is None or not is_inside(box, size):
        raise UsageError(
            f"{WHERE}: region (got {region!r}, want left, top, right and bottom inside "
            f"{size[0]}x{size[1]} px, width x height)"
        )
    return box


def _target(box: Box, size: Size | None, out: Any) -> Size:
    """Width and height of what comes out, once `out` is known to fit."""
    left, top, right, bottom = box
    height, width = (bottom - top, right - left) if size is None else size
    if out is not None:
        array = np.asarray(out)
        if array.shape != (height, width, 3) or array.dtype != np.uint8:
            raise UsageError(
                f"{WHERE}: out (got {array.dtype} {list(array.shape)}, want uint8 "
                f"{[height, width, 3]})"
            )
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise UsageError(f"{WHERE}: out (got a view or a constant, want contiguous memory)")
    return width, height
