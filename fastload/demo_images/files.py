"""What one file is like: sizes, quality, coding and the block of metadata that some carry."""

import io
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image

from fastload.spec import Pixels

Random = np.random.Generator
UNIFORM_SHARE, UNIFORM_QUALITY = 0.665, 96  # the sample's first kind of picture
# And their weights
OTHER_QUALITY = {
    61: 9,
    69: 22,
    75: 58,
    80: 48,
    85: 40,
    86: 22,
    90: 32,
    92: 38,
    94: 26,
    96: 18,
    99: 10,
    100: 6,
}
# Pillow cannot write 4:4:0, 0.1 % of the sample
GREY, FULL, HALF, QUARTER = ("grey", "4:4:4", "4:2:2", "4:2:0")
JFIF_END = 20  # bytes: SOI and the APP0 block that Pillow writes


@dataclass(frozen=True)
class Info:
    """What one image is."""

    label: int  # 0..classes-1
    height: int  # px
    width: int  # px
    quality: int  # libjpeg's scale, 1..100
    sampling: str  # GREY, FULL, HALF or QUARTER
    optimized: bool  # has Huffman tables of its own, not the standard's


def random(seed: int, key: int) -> Random:
    return np.random.Generator(np.random.Philox(key=np.array([seed, key], np.uint64)))


def draw_info(rng: Random, label: int) -> Info:
    if rng.random() < UNIFORM_SHARE:
        long, quality, sampling = 500, UNIFORM_QUALITY, FULL
        short = int(
            rng.choice(
                [375, 333, 334, 332, int(rng.integers(281, 501))], p=[0.41, 0.22, 0.05, 0.04, 0.28]
            )
        )
    else:
        long = round(min(1800.0, max(72.0, 448 * math.exp(rng.laplace(0, 0.38)))))
        short = max(
            48,
            round(
                long
                / rng.choice([4 / 3, 3 / 2, 1.0, rng.uniform(1, 2.2)], p=[0.5, 0.14, 0.11, 0.25])
            ),
        )
        quality = int(rng.choice(np.repeat(list(OTHER_QUALITY), list(OTHER_QUALITY.values()))))
        quarter = 0.95 if quality < 80 else 0.58
        low = str(rng.choice([QUARTER, HALF, FULL], p=[quarter, 0.04, 0.96 - quarter]))
        sampling = low if quality < UNIFORM_QUALITY else FULL
    if rng.random() < 0.023:
        sampling = GREY
    height, width = (short, long) if rng.random() < 0.73 else (long, short)
    return Info(label, height, width, quality, sampling, optimized=bool(rng.random() < 0.979))


def metadata(rng: Random, info: Info) -> bytes:
    """28 % of the files carry a block of about 7 KB that readers must skip, as others do a colour
    profile or a thumbnail.
    """
    if rng.random() >= 0.28:
        return b""
    size = min(45_000, info.height * info.width // 4, int(rng.lognormal(math.log(5_500), 0.8)))
    return b"\xff\xed" + (size + 2).to_bytes(2, "big") + rng.bytes(size)  # APP13


def encode(planes: Pixels, info: Info) -> bytes:
    mode, pixels, sampling = (
        ("L", planes[..., 0], FULL) if info.sampling == GREY else ("YCbCr", planes, info.sampling)
    )
    image, out = Image.frombytes(mode, (info.width, info.height), pixels.tobytes()), io.BytesIO()
    image.save(out, "JPEG", quality=info.quality, optimize=info.optimized, subsampling=sampling)
    return out.getvalue()
