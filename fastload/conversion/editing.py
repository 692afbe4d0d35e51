"""What a conversion may do to an image. Without options nothing: the bytes stay as they are."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import ExifTags, Image, ImageOps

from fastload.conversion import samples
from fastload.conversion.samples import BadSampleError
from fastload.errors import UsageError
from fastload.spec import Json

QUALITY = 90  # of JPEGs that are encoded anew
# What says nothing about pixels: EXIF and XMP, previews, Photoshop's blocks, comments. JFIF (E0),
# ICC (E2) and Adobe (EE) decide colours.
JPEG_METADATA = (0xE1, *range(0xE3, 0xEE), 0xEF, 0xFE)
PNG_METADATA = (b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME")
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
# As Pillow numbers them; everything else becomes 4:2:0
SUBSAMPLING = {"jpeg 4:4:4": 0, "jpeg 4:2:2": 1}
LOSSY = ("JPEG", "WEBP")
PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16", "I;16B")  # that Pillow writes


@dataclass(frozen=True)
class Edits:
    """Changes to every image."""

    max_side: int | None = None  # px: larger images are made smaller, so that no side is longer
    # 1..100: JPEGs are encoded anew with it; of those that must be, QUALITY without it
    quality: int | None = None
    strip_metadata: bool = False  # what says nothing about pixels is left out; lossless
    apply_exif: bool = False  # images are turned as their EXIF orientation says

    def __post_init__(self) -> None:
        if self.max_side is not None and not 1 <= self.max_side <= 65_500:
            raise UsageError(f"max side: got {self.max_side} (want 1 to 65500 px); give another")
        if self.quality is not None and not 1 <= self.quality <= 100:
            raise UsageError(f"quality: got {self.quality} (want 1 to 100); give another")

    @property
    def none(self) -> bool:
        return self == UNCHANGED


UNCHANGED = Edits()


def edit(data: bytes, edits: Edits) -> bytes:
    """The image with the changes; its own bytes where there is nothing to do.

    Raises BadSampleError if it cannot be decoded.
    """
    if edits.none or not data:
        return data
    facts = samples.headers(data)
    turn = edits.apply_exif and orientation(data) != 1
    smaller = edits.max_side is not None and max(facts.height, facts.width) > edits.max_side
    anew = edits.quality is not None and facts.format.startswith("jpeg")
    if turn or smaller or anew:
        changed = _encode(data, facts, edits, turn=turn)
        if turn or smaller or len(changed) < len(data):
            data = changed
    return strip(data) if edits.strip_metadata else data


def orientation(data: bytes) -> int:
    """EXIF's orientation, 1 to 8; 1 where there is none."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            tag = image.getexif().get(ExifTags.Base.Orientation, 1)
    except samples.PILLOW_ERRORS:
        return 1
    return tag if tag in range(1, 9) else 1


def _encode(data: bytes, facts: samples.Facts, edits: Edits, *, turn: bool) -> bytes:
    try:
        with Image.open(io.BytesIO(data)) as opened:
            kind = opened.format or "PNG"
            kind = "JPEG" if kind == "MPO" else kind  # with further pictures behind the image
            image = ImageOps.exif_transpose(opened) if turn else opened
            if edits.max_side is not None and max(image.size) > edits.max_side:
                image = _smaller(image, edits.max_side)
            return _save(
                image,
                kind if kind in ("JPEG", "PNG", "WEBP") else "PNG",
                facts.format,
                edits,
                opened.info,
            )
    except samples.PILLOW_ERRORS as error:
        raise BadSampleError(
            f"cannot be decoded ({samples.reason(error)}); mend or remove the file"
        ) from error


def _smaller(image: Image.Image, side: int) -> Image.Image:
    """No side longer than `side` px, each rounded to the nearest."""
    scale = side / max(image.size)
    size = tuple(max(1, round(length * scale)) for length in image.size)
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    return image.resize((size[0], size[1]), Image.Resampling.LANCZOS)


def _save(image: Image.Image, kind: str, format: str, edits: Edits, info: dict[Any, Any]) -> bytes:
    how: Json = {}
    if kind in LOSSY:
        how["quality"] = edits.quality or QUALITY
    if kind == "JPEG" and image.mode == "RGB":
        how["subsampling"] = SUBSAMPLING.get(format, 2)
    if kind == "PNG" and image.mode not in PNG_MODES:
        # As a loader sees it; the profile is of other colours
        image, info = image.convert("RGB"), {}
    if info.get("icc_profile"):
        how["icc_profile"] = info["icc_profile"]
    if (exif := image.getexif()) and not edits.strip_metadata:
        how["exif"] = exif.tobytes()
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def strip(data: bytes) -> bytes:
    """The file without metadata; anything that is not a well-formed JPEG or PNG stays as it is.

    The same pixels.
    """
    if data.startswith(b"\xff\xd8"):
        return b"".join(_jpeg_parts(data))
    if data.startswith(PNG_MAGIC):
        return b"".join(_png_parts(data))
    return data


def _jpeg_parts(data: bytes) -> Iterator[bytes]:
    """Segments up to the first scan, but those with metadata; then the rest."""
    yield data[:2]
    at = 2
    while match := re.compile(rb"\xff+([\xc0-\xfe])").match(data, at):
        code = match[1][0]
        size = int.from_bytes(data[match.end() : match.end() + 2], "big")
        end = match.end() + size
        if code == 0xDA or 0xD0 <= code <= 0xD9 or size < 2 or end > len(data):
            break
        if code not in JPEG_METADATA:
            yield data[at:end]
        at = end
    yield data[at:]


def _png_parts(data: bytes) -> Iterator[bytes]:
    yield PNG_MAGIC
    at = len(PNG_MAGIC)
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            break
        if data[at + 4 : at + 8] not in PNG_METADATA:
            yield data[at:end]
        at = end
    yield data[at:]
