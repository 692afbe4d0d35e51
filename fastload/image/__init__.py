"""fastload's decoder in your own code: `open` gives a PIL image that decodes only what is asked of
it, `decode` an array.
"""

import io
import os
from typing import IO

from PIL import Image

from fastload.image.decoding import decode
from fastload.image.lazy import lazy

__all__ = ["decode", "open"]


def open(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes],
    formats: list[str] | tuple[str, ...] | None = None,
) -> Image.Image:
    """An image of Pillow's that decodes only what is looked at.

    It takes what `PIL.Image.open` takes, and encoded bytes. The pixels are Pillow's, bit for bit.
    Of a baseline JPEG, `convert("RGB")`, `crop`, `resize`, `transpose(FLIP_LEFT_RIGHT)`, `draft`
    and `thumbnail` are only noted. When pixels are first needed, the part that is seen is decoded
    natively, without the GIL, and the image becomes an ordinary one of Pillow's. Whatever else is
    called, and any other file, is Pillow's own (docs/images.md). It raises what `PIL.Image.open`
    raises, and warns as it does.

    Args:
        source: A path, a file object, or the encoded bytes.
        formats: Names of the formats to try; None: all.

    Returns:
        A PIL image; of a JPEG a `JpegImageFile`.

    Example:
        >>> import fastload.image
        >>> image = fastload.image.open("train/cat/0.jpg").convert("RGB")
        >>> image.crop((10, 0, 110, 80)).resize((50, 40)).size
        (50, 40)
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        source = io.BytesIO(source)
    return lazy(Image.open(source, formats=formats))
