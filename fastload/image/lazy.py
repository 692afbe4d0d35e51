"""Images that are Pillow's, and are decoded when their pixels are first needed.

An image goes through up to three classes, by assignment to its `__class__`:

    OpenedJpeg  → TakenJpeg → JpegImageFile (Pillow's)     what `open` gave
                  LazyImage → Image (Pillow's)             what calls on it gave

Opened: Pillow has read the header, nothing more. Taken: the file's bytes are here, its file is
closed, and what was asked for is in a `Cut`. Pillow's own class: there are pixels, and nothing of
fastload is left. What is not proved to be the same natively makes an image Pillow's at once.
"""

import io
from typing import Any, Protocol, cast

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from fastload import _native
from fastload.image.cut import Cut, whole
from fastload.image.encoded import Encoded, path_of

# Where Pillow keeps an image's memory behind a property, which a subclass can make: since 11.1.
SUPPORTED = isinstance(vars(Image.Image).get("im"), property)
# A resized image whose pixels take this much less than its file is made at once: a program that
# keeps small images in memory must not keep their files.
MUCH_LESS = 4


class _Ordinary(Protocol):
    """What every class here has."""

    _ordinary: type[Image.Image]


def ordinary(image: Image.Image) -> Image.Image:
    """The same object with its pixels, as an image of Pillow's own class."""
    if isinstance(image, (OpenedJpeg, _Lazy)):
        image.load()
    return image


def plain(image: object) -> type:
    """The class that Pillow would have given it."""
    kind: type = type(image)
    return cast("_Ordinary", image)._ordinary if isinstance(image, LAZY) else kind


class _Same:
    """What must not see the class."""

    __hash__ = None  # type: ignore[assignment]  # as Image.Image

    def __eq__(self, other: object) -> bool:
        if plain(self) is not plain(other):
            return False
        ordinary(cast("Image.Image", other))
        return bool(ordinary(cast("Image.Image", self)) == other)

    def __repr__(self) -> str:
        kind, own = plain(self), type(self)
        name = f"{own.__module__}.{own.__qualname__}"
        return super().__repr__().replace(name, f"{kind.__module__}.{kind.__qualname__}", 1)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ordinary(cast("Image.Image", self)).__reduce_ex__(protocol)


class OpenedJpeg(_Same, JpegImageFile):
    """What Pillow's `open` gave, of which nothing but the header is read."""

    _ordinary = JpegImageFile

    def load(self) -> Any:
        return _taken(self).load()

    def convert(self, *args: Any, **kwargs: Any) -> Image.Image:
        return _taken(self).convert(*args, **kwargs)

    def copy(self) -> Image.Image:
        return _taken(self).copy()

    def crop(self, box: Any = None) -> Image.Image:
        if box is not None and _cropped(Cut(whole(self.size), self.mode), box) is None:
            return JpegImageFile.crop(self, box)  # which may raise before it loads
        return _taken(self).crop(box)

    def resize(
        self, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None
    ) -> Image.Image:
        cut = Cut(whole(self.size), self.mode)
        if _resized(cut, size, resample, box, reducing_gap) is None:
            return JpegImageFile.resize(self, size, resample, box, reducing_gap)
        return _taken(self).resize(size, resample, box, reducing_gap)

    def transpose(self, *args: Any, **kwargs: Any) -> Image.Image:
        return _taken(self).transpose(*args, **kwargs)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return cast("dict[str, Any]", _taken(self).__array_interface__)


class _Lazy(_Same, Image.Image):
    """An image whose pixels are not made yet."""

    _ordinary: type[Image.Image] = Image.Image
    _encoded: Encoded
    _cut: Cut

    @property
    def im(self) -> Any:
        return ordinary(self).im

    @im.setter
    def im(self, core: Any) -> None:
        if core is None or not self._is_lazy():  # Pillow's __init__
            self._im = core
            return
        _settle(self)
        self.im = core

    def _is_lazy(self) -> bool:
        return "_encoded" in vars(self)

    def load(self) -> Any:
        encoded = vars(self).get("_encoded")
        if encoded is not None:
            with encoded.lock:
                if self._is_lazy():  # else another thread was first
                    core = encoded.make(self._cut)
                    _settle(self)
                    self.im = core
        return self.load() if not isinstance(self, _Lazy) else Image.Image.load(self)

    def close(self) -> None:
        _settle(self)
        self.close()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """As Pillow's: what NumPy makes an array of, here without an image of Pillow's before."""
        encoded = vars(self).get("_encoded")
        pixels = None if encoded is None else encoded.array(self._cut)
        if pixels is None:
            return cast("dict[str, Any]", ordinary(self).__array_interface__)
        # Pillow's order
        found = {"version": 3, "data": pixels.data.toreadonly()}
        return {**found, "shape": pixels.shape, "typestr": pixels.dtype.str}

    def _next(self, cut: Cut) -> Image.Image:
        """As Pillow's `_new`."""
        image = LazyImage()
        image._encoded, image._cut = self._encoded, cut
        image._mode, image._size = cut.mode, cut.size
        image.info = _info_of(self)
        return image

    def copy(self) -> Image.Image:
        return self._next(self._cut)

    def convert(self, mode: str | None = None, *args: Any, **kwargs: Any) -> Image.Image:
        simple = not args and not kwargs and "transparency" not in self.info
        cut = self._cut.to_mode(mode or self.mode) if simple else None
        return ordinary(self).convert(mode, *args, **kwargs) if cut is None else self._next(cut)

    def crop(self, box: Any = None) -> Image.Image:
        cut = self._cut if box is None else _cropped(self._cut, box)
        return ordinary(self).crop(box) if cut is None else self._next(cut)

    def resize(
        self, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None
    ) -> Image.Image:
        cut = _resized(self._cut, size, resample, box, reducing_gap)
        if cut is None:
            return ordinary(self).resize(size, resample, box, reducing_gap)
        image = self._next(cut)
        width, height = cut.size
        if MUCH_LESS * 4 * width * height <= len(self._encoded.data):
            image.load()
        return image

    def transpose(self, method: Any) -> Image.Image:
        # Pillow's old names, such as Image.FLIP_LEFT_RIGHT, are plain numbers.
        if type(method) in (int, Image.Transpose) and method == Image.Transpose.FLIP_LEFT_RIGHT:
            return self._next(self._cut.to_mirror())
        return ordinary(self).transpose(method)


