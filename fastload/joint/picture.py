"""An image on its way through joint transforms: what was asked of it, made as late as possible.

A crop, a resize, a window that may reach beyond that (filled), and a mirror image are kept as
numbers. One native call makes them, of the encoded bytes or of pixels that are there.
"""

import threading
from collections.abc import Sequence

import numpy as np

from fastload import _native
from fastload.spec import Floats, Ints, Pixels
from fastload.transforms import pil

Size = tuple[int, int]  # height and width, px
Box = tuple[int, int, int, int]  # top, left, height, width, px
Fill = tuple[int, int, int]
BLACK: Fill = (0, 0, 0)
OPAQUE = 255  # the byte beside three channels, which nobody sees here
_memory = threading.local()


class Picture:
    """One image of three channels.

    Between calls it is a crop of its source, resized, of which a window is seen, mirrored or not.
    """

    def __init__(self, source: bytes | Pixels, size: Size) -> None:
        """source: an encoded image that `_native.image_header` takes, or uint8 [H, W, 3]; size: of
        the source.
        """
        self._begin(source, size)

    def _begin(self, source: bytes | Pixels, size: Size) -> None:
        self.source, self.crop = source, (0, 0, *size)
        self.resized: Size | None = None
        self.filter = "bilinear"
        self.window: Box = (0, 0, *size)  # of the crop, once resized
        self.shown = self.window  # what of the image is in it; around that is the fill
        self.mirrored, self.fill = False, BLACK

    @property
    def size(self) -> Size:
        return self.window[2:]

    @property
    def padded(self) -> bool:
        """Whether its window shows something beyond the image."""
        return self.shown != self.window

    def flip(self) -> None:
        self.mirrored = not self.mirrored

    def cut(self, top: int, left: int, height: int, width: int) -> None:
        """Only this box of what is seen now. It lies inside that."""
        y, x, _, seen = self.window
        left = seen - left - width if self.mirrored else left
        self.window = (y + top, x + left, height, width)
        self.shown = _meet(self.shown, self.window)

    def pad(self, padding: Sequence[int], fill: Fill) -> None:
        """So many px more: left, top, right and bottom."""
        left, top, right, bottom = padding
        if self.padded and fill != self.fill:
            self.settle()
        if self.mirrored:
            left, right = right, left
        y, x, height, width = self.window
        self.window = (y - top, x - left, height + top + bottom, width + left + right)
        self.fill = fill

    def resize(self, height: int, width: int, filter: str) -> None:
        """As Pillow resizes, which antialiases."""
        if (height, width) == self.size:
            return
        if self.resized is not None or self.mirrored or self.padded:
            self.settle()
        top, left, *_ = self.crop
        y, x, *seen = self.window
        self.crop = (top + y, left + x, seen[0], seen[1])
        self.resized, self.filter = (height, width), filter
        self.window = self.shown = (0, 0, height, width)

    def augment(self, program: Floats) -> None:
        """program: float64 [depth, 13], as of `_native.augment`."""
        self._go_on(_native.augment(np.ascontiguousarray(self.made()), program))

    def permute(self, channels: tuple[int, ...]) -> None:
        """channels: of each channel, which one it becomes."""
        now = self.made()
        out = np.empty(now.shape, np.uint8)
        for to, channel in enumerate(channels):
            out[..., to] = now[..., channel]
        self._go_on(out)

    def become(self, pixels: Pixels) -> None:
        """Go on from these, which nobody changes."""
        self._go_on(pixels)

    def settle(self) -> None:
        """Make the pixels, from which the next steps go on."""
        pixels = self.made()
        self._go_on(pixels.copy() if pixels.base is not None else pixels)

    def _go_on(self, pixels: Pixels) -> None:
        self._begin(pixels, (pixels.shape[0], pixels.shape[1]))

    def made(self) -> Pixels:
        """uint8 [H, W, 3], contiguous; valid until this thread makes the next ones."""
        if not self.padded:
            return self._seen(self.window)
        canvas = _scratch("canvas", self.size)
        canvas.reshape(self.size[0], -1)[:] = np.tile(np.array(self.fill, np.uint8), self.size[1])
        top, left, height, width = self.shown
        if height > 0 and width > 0:
            y, x = top - self.window[0], left - self.window[1]
            x = self.size[1] - x - width if self.mirrored else x
            canvas[y : y + height, x : x + width] = self._seen(self.shown)
        return canvas

    def _seen(self, window: Box) -> Pixels:
        """The window, which lies inside the image."""
        asked = window
        top, left, height, width = self.crop
        if self.resized is None:  # then nothing of the source but the window is needed
            (top, left, *_), (height, width) = _add(self.crop, window), window[2:]
            window = (0, 0, height, width)
        full_height, full_width = self.resized or (height, width)
        y, x, *seen = window
        if isinstance(self.source, bytes):
            out = _scratch("decoded", (seen[0], seen[1]))
            try:
                _native.image_pixels(
                    self.source, scale=1, crop=(left, top, left + width, top + height),
                    size=(full_width, full_height), box=(0, 0, width, height),
                    window=(x, y, x + seen[1], y + seen[0]), flip=self.mirrored,
                    filter=self.filter, order=pil.PASS_ORDER, channels=3, filler=OPAQUE,
                    library=True, out=out,
                )  # fmt: skip
            except ValueError:  # coded bits that only Pillow takes
                self.source = np.asarray(pil.decode(self.source))
                return self._seen(asked)
            return out
        if self.resized is None:
            cut = self.source[top : top + height, left : left + width]
            return np.ascontiguousarray(cut[:, ::-1] if self.mirrored else cut)
        out = _scratch("resized", (seen[0], seen[1]))
        row: Ints = np.array(
            [top, left, height, width, full_height, full_width, y, x, self.mirrored], np.int32
        )
        image = np.ascontiguousarray(self.source)
        _native.crop_resize(image, row, out, self.filter, "best", pil.PASS_ORDER)
        return out


def opened(data: bytes) -> Picture:
    """Of an encoded image. What the native decoders do not take is decoded now, by Pillow.

    Raises pil.DECODE_ERRORS.
    """
    status, _, height, width, _ = _native.image_header(data)
    if status == _native.OK:
        pil.check_size(height, width)
        return Picture(data, (height, width))
    pixels = np.asarray(pil.decode(data))
    return Picture(pixels, (pixels.shape[0], pixels.shape[1]))


def _add(crop: Box, window: Box) -> Box:
    return (crop[0] + window[0], crop[1] + window[1], window[2], window[3])


def _meet(one: Box, other: Box) -> Box:
    """What both have; without px where there is nothing."""
    top, left = max(one[0], other[0]), max(one[1], other[1])
    bottom = min(one[0] + one[2], other[0] + other[2])
    right = min(one[1] + one[3], other[1] + other[3])
    return (top, left, bottom - top, right - left)


def _scratch(name: str, size: Size) -> Pixels:
    """uint8 [H, W, 3] of this thread's memory, which is used again: new pages cost more than
    decoding into them.
    """
    needed = size[0] * size[1] * 3
    memory: Pixels | None = getattr(_memory, name, None)
    if memory is None or memory.size < needed:
        memory = np.empty(needed, np.uint8)
        setattr(_memory, name, memory)
    return memory[:needed].reshape(*size, 3)
