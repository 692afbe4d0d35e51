"""What the decode benchmark works on:

JPEGs in memory, and for each one crop, drawn once by fastload's own ops.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from fastload import _native, sources
from fastload.backends.native import crop
from fastload.errors import SourceError
from fastload.plan.steps import infer_specs, records
from fastload.spec import Ints, Work
from fastload.transforms import Op, RandomHorizontalFlip, RandomResizedCrop, Resize

MOST = 1000  # images; of a larger data set every nth
SCALAR_EVERY = 50  # the scalar body is for comparing bits: a few images tell its speed
TINY, TINY_QUALITY = 64, 90  # short side, px; libjpeg's scale
SEED = 0  # of the crops
RANDOM, WHOLE, SMALL = "random crops", "whole-image crops", "tiny images"
PROGRESSIVE = "random crops of progressive copies"
SCALAR = f"{RANDOM}, every {SCALAR_EVERY}th image"


@dataclass(frozen=True)
class Images:
    """JPEGs that fastload's own decoder covers."""

    jpegs: tuple[bytes, ...]
    sizes: Ints  # int32 [N, 2]: height and width, px
    samplings: tuple[str, ...]  # "4:2:0", …, "grey"
    stride: int = 1  # every nth image of the data set was taken
    left_out: int = 0  # images that were taken, but not covered

    def every(self, nth: int) -> "Images":
        return Images(self.jpegs[::nth], self.sizes[::nth], self.samplings[::nth])

    def facts(self, name: str) -> dict[str, Any]:
        """As `facts.data_set`, of just these images."""
        pixels = self.sizes.prod(axis=1, dtype=np.int64)
        mean_bytes = round(float(np.mean([len(jpeg) for jpeg in self.jpegs])))
        return {
            "name": name,
            "images": len(self.jpegs),
            "mean_bytes": mean_bytes,
            "mean_pixels": round(float(pixels.mean())),
        }


@dataclass(frozen=True)
class Workload:
    """Images and what is to be made of each: uint8 [size, size, 3]."""

    name: str
    images: Images
    crops: Ints  # int32 [N, 10], see `_native.Job.run`
    size: int  # px


def read(where: str) -> Images:
    """Up to MOST images of the data set at `where`, evenly spaced. Raises SourceError."""
    source = sources.open_source(where)
    stride = -(-len(source) // MOST)
    try:
        jpegs = [sources.read(source, sample) for sample in range(0, len(source), stride)]
    except OSError as error:
        raise SourceError(f"{where}: cannot be read ({error}); mend or remove the file") from error
    return covered(where, jpegs, stride)


def covered(where: str, jpegs: Iterable[bytes], stride: int = 1) -> Images:
    """The images of `jpegs` that the own decoder covers. Raises SourceError if there are none."""
    kept, left_out = [], 0
    for jpeg in jpegs:
        try:
            _native.jpeg_index(jpeg, 0)
        except ValueError:
            left_out += 1
        else:
            kept.append(jpeg)
    if not kept:
        raise SourceError(
            f"{where}: no image that fastload's own decoder covers (got {left_out} others); give "
            "baseline JPEGs"
        )
    headers = [_native.probe(jpeg) for jpeg in kept]
    sizes = np.array([(height, width) for _, height, width, _, _ in headers], np.int32)
    samplings = tuple(
        "grey" if channels == 1 else kind.removeprefix("jpeg ")
        for _, _, _, channels, kind in headers
    )
    return Images(tuple(kept), sizes, samplings, stride, left_out)


def workloads(images: Images, size: int) -> list[Workload]:
    """Random crops first; the others are those where less is gained.

    WHOLE: the box of every crop is the whole image.
    """
    tiny = covered(SMALL, (shrunk(jpeg) for jpeg in images.jpegs))
    few = images.every(SCALAR_EVERY)
    random_crops = draw((RandomResizedCrop(size), RandomHorizontalFlip()), images.sizes)
    copies = replace(images, jpegs=tuple(progressive(jpeg) for jpeg in images.jpegs))
    return [
        Workload(RANDOM, images, random_crops, size),
        Workload(SCALAR, few, random_crops[::SCALAR_EVERY], size),
        Workload(
            WHOLE, images, draw((Resize((size, size)), RandomHorizontalFlip()), images.sizes), size
        ),
        Workload(
            SMALL, tiny, draw((RandomResizedCrop(TINY), RandomHorizontalFlip()), tiny.sizes), TINY
        ),
        Workload(PROGRESSIVE, copies, random_crops, size),
    ]


def draw(ops: Sequence[Op], sizes: Ints) -> Ints:
    """Crop records int32 [N, 10] of images of `sizes` int32 [N, 2], px; the same ones for the same
    number of images.
    """
    steps, _ = infer_specs(tuple(ops))
    samples = np.arange(len(sizes), dtype=np.int64)
    work = Work(samples, np.zeros_like(samples), seed=SEED, epoch=0, step=0)
    return crop.fold(steps, records(steps, work, sizes), sizes)[0]


def progressive(jpeg: bytes) -> bytes:
    """The picture with the same tables and sampling, in Pillow's (libjpeg's) ten scans."""
    out = io.BytesIO()
    with Image.open(io.BytesIO(jpeg)) as image:
        image.save(out, "JPEG", quality="keep", progressive=True)
    return out.getvalue()


def shrunk(jpeg: bytes) -> bytes:
    """The picture with a short side of TINY px, saved as Pillow does by default, but for the
    quality.
    """
    with Image.open(io.BytesIO(jpeg)) as image:
        share = TINY / min(image.size)
        small = image.resize(
            (max(TINY, round(image.width * share)), max(TINY, round(image.height * share)))
        )
    out = io.BytesIO()
    small.save(out, "JPEG", quality=TINY_QUALITY)
    return out.getvalue()
