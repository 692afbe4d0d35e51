"""What calls on a lazy image have asked for so far, in the one order that native code makes: crop,
resize, window, mirror.

Each method gives the next `Cut`, or None where the call is not one of these: then Pillow makes it.
Boxes are Pillow's, (left, top, right, bottom), and sizes are (width, height), px.
"""

from dataclasses import dataclass, replace

from PIL import Image

Size = tuple[int, int]
Box = tuple[int, int, int, int]
Floats = tuple[float, float, float, float]

FILTERS = {
    Image.Resampling.NEAREST: "nearest",
    Image.Resampling.BOX: "box",
    Image.Resampling.BILINEAR: "bilinear",
    Image.Resampling.HAMMING: "hamming",
    Image.Resampling.BICUBIC: "bicubic",
    Image.Resampling.LANCZOS: "lanczos",
}
# The byte beside R, G and B in Pillow's memory: what decoding leaves, and what resampling leaves.
DECODED, RESAMPLED = 255, 0


def whole(size: Size) -> Box:
    return (0, 0, *size)


def is_inside(box: Floats, size: Size) -> bool:
    """Whether it has px, and all of them are the image's; false for what is no number."""
    left, top, right, bottom = box
    return 0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]


@dataclass(frozen=True, slots=True)
class Cut:
    crop: Box  # of the image, at the scale that it is decoded at
    mode: str  # "RGB" or "L"
    filler: int = DECODED
    resized: Size | None = None  # None: the crop is not resized
    filter: str = "nearest"
    box: Floats | None = None  # of the crop, which is resized; None: all of it
    window: Box | None = None  # of the resized crop; None: all of it
    mirrored: bool = False

    @property
    def cropped(self) -> Size:
        """Size of the crop."""
        left, top, right, bottom = self.crop
        return right - left, bottom - top

    @property
    def shown(self) -> Box:
        return self.window or whole(self.resized or self.cropped)

    @property
    def size(self) -> Size:
        left, top, right, bottom = self.shown
        return right - left, bottom - top

    def to_crop(self, box: Box) -> "Cut | None":
        if not is_inside(box, self.size):
            return None
        left, top, right, bottom = box
        if self.mirrored:
            left, right = self.size[0] - right, self.size[0] - left
        x, y = self.crop[:2] if self.resized is None else self.shown[:2]
        moved = (left + x, top + y, right + x, bottom + y)
        return replace(self, crop=moved) if self.resized is None else replace(self, window=moved)

    def to_resize(self, size: Size, resample: int, box: Floats) -> "Cut | None":
        """Of what is only cropped: a second resize, and one of a mirror image, whose weights are
        rounded the other way, are Pillow's.
        """
        if not is_inside(box, self.size) or min(size) < 1:
            return None
        left, top, right, bottom = map(int, box)
        is_whole = all(value == int(value) for value in box)
        if is_whole and (right - left, bottom - top) == size:
            return self.to_crop((left, top, right, bottom))
        try:
            name = FILTERS[Image.Resampling(resample)]
        except (KeyError, ValueError):
            return None
        if self.resized is not None or self.mirrored:
            return None
        filler = self.filler if name == "nearest" else RESAMPLED
        return replace(self, resized=size, filter=name, box=box, filler=filler)

    def to_mirror(self) -> "Cut":
        return replace(self, mirrored=not self.mirrored)

    def to_mode(self, mode: str) -> "Cut | None":
        if mode == self.mode:
            return self
        if (self.mode, mode) == ("L", "RGB"):  # three equal channels, whatever comes first
            return replace(self, mode=mode, filler=DECODED)
        return None

    def by_pillow(self, image: Image.Image) -> Image.Image:
        """The same of the decoded image, by Pillow's own calls."""
        made = image.crop(self.crop)
        if self.filler == RESAMPLED:  # as it was; of equal channels the order shows only there
            made = made.convert(self.mode)
        if self.resized is not None:
            resample = next(key for key, name in FILTERS.items() if name == self.filter)
            made = made.resize(self.resized, resample, self.box)
        if self.window is not None:
            made = made.crop(self.window)
        if self.mirrored:
            made = made.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return made.convert(self.mode)
