"""Samples as FFCV stores them: bytes of JPEGs that its decoder takes, raw pixels of all else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fastload.conversion import samples
from fastload.conversion.beton_pages import Stored
from fastload.conversion.editing import UNCHANGED, Edits
from fastload.conversion.making import How, Maker
from fastload.conversion.options import POLICIES
from fastload.conversion.parts import Item
from fastload.conversion.readers.base import Reader
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Stop
from fastload.errors import UsageError
from fastload.sources import beton_file as format
from fastload.transforms import pil

# Bytes of an image: a page holds it whole, and the header has 32 bits for a page's size
LARGEST = 1 << 31
MOST_PX = 0xFFFF  # of a side
MODES = ("keep", "raw")


@dataclass(frozen=True)
class Options:
    """How to write a file. mode: "keep" the bytes of JPEGs, or store "raw" pixels of all."""

    mode: str = "keep"
    workers: int | None = None
    shuffle: int | None = None  # seed; None keeps the source's order
    on_error: str = "raise"  # or "skip", "substitute"
    check: str = "decode"  # of samples.CHECKS
    overwrite: bool = False
    transcode: bool = False  # rewrite slow JPEGs as baseline
    edits: Edits = UNCHANGED
    extras: str = "keep"  # or "drop": files beside the images, which FFCV's files cannot hold
    resume: bool = False  # go on with what an interrupted conversion left

    def __post_init__(self) -> None:
        wanted = (
            ("mode", self.mode, MODES),
            ("on_error", self.on_error, POLICIES),
            ("check", self.check, samples.CHECKS),
        )
        for name, value, known in wanted:
            if value not in known:
                raise UsageError(
                    f"{name}: got {value!r}, want {' or '.join(map(repr, known))}; choose one"
                )

    @property
    def how(self) -> How:
        """Up to the checks, which are another matter here: what is no JPEG that FFCV takes becomes
        pixels.
        """
        return How(
            "none",
            self.transcode,
            self.edits,
            extras=False,
            substitute=self.on_error == "substitute",
        )


class StoredMaker(Maker):
    """Samples as FFCV stores them."""

    def __init__(
        self,
        reader: Reader,
        options: Options,
        chosen: Sequence[int],
        step: Callable[[int], object] = int,
        stop: Stop | None = None,
    ) -> None:
        super().__init__(reader, options.how, chosen, step, stop or Stop())
        self.options = options

    def made(self, sample: int, owner: int) -> Stored:
        return _stored(super().made(sample, owner), self.options)


def _stored(item: Item, options: Options) -> Stored:
    """Raises BadSampleError."""
    data, facts, own = item.data, item.row.facts, (item.key, item.label)
    plain = facts.format.startswith(("jpeg 4:", "jpeg grey"))  # FFCV's decoder takes no others
    if (
        options.mode == "keep"
        and plain
        and (
            samples.look(data, options.check).sound
            or options.check == "none"
            or samples.decodes_natively(data)
        )
    ):
        return Stored(*own, data, item.row, height=facts.height, width=facts.width)
    try:
        pixels = np.asarray(pil.decode(data))
    except samples.PILLOW_ERRORS as error:
        why = (
            "is no image that Pillow knows"
            if facts.format == "unknown"
            else f"cannot be decoded ({samples.reason(error)})"
        )
        raise BadSampleError(f"{why}; mend or remove the file") from error
    height, width = pixels.shape[:2]
    if max(height, width) > MOST_PX or pixels.nbytes > LARGEST:
        raise BadSampleError(
            f"is too large for FFCV (got {height}x{width} px, want sides up to {MOST_PX} and 2 "
            "GiB); resize it"
        )
    return Stored(
        *own,
        np.ascontiguousarray(pixels).tobytes(),
        item.row,
        mode=format.RAW,
        height=height,
        width=width,
    )