class TakenJpeg(_Lazy, JpegImageFile):
    """The opened image itself, after a call that Pillow would have decoded it for."""

    _ordinary = JpegImageFile


class LazyImage(_Lazy):
    """What a call on a lazy image gave."""


LAZY = (OpenedJpeg, TakenJpeg, LazyImage)


def lazy(image: Image.Image) -> Image.Image:
    """The same object; lazy, where it is a JPEG that Pillow has just opened."""
    if SUPPORTED and type(image) is JpegImageFile:
        _become(image, OpenedJpeg)
    return image


def _info_of(image: Image.Image) -> dict[Any, Any]:
    """As `_new` copies it: since Pillow 13 with the lists in it."""
    return image._copy_info() if hasattr(image, "_copy_info") else image.info.copy()


def _become(image: Image.Image, kind: type[Image.Image]) -> None:
    image.__class__ = kind  # all of them have the same layout


def _settle(image: _Lazy) -> None:
    """Make it one of Pillow's own, without pixels."""
    vars(image).pop("_encoded", None)
    vars(image).pop("_cut", None)
    _become(image, image._ordinary)


def _taken(image: OpenedJpeg) -> Image.Image:
    """The same object: with its file's bytes, where fastload decodes it; else Pillow's, untouched.

    What Pillow's `load` raises is raised by Pillow, since only files that it is certain to take are
    taken.
    """
    encoded = _encoded(image)
    _become(image, JpegImageFile)
    if encoded is None:
        return image
    # What `ImageFile.load` leaves
    image.tile, image.readonly, image.map = [], 0, None
    if image._exclusive_fp and image._close_exclusive_fp_after_loading and image.fp:
        image.fp.close()
    image.fp = None
    _become(image, TakenJpeg)
    taken = cast("TakenJpeg", image)
    taken._encoded, taken._cut = encoded, Cut(whole(image.size), image.mode)
    return image


def _encoded(image: OpenedJpeg) -> Encoded | None:
    scale = image.decoderconfig[0] if image.decoderconfig else 1
    wanted = [("jpeg", whole(image.size), 0, (image.mode, ""))]
    if image._im is not None or not image.fp or image.tile != wanted:
        return None
    try:
        data = _bytes(image.fp)
        _, own, height, width, components = _native.image_header(data)
    except Exception:  # noqa: BLE001  a file object's own; Pillow will meet it again
        return None
    size = -(-width // scale), -(-height // scale)
    if not own or size != image.size or {1: "L", 3: "RGB"}[components] != image.mode:
        return None
    return Encoded(data, scale, image.mode, image.size, path_of(image))


def _bytes(file: Any) -> bytes:
    """All of a file, which is then at its end, as Pillow leaves short ones."""
    if type(file) is io.BytesIO:
        file.seek(0, io.SEEK_END)
        return file.getvalue()
    file.seek(0)
    return bytes(file.read())


def _cropped(cut: Cut, box: Any) -> Cut | None:
    """None, too, where Pillow warns of the size."""
    try:
        left, top, right, bottom = map(int, map(round, box))
    except Exception:  # noqa: BLE001  whatever a box is made of; Pillow will say
        return None
    most = Image.MAX_IMAGE_PIXELS
    if most is not None and (right - left) * (bottom - top) > most:
        return None
    return cut.to_crop((left, top, right, bottom))


def _resized(cut: Cut, size: Any, resample: Any, box: Any, gap: Any) -> Cut | None:
    resample = Image.Resampling.BICUBIC if resample is None else resample
    box = whole(cut.size) if box is None else box
    numbers = isinstance(size, (tuple, list)) and isinstance(box, (tuple, list))
    if not numbers or not isinstance(resample, int) or len(size) != 2 or len(box) != 4:
        return None
    if {type(value) for value in size} != {int} or {type(v) for v in box} - {int, float}:
        return None
    if gap is not None:
        if type(gap) not in (int, float) or gap < 1 or min(size) < 1:
            return None
        # Where Pillow would reduce first
        across, down = (int((box[i + 2] - box[i]) / size[i] / gap) or 1 for i in range(2))
        if (across > 1 or down > 1) and resample != Image.Resampling.NEAREST:
            return None
    return cut.to_resize((size[0], size[1]), resample, (box[0], box[1], box[2], box[3]))
