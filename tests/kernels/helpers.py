"""Images that the tests make for themselves, and short ways into the engine."""

import platform
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fastload import _native as native

FILTERS = {
    "nearest": 0,
    "box": 4,
    "bilinear": 2,
    "hamming": 5,
    "bicubic": 3,
    "lanczos": 1,
}  # Pillow's numbers
SAMPLINGS = {
    "4:4:4": (1, 1),
    "4:2:2": (2, 1),
    "4:2:0": (2, 2),
    "4:4:0": (1, 2),
    "4:1:1": (4, 1),
}  # of the luma


def noise(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Every value, black and white most often: the sums that round or clip wrongly show first."""
    values = np.random.default_rng([seed, height, width]).integers(-128, 384, (height, width, 3))
    return np.clip(values, 0, 255).astype(np.uint8)


def scene(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Soft shapes with colour edges, as JPEG likes them."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    rng = np.random.default_rng([seed, height, width])
    waves = [np.sin(x * a + y * b + c) for a, b, c in rng.uniform(0.02, 0.6, (3, 3))]
    return (
        (127 + 90 * np.stack(waves, -1) + rng.normal(0, 12, (height, width, 3)))
        .clip(0, 255)
        .astype(np.uint8)
    )


def jpeg(pixels: NDArray[np.uint8], sampling: str = "4:2:0", **options: object) -> bytes:
    """Sampling 4:4:4, 4:2:2 or 4:2:0: what Pillow can write."""
    out = BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", subsampling=sampling, quality=90, **options)
    return out.getvalue()


def encoded(pixels: NDArray[np.uint8], kind: str, **options: object) -> bytes:
    out = BytesIO()
    Image.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()


def files(tmp_path: Path, payloads: Sequence[bytes], *, keep_open: bool = False) -> native.Files:
    paths = [tmp_path / f"{n}.bin" for n in range(len(payloads))]
    for path, payload in zip(paths, payloads, strict=True):
        path.write_bytes(payload)
    return native.Files([str(path) for path in paths], keep_open)


def fetch(
    pool: native.Pool, source: native.Files, checksum: NDArray[np.uint64] | None = None
) -> native.Job:
    """Every file, whole."""
    count = len(source)
    return pool.fetch(source, np.arange(count), np.zeros(count, int), np.full(count, -1), checksum)


def whole(sizes: NDArray[np.int32], height: int, width: int) -> NDArray[np.int32]:
    """Crops that resize each image to height and width."""
    crops = np.zeros((len(sizes), 9), np.int32)
    crops[:, 2:4] = sizes
    crops[:, 4:6] = height, width
    return crops


def stored(
    table: Any = None, channels_last: bool = False, noise: Any = None, **lists: Any
) -> native.StoreRecords:
    """noise: keys, fillings and tables."""
    drawn = None if noise is None else native.Noise(*noise)
    return native.StoreRecords(channels_last=channels_last, table=table, noise=drawn, **lists)


def picture(
    crops: Any, filter: Any, table: Any, out: Any, height: int, width: int, channels_last: bool,
    order: str = "pillow13",
    programs: Any = None, functions: Any = None, **lists: Any,
) -> native.PictureWork:  # fmt: skip
    """Of a batch."""
    program = None if programs is None else native.Programs(programs, functions)
    return native.PictureWork(
        native.CropRecords(crops, filter, height, width, order),
        stored(table, channels_last, **lists),
        out,
        program,
    )


# GCC fuses multiplications with additions where the processor can, as on Arm, unless it is told not
# to. So Pillow's wheels for Arm differ from those for x86-64 by 1 in a few px of blends and affine
# maps; fastload gives the bits of x86-64 everywhere.
FUSED = platform.machine() not in ("x86_64", "AMD64")


def assert_pillows(got: NDArray[np.uint8], want: NDArray[np.uint8], message: str = "") -> None:
    """Equal to the bit, or nearly where Pillow's own wheels are not equal to each other."""
    if not FUSED:
        np.testing.assert_array_equal(got, want, err_msg=message)
        return
    off = np.abs(got.astype(int) - want)
    assert off.max() <= 1, message
    assert np.mean(off > 0) < 0.05, message


def pillow(data: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(BytesIO(data)).convert("RGB"))


HEIGHT, WIDTH = 24, 31  # of every output of one_batch


def table():
    return np.random.default_rng(1).normal(size=(3, 256)).astype(np.float32)


def run(job, out, crops=None):
    crops = whole(job.sizes, HEIGHT, WIDTH) if crops is None else crops
    job.run([picture(crops, "bilinear", table(), out, HEIGHT, WIDTH, False)])
    job.wait_done()


def give_foreign(job):
    for n in np.flatnonzero(job.status == native.FOREIGN):
        job.set_pixels(int(n), noise(33, 44, int(n)))


def one_batch(pool, source):
    job = fetch(pool, source)
    job.wait_fetched()
    out = np.full((len(job), 3, HEIGHT, WIDTH), np.nan, np.float32)
    give_foreign(job)
    run(job, out)
    give_foreign(job)
    run(job, out)
    return job, out
