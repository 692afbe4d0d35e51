"""A batch's images that Pillow decodes: not too many px of them at a time.

And what Pillow says of large ones, for all.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fastload import _native
from fastload.errors import SampleError
from fastload.sources import Source, raw_pixels, read
from fastload.spec import Ints, Pixels, Work
from fastload.transforms import pil

HELD = 32 << 20  # bytes of pixels that a batch may hold before they are made into what is asked for


class Given:
    """What a native job is given in one go."""

    def __init__(self, job: _native.Job, source: Source, work: Work) -> None:
        self.job, self.source, self.work = job, source, work
        self.held = 0  # bytes
        self.sizes = job.sizes.tolist()

    def pixels(self, position: int, scale: int | None) -> bool:
        """Whether a sample's pixels are given, at 1/scale; else its size (scale=None: nobody knows
        it yet), or nothing.

        Raises SampleError.
        """
        sample = int(self.work.samples[position])
        name = self.source.name(sample)
        try:
            pixels = raw_pixels(self.source, sample)
            if (
                pixels is None
                and (scale is None or self.held)
                and self._beyond(position, scale or 1)
            ):
                if scale is not None:
                    return False
                if (size := pil.header_size(self._payload(position, sample))) is not None:
                    self.job.set_size(position, *size)
                    return False
            pixels = (
                pil.decode_pixels(self._payload(position, sample), scale or 1)
                if pixels is None
                else pixels
            )
        except pil.DECODE_ERRORS as error:
            raise pil.undecodable(name, sample, error) from error
        if scale is not None and pixels.shape[:2] != (
            want := tuple(-(-side // scale) for side in self.sizes[position])
        ):
            got, said = ("x".join(map(str, size)) for size in (pixels.shape[:2], want))
            raise SampleError(
                name, sample, f"is {got} px, and was said to be {said} px; mend or remove the file"
            )
        self._give(position, np.ascontiguousarray(pixels), scale or 1)
        return True

    def _beyond(self, position: int, scale: int) -> bool:
        """Whether too much is held with this sample; of a format whose size nobody knows, too."""
        height, width = self.sizes[position]
        return not height or self.held + 3 * (height // scale) * (width // scale) > HELD

    def _give(self, position: int, pixels: Pixels, scale: int) -> None:
        self.job.set_pixels(position, pixels, scale)
        self.held += pixels.nbytes

    def _payload(self, position: int, sample: int) -> bytes:
        """The encoded bytes: those that the job has, which reads no large files."""
        return self.job.payload(position) or read(self.source, sample)


def too_large(
    source: Source, work: Work, sizes: Ints, encoded: NDArray[np.bool_]
) -> list[tuple[int, SampleError]]:
    """Places and errors of the images that `PIL.Image.MAX_IMAGE_PIXELS` forbids, by the value of
    now; of others it warns.

    encoded: bool [N], whether a sample is one that Pillow has not looked at; raw pixels, which it
        never would, may be among them.
    """
    most = Image.MAX_IMAGE_PIXELS
    if most is None or int(sizes.max(initial=0)) ** 2 <= most:
        return []  # at once, as nearly always
    pixels = sizes[:, 0].astype(np.int64) * sizes[:, 1]
    positions = np.flatnonzero((pixels > most) & encoded)
    if not len(positions):
        return []
    errors = []
    for position in positions[~source.locate(work.samples[positions]).is_raw].tolist():
        try:
            pil.check_size(*sizes[position].tolist())
        except pil.DECODE_ERRORS as error:
            sample = int(work.samples[position])
            errors.append((position, pil.undecodable(source.name(sample), sample, error)))
    return errors
