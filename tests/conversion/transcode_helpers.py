"""What the tests of --transcode share."""

import io

import numpy as np
from PIL import Image

from fastload import _native
from fastload.sources import open_source


def payloads(folder):
    """Key to bytes of all samples."""
    source = open_source(folder)
    place = source.locate(np.arange(len(source)))
    rows = zip(
        place.file.tolist(),
        place.offset.tolist(),
        place.size.tolist(),
        place.checksum.tolist(),
        strict=True,
    )
    data = [
        (source.files.read(file, offset, size), checksum) for file, offset, size, checksum in rows
    ]
    assert [_native.xxh3(image) for image, _ in data] == [checksum for _, checksum in data]
    return {source.index.key(n): image for n, (image, _) in enumerate(data)}


def encode(height, width, seed=0, **how):
    """A photograph-like JPEG: noise would hide what the tables are worth."""
    y, x = np.mgrid[:height, :width]
    pixels = (
        128
        + 60 * np.sin((x + seed) / 5)
        + 50 * np.cos(y / 7)
        + np.random.default_rng(seed).normal(0, 4, (height, width))
    )
    out = io.BytesIO()
    Image.fromarray(
        np.stack([pixels, pixels * 0.8, 255 - pixels], -1).clip(0, 255).astype(np.uint8)
    ).save(out, "JPEG", quality=85, **how)
    return out.getvalue()


PROGRESSIVE, RESTARTS, OPTIMISED = (
    {"progressive": True},
    {"restart_marker_rows": 1},
    {"optimize": True},
)


def write_mixed(tools, tmp_path):
    files = {
        "a/plain.jpg": encode(60, 90),
        "a/progressive.jpg": encode(150, 210, 1, **PROGRESSIVE),
        "a/restarts.jpg": encode(150, 200, 2, **RESTARTS),
        "b/late.jpg": encode(80, 90, 3, **PROGRESSIVE),
        "b/cmyk.jpg": tools.encode(40, 50, 4, mode="CMYK", progressive=True),
        "b/a.png": tools.encode(20, 30, 5, format="PNG"),
        "b/second.jpg": encode(100, 130, 6, **PROGRESSIVE),
    }
    late = files["b/late.jpg"]
    at = late.rfind(b"\xff\xc4")  # in front of the last scan's table
    files["b/late.jpg"] = late[:at] + b"\xff\xfe\x00\x04no" + late[at:]
    return tools.write_tree(tmp_path / "mixed", files)


WANT = {
    "a/progressive": encode(150, 210, 1, **OPTIMISED),
    "a/restarts": encode(150, 200, 2, **OPTIMISED),
    "b/second": encode(100, 130, 6, **OPTIMISED),
}
