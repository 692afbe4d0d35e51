"""One list of damaged JPEGs as every source and every backend sees it: of each file its pixels'
digest, or that it is bad.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import fastload
from fastload import transforms as T
from fastload.conversion import indexing, job
from fastload.errors import SampleError
from tests.beton.layout import Writer

HEIGHT, WIDTH = 24, 40  # px; of every crop
SIZE = HEIGHT, WIDTH
CROPS: dict[str, list[Any]] = {
    "CenterCrop": [T.CenterCrop(SIZE), T.ToImage()],
    "RandomResizedCrop": [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToImage()],
    "Resize": [T.Resize(SIZE), T.ToImage()],
    "Resize, scaled": [T.Resize(SIZE), T.ToImage()],  # decode_scale="fast"
}
# How a loader comes to its samples: the data, and seek_index. The second epoch of "collecting" has
# what the first one collected.
SOURCES = {"no index": ("plain", "off"), "collecting": ("collected", "auto"), "index": ("indexed",
    "use"), "shards": ("shards", "use"),
           "beton": ("x.beton", "use")}  # fmt: skip
BACKENDS = {"native": tuple(SOURCES), "torch": ("no index", "shards", "beton"), "ffcv": ("beton",),
    "dali": ("no index", "shards"),
            "dali-own": ("no index",)}  # fmt: skip
ONLY = {"Resize, scaled": ("native", "torch"), "CenterCrop": ("native", "torch", "ffcv", "dali"),
        "Resize": ("native", "torch", "ffcv", "dali")}  # fmt: skip
BAD = "bad"


def digest(pixels: np.ndarray) -> str:
    """Of uint8 [3, H, W]."""
    return hashlib.blake2b(np.ascontiguousarray(pixels).tobytes(), digest_size=12).hexdigest()


def judged(data: bytes) -> tuple[str, tuple[int, int]]:
    """What Pillow says of the file: the digest of its middle (empty where that is all of it), or
    BAD; and height, width.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data)) as image:
                pixels = np.asarray(image.convert("RGB"))
    except Exception:  # whatever it is, it ends a program's epoch
        return BAD, SIZE
    height, width = pixels.shape[:2]
    if height < HEIGHT or width < WIDTH:
        return "", (height, width)
    top, left = round((height - HEIGHT) / 2), round((width - WIDTH) / 2)  # as torchvision's
    return digest(pixels[top : top + HEIGHT, left : left + WIDTH].transpose(2, 0, 1)), (
        height,
        width,
    )


def lay_out(files: Sequence[bytes], sizes: Sequence[tuple[int, int]], root: Path) -> None:
    """The same files as every source has them. sizes: height and width that FFCV's file says."""
    for name in ("plain", "collected", "indexed"):
        folder = root / name / "a"
        folder.mkdir(parents=True)
        for number, data in enumerate(files):
            path = folder / f"{number:06}.jpg"
            if name == "plain":
                path.write_bytes(data)
            else:
                os.link(root / "plain" / "a" / path.name, path)
    indexing.run(indexing.prepare(str(root / "indexed")), 8, 1)
    job.run(
        job.prepare(str(root / "plain"), str(root / "shards"), job.Options(check="none", workers=1))
    )
    rows = [[("jpg", data, *size), 0] for data, size in zip(files, sizes, strict=True)]
    (root / "x.beton").write_bytes(Writer([("image", "image"), ("label", "int")], rows).bytes())


def seen(root: Path, source: str, backend: str, crop: str, count: int) -> list[list[str]]:
    """Of each epoch, what became of each file."""
    where, index = SOURCES[source]
    data = fastload.open(str(root / where), CROPS[crop])
    if backend.startswith("dali"):
        return [_listed(data, backend, root, count)]
    workers = 0 if backend == "torch" else 1  # threads; those of torch would be processes
    scale = "fast" if crop.endswith("scaled") else "exact"
    loader = fastload.DataLoader(
        data, 1, backend=backend, seed=3, seek_index=index, num_workers=workers, decode_scale=scale
    )
    assert f"backend {backend}" in loader.explain()
    epochs = []
    for _ in range(2 if source == "collecting" else 1):
        loader.set_epoch(0)  # the same crops again
        batches, out = iter(loader), []
        for _ in range(count):
            try:
                out.append(digest(next(batches)[0][0].numpy()))
            except SampleError:
                out.append(BAD)
        epochs.append(out)
    if backend == "native" and source not in ("no index", "beton"):
        assert loader.decodes()["indexed"], "the index was not used"
    return epochs


def _listed(data: Any, backend: str, root: Path, count: int) -> list[str]:
    """DALI makes a new pipeline for each error: the list of bad samples says as much.

    Pixels are not compared: they differ by a little.
    """
    listed = root / "bad.jsonl"
    listed.unlink(missing_ok=True)
    options = {"on_error": "skip", "max_bad": count, "bad_samples": str(listed), "num_workers": 1}
    for _ in fastload.DataLoader(data, 50, backend=backend, seed=3, **options):
        pass
    lines = listed.read_text().splitlines() if listed.exists() else []
    bad = {json.loads(line)["index"] for line in lines}
    return [BAD if number in bad else "" for number in range(count)]


class Difference(NamedTuple):
    """A file of which a cell says something else than it should:

    Pillow's verdict, or the pixels of Pillow and torchvision's ops.
    """

    cell: str
    number: int
    got: str
    want: str


def differences(
    files: Sequence[bytes], root: Path, backends: Sequence[str] = tuple(BACKENDS)
) -> tuple[dict[str, int], list[Difference]]:
    """How many files each cell (source, backend, crop) was asked for, and where it differs.

    How many are bad stands under BAD.
    """
    verdicts, sizes = zip(*(judged(data) for data in files), strict=True)
    lay_out(files, sizes, root)
    cells, found = {BAD: sum(one == BAD for one in verdicts)}, []
    for crop in CROPS:
        reference = seen(root, "no index", "torch", crop, len(files))[0]
        wanted = (
            list(verdicts)
            if crop == "CenterCrop"
            else [BAD if one == BAD else "" for one in verdicts]
        )
        for backend in [one for one in backends if one in ONLY.get(crop, BACKENDS)]:
            for source in BACKENDS[backend]:
                for epoch, got in enumerate(seen(root, source, backend, crop, len(files))):
                    name = "collected" if epoch else source
                    cell = f"{name}, {backend}, {crop}"
                    cells[cell] = len(files)
                    found += _compared(cell, got, wanted)
                    found += _compared(cell, got, reference)
    return cells, sorted(set(found))


def _compared(cell: str, got: Sequence[str], wanted: Sequence[str]) -> list[Difference]:
    """An empty text is any image."""
    pairs = enumerate(zip(got, wanted, strict=True))
    return [
        Difference(cell, n, a, b)
        for n, (a, b) in pairs
        if (a == BAD) != (b == BAD) or (a and b and a != b)
    ]
