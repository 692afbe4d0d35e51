"""What each op does to one image, given its record: the reference, through PIL, torch and (policies) torchvision.

Kept apart from the ops so that describing a pipeline needs none of these calls.
"""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import PIL
import torch
from PIL import Image

from fastload.errors import BackendError
from fastload.transforms.base import Op
from fastload.transforms.colout import ColOut
from fastload.transforms.geometry import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize
from fastload.transforms.output import ConvertImageDtype, Normalize, PILToTensor, ToDtype, ToImage, ToTensor
from fastload.transforms.policies import CODES, RandAugment, TrivialAugmentWide

# What Pillow's readers raise on damaged or hostile files.
DECODE_ERRORS = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, EOFError, ArithmeticError, MemoryError, RuntimeError,
    struct.error, zlib.error, Image.DecompressionBombError,
)  # fmt: skip
# Which pass of a resize this Pillow makes first; each rounds, so it shows. The native engine follows the installed one.
PASS_ORDER = "pillow13" if int(PIL.__version__.split(".")[0]) >= 13 else "pillow12"
RESAMPLING = {name.lower(): value for name, value in Image.Resampling.__members__.items()}


def size(image: Any) -> tuple[int, int]:
    """Height and width of a PIL image or tensor [C, H, W], px."""
    if isinstance(image, torch.Tensor):
        return int(image.shape[-2]), int(image.shape[-1])
    return int(image.height), int(image.width)


def decode(data: bytes, scale: int = 1) -> Image.Image:
    """DECODE as torchvision's ImageFolder does it: any format that Pillow reads, converted to RGB. Raises DECODE_ERRORS.

    scale: 2, 4 or 8 for a JPEG of at least as many px each way: decoded at 1/scale of its size, rounded up.
    """
    with Image.open(io.BytesIO(data)) as image:
        if scale > 1:
            image.draft("RGB", (image.width // scale, image.height // scale))  # the size at which it picks this scale
        rgb: Image.Image = image.convert("RGB")
        return rgb


def apply_any(op: Op, image: Any, record: Any) -> Any:
    """`apply`, and a uint8 tensor [C, H, W] comes back as a tensor."""
    if not isinstance(image, torch.Tensor) or op.stage.name == "STORE":
        return apply(op, image, record)
    pixels = image.permute(1, 2, 0).numpy()
    changed = apply(op, Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels), record)
    return to_tensor(changed)


def apply(op: Op, image: Any, record: Any) -> Any:
    """The image after `op`: PIL images up to the first op that makes a tensor, then tensors [C, H, W]."""
    return APPLY[type(op)](op, image, record)


def _random_resized_crop(op: RandomResizedCrop, image: Image.Image, record: Any) -> Image.Image:
    top, left, height, width = (int(v) for v in record)
    out_height, out_width = op.size
    box = image.crop((left, top, left + width, top + height))
    return box.resize((out_width, out_height), RESAMPLING[op.interpolation])


def _resize(op: Resize, image: Image.Image, record: Any) -> Image.Image:
    height, width = (int(v) for v in record)
    return image.resize((width, height), RESAMPLING[op.interpolation])


def _center_crop(op: CenterCrop, image: Image.Image, record: Any) -> Image.Image:
    top, left, height, width = (int(v) for v in record)
    return image.crop((left, top, left + width, top + height))  # PIL fills what lies outside with 0


def _flip(op: RandomHorizontalFlip, image: Image.Image, record: Any) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if int(record[0]) else image


def _policy(op: RandAugment | TrivialAugmentWide, image: Image.Image, record: Any) -> Image.Image:
    for code, argument in record:
        image = _augment(image, CODES[int(code)], float(argument), op.interpolation)
    return image


def _augment(image: Image.Image, name: str, argument: float, interpolation: str) -> Image.Image:
    """One of policies.CODES; `argument` is in the unit stated there. torchvision takes 1 off enhancement factors."""
    autoaugment, mode = _torchvision(interpolation)
    magnitude = argument - 1.0 if name in ("Brightness", "Color", "Contrast", "Sharpness") else argument
    if name == "Posterize" and argument < 1:  # Pillow 13 refuses 0 bits, which means black
        return Image.new(image.mode, image.size)
    changed: Image.Image = autoaugment._apply_op(image, name, magnitude, interpolation=mode, fill=None)
    return changed


def _torchvision(interpolation: str) -> tuple[Any, Any]:
    try:
        from torchvision.transforms import InterpolationMode, autoaugment
    except ImportError as error:
        raise BackendError(
            "backend torch: augmentation policies need torchvision (not installed); pip install 'fastload-torch[recipes]'"
        ) from error
    return autoaugment, InterpolationMode(interpolation)


def to_tensor(image: Any) -> torch.Tensor:
    if isinstance(image, torch.Tensor):
        return image
    pixels = np.array(image, copy=True)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


def _to_image(op: ToImage, image: Any, record: Any) -> torch.Tensor:
    return to_tensor(image)


def _to_float(op: ToTensor, image: Any, record: Any) -> torch.Tensor:
    return to_tensor(image).to(torch.float32).div(255)


def _to_dtype(op: ToDtype, image: torch.Tensor, record: Any) -> torch.Tensor:
    dtype = getattr(torch, op.dtype)
    if not op.scale or image.dtype == dtype or image.is_floating_point():
        return image.to(dtype)
    return image.to(dtype).mul_(1.0 / 255.0)  # torchvision v2 multiplies …


def _convert_dtype(op: ConvertImageDtype, image: torch.Tensor, record: Any) -> torch.Tensor:
    dtype = getattr(torch, op.dtype)
    return image.to(dtype) / 255.0 if image.dtype == torch.uint8 != dtype else image.to(dtype)  # … its first API divides


def _normalize(op: Normalize, image: torch.Tensor, record: Any) -> torch.Tensor:
    mean, std = (torch.tensor(v, dtype=image.dtype)[:, None, None] for v in (op.mean, op.std))
    return image.sub(mean).div_(std)


def _colout(op: ColOut, image: Any, record: Any) -> Any:
    rows, columns = op.kept(*size(image))
    rows_at, columns_at = record[:rows].astype(np.int64), record[rows : rows + columns].astype(np.int64)
    if isinstance(image, torch.Tensor):
        return image[:, torch.from_numpy(rows_at)][:, :, torch.from_numpy(columns_at)]
    return Image.fromarray(np.asarray(image)[rows_at][:, columns_at])


APPLY: dict[type[Op], Callable[[Any, Any, Any], Any]] = {
    RandomResizedCrop: _random_resized_crop,
    Resize: _resize,
    CenterCrop: _center_crop,
    RandomHorizontalFlip: _flip,
    RandAugment: _policy,
    TrivialAugmentWide: _policy,
    ToImage: _to_image,
    PILToTensor: _to_image,
    ToTensor: _to_float,
    ToDtype: _to_dtype,
    ConvertImageDtype: _convert_dtype,
    Normalize: _normalize,
    ColOut: _colout,
}
