"""What each op does to one image, given its record: the reference. The pixels are in reference/,
one file per stage.

Kept apart from the ops so that describing a pipeline needs none of these calls.
"""

import re
import struct
import zlib
from typing import overload

import PIL
import torch
from PIL import Image

from fastload.errors import SampleError, sample_error
from fastload.spec import Records
from fastload.transforms.base import ImageLike, Op
from fastload.transforms.reference import augment, decoding, store  # noqa: F401  they register
from fastload.transforms.reference.crop import RESAMPLING
from fastload.transforms.reference.decoding import check_size, decode_pixels, header_size
from fastload.transforms.reference.pixels import known, pixels
from fastload.transforms.reference.store import to_tensor

__all__ = [
    "DECODE_ERRORS",
    "PASS_ORDER",
    "RESAMPLING",
    "apply",
    "apply_any",
    "channels",
    "check_size",
    "decode",
    "decode_pixels",
    "header_size",
    "known",
    "moved",
    "pixels",
    "reason",
    "size",
    "to_tensor",
    "undecodable",
]  # fmt: skip

# What Pillow's readers raise on damaged or hostile files.
DECODE_ERRORS = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, ArithmeticError,
    MemoryError, RuntimeError,
    # The last: where warnings are errors
    struct.error, zlib.error, Image.DecompressionBombError, Image.DecompressionBombWarning,
)  # fmt: skip
NO_MEMORY = "shrink it, take fewer workers, or allow the process more memory"  # what to do
ADDRESS = re.compile(r" <_io\.BytesIO object at 0x[0-9a-f]+>")  # in Pillow's texts


def pass_order(version: str) -> str:
    """By Pillow's version, as `_native.crop_resize` has it."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if major >= 13:
        return "pillow13"
    return "pillow12.2" if (major, minor) >= (12, 2) else "pillow12"


# Which pass of a resize this Pillow makes first; each rounds, so it shows. The native engine
# follows the installed one.
PASS_ORDER = pass_order(PIL.__version__)


def size(image: ImageLike) -> tuple[int, int]:
    """Height and width of a PIL image or tensor [C, H, W], px."""
    if isinstance(image, torch.Tensor):
        return int(image.shape[-2]), int(image.shape[-1])
    return int(image.height), int(image.width)


def channels(image: ImageLike) -> int:
    """Of a PIL image or tensor [C, H, W]."""
    return int(image.shape[-3]) if isinstance(image, torch.Tensor) else len(image.getbands())


def decode(data: bytes, scale: int = 1) -> Image.Image:
    """DECODE as torchvision's ImageFolder does it: any format that Pillow reads, converted to RGB.
    Raises DECODE_ERRORS.

    scale: 2, 4 or 8 for a JPEG of at least as many px each way: decoded at 1/scale of its size,
        rounded up.
    """
    return decoding.decode(data, scale)


def reason(error: Exception) -> str:
    """What a decoder raised, in words that are the same in every run."""
    if isinstance(error, MemoryError):
        return "out of memory"
    return ADDRESS.sub("", str(error)) or type(error).__name__


def undecodable(name: str, sample: int, error: Exception) -> SampleError:
    """Of a sample, what one of DECODE_ERRORS becomes."""
    if isinstance(error, OSError) and error.errno:  # the system's
        return sample_error(name, sample, f"cannot be read ({error.strerror})", error)
    advice = NO_MEMORY if isinstance(error, MemoryError) else "mend or remove the file"
    return sample_error(name, sample, f"cannot be decoded ({reason(error)}); {advice}", error)


def apply_any(op: Op, image: ImageLike, record: Records) -> ImageLike:
    """`apply`, and a uint8 tensor [C, H, W] comes back as a tensor."""
    if not isinstance(image, torch.Tensor) or op.stage.name == "STORE":
        return apply(op, image, record)
    values = image.permute(1, 2, 0).numpy()
    changed = apply(
        op, Image.fromarray(values.squeeze(-1) if values.shape[-1] == 1 else values), record
    )
    return to_tensor(changed)


@overload
def apply(op: Op, image: torch.Tensor, record: Records) -> torch.Tensor: ...


@overload
def apply(op: Op, image: ImageLike, record: Records) -> ImageLike: ...


def apply(op: Op, image: ImageLike, record: Records) -> ImageLike:
    """The image after `op`, by one sample's record: see `reference.pixels`."""
    return pixels(op, image, record)


def moved(op: Op, image: Image.Image, record: Records) -> Image.Image:
    """`apply` for what leaves a PIL image one: ops of CROP and AUGMENT, and ColOut."""
    changed = apply(op, image, record)
    assert isinstance(changed, Image.Image)
    return changed
