"""JPEGs for the tests of single images."""

import io
from typing import Any

import numpy as np
from PIL import Image


def jpeg(width: int = 203, height: int = 131, mode: str = "RGB", **options: Any) -> bytes:
    shape = (height // 6 + 1, width // 6 + 1, len(mode))[: 2 if mode == "L" else 3]
    coarse = np.random.default_rng(width * height).integers(0, 256, shape, np.uint8)
    file = io.BytesIO()
    image = Image.fromarray(coarse, mode).resize((width, height), Image.Resampling.BICUBIC)
    image.save(file, options.pop("format", "JPEG"), **options)
    return file.getvalue()
