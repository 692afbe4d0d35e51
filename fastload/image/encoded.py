"""The bytes of one JPEG, from which all lazy images of it are made."""

import io
import os
import threading
from typing import Any

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from fastload.image import seeking
from fastload.image.cut import Cut, Floats, whole
from fastload.spec import Pixels
from fastload.transforms.pil import PASS_ORDER


class Encoded:
    """A JPEG that Pillow is certain to take and that the own decoder covers, decoded at 1/scale.

    The first image made of it is one native decode of its part. Who asks for a second one will ask
    for more (TenCrop, several views), so then the whole is decoded, once, and kept.
    """

    def __init__(
        self, data: bytes, scale: int, mode: str, size: tuple[int, int], path: str = ""
    ) -> None:
        self.data, self.scale, self.mode, self.size = data, scale, mode, size
        self.path = path  # of its file, if it is one
        self.lock = threading.RLock()
        self._begun = False
        self._whole: Image.Image | None = None

    def make(self, cut: Cut) -> Any:
        """Pillow's own image memory with the pixels of a cut."""
        with self.lock:
            if not self._begun:
                self._begun = True
                if (made := self._native(cut)) is not None:
                    return made.im
            if self._whole is None:
                self._whole = self._native(Cut(whole(self.size), self.mode)) or self._by_pillow()
            return cut.by_pillow(self._whole).im

    def array(self, cut: Cut) -> Pixels | None:
        """uint8 [height, width, 3], of one channel [height, width]; None: `make` it."""
        with self.lock:
            if self._begun:
                return None
            self._begun = True
            return self._pixels(cut, 3 if cut.mode == "RGB" else 1)

    def _native(self, cut: Cut) -> Image.Image | None:
        """None where the own decoder does not take the coded bits."""
        colours = cut.mode == "RGB"
        pixels = self._pixels(cut, 4 if colours else 1)
        if pixels is None:
            return None
        return Image.frombytes(cut.mode, cut.size, pixels.data, "raw", "RGBX" if colours else "L")

    def _pixels(self, cut: Cut, channels: int) -> Pixels | None:
        size = cut.resized or cut.cropped
        full: Floats = whole(cut.cropped)
        try:
            pixels = seeking.pixels(
                self.data, self.path, scale=self.scale, crop=cut.crop, size=size,
                box=cut.box or full, window=cut.shown, flip=cut.mirrored, filter=cut.filter,
                order=PASS_ORDER, channels=channels, filler=cut.filler, library=False,
            )  # fmt: skip
        except ValueError:
            return None
        return pixels if channels > 1 else pixels[..., 0]

    def _by_pillow(self) -> Image.Image:
        image = JpegImageFile(io.BytesIO(self.data))
        if self.scale > 1:
            image.draft(None, (image.width // self.scale, image.height // self.scale))
        image.load()
        return image


def path_of(image: Any) -> str:
    """Of the file that Pillow has opened as an image; "" where it is none, or is not known."""
    path = image.filename
    if not path and type(image.fp) is io.BufferedReader:  # which the program has opened
        path = image.fp.name
    return os.fsdecode(path) if type(path) in (str, bytes) else ""
