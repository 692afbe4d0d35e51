"""STORE on tensors [C, H, W], and the gather of ColOut and the batch resizes also on PIL images."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image

from fastload import rng
from fastload.spec import Records
from fastload.transforms.base import ImageLike, Op
from fastload.transforms.batch_resize import BatchCrop, BatchResize
from fastload.transforms.colout import ColOut
from fastload.transforms.erasing import KINDS, RandomErasing
from fastload.transforms.output import (
    ConvertImageDtype,
    Normalize,
    PILToTensor,
    ToDtype,
    ToImage,
    ToTensor,
)
from fastload.transforms.sampling import noise_values


def to_tensor(image: ImageLike) -> torch.Tensor:
    if isinstance(image, torch.Tensor):
        return image
    pixels = np.array(image, copy=True)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


def _to_image(op: ToImage, image: ImageLike, record: Records) -> torch.Tensor:
    return to_tensor(image)


def _to_float(op: ToTensor, image: ImageLike, record: Records) -> torch.Tensor:
    return to_tensor(image).to(torch.float32).div(255)


def _to_dtype(op: ToDtype, image: torch.Tensor, record: Records) -> torch.Tensor:
    dtype = getattr(torch, op.dtype)
    if not op.scale or image.dtype == dtype or image.is_floating_point():
        return image.to(dtype)
    return image.to(dtype).mul_(1.0 / 255.0)  # torchvision v2 multiplies …


def _convert_dtype(op: ConvertImageDtype, image: torch.Tensor, record: Records) -> torch.Tensor:
    dtype = getattr(torch, op.dtype)
    return (
        image.to(dtype) / 255.0 if image.dtype == torch.uint8 != dtype else image.to(dtype)
    )  # … its first API divides


def _normalize(op: Normalize, image: torch.Tensor, record: Records) -> torch.Tensor:
    mean, std = (torch.tensor(v, dtype=image.dtype)[:, None, None] for v in (op.mean, op.std))
    return image.sub(mean).div_(std)


def _gather(op: ColOut | BatchResize, image: ImageLike, record: Records) -> ImageLike:
    size = image.shape[-2:] if isinstance(image, torch.Tensor) else (image.height, image.width)
    rows, columns = op.kept(int(size[0]), int(size[1]))
    rows_at, columns_at = (
        record[:rows].astype(np.int64),
        record[rows : rows + columns].astype(np.int64),
    )
    if isinstance(image, torch.Tensor):
        return image[:, torch.from_numpy(rows_at)][:, :, torch.from_numpy(columns_at)]
    return Image.fromarray(np.asarray(image)[rows_at][:, columns_at])


def _erase(op: RandomErasing, image: torch.Tensor, record: Records) -> torch.Tensor:
    out = image.clone()
    for top, left, height, width, key in record.tolist():
        if height and width:
            out[:, top : top + height, left : left + width] = _filling(
                op, (len(image), height, width), key
            ).to(image.dtype)
    return out


def _filling(op: RandomErasing, shape: tuple[int, int, int], key: int) -> torch.Tensor:
    """float32, of `shape` [C, H, W] or [C, 1, 1]."""
    if op.value not in KINDS:
        values = op.value if isinstance(op.value, tuple) else (op.value,)
        return torch.tensor(values, dtype=torch.float32)[:, None, None]
    channels, height, width = shape if op.value == "random" else (shape[0], 1, 1)
    levels = rng.noise_levels(key & 0xFFFFFFFF, channels * height * width)
    return (
        torch.from_numpy(noise_values()[levels]).reshape(height, width, channels).permute(2, 0, 1)
    )


APPLY: dict[type[Op], Callable[[Any, Any, Any], Any]] = {
    ToImage: _to_image,
    PILToTensor: _to_image,
    ToTensor: _to_float,
    ToDtype: _to_dtype,
    ConvertImageDtype: _convert_dtype,
    Normalize: _normalize,
    ColOut: _gather,
    BatchResize: _gather,
    BatchCrop: _gather,
    RandomErasing: _erase,
}
