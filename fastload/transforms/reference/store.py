"""STORE on tensors [C, H, W], and the gather of ColOut and the batch resizes also on PIL images."""

import numpy as np
import torch
from PIL import Image

from fastload import rng
from fastload.spec import Records
from fastload.transforms.arithmetic import Arithmetic
from fastload.transforms.base import ImageLike
from fastload.transforms.erasing import KINDS, RandomErasing
from fastload.transforms.kinds import Gather
from fastload.transforms.output import ConvertImageDtype, Normalize, ToDtype, ToImage, ToTensor
from fastload.transforms.reference.pixels import pixels
from fastload.transforms.sampling import noise_values


def to_tensor(image: ImageLike) -> torch.Tensor:
    if isinstance(image, torch.Tensor):
        return image
    values = np.array(image, copy=True)
    values = values[:, :, None] if values.ndim == 2 else values
    return torch.from_numpy(values).permute(2, 0, 1).contiguous()


@pixels.register
def _to_image(op: ToImage, image: ImageLike, record: Records) -> torch.Tensor:
    return to_tensor(image)


@pixels.register
def _to_float(op: ToTensor, image: ImageLike, record: Records) -> torch.Tensor:
    return to_tensor(image).to(torch.float32).div(255)


@pixels.register
def _to_dtype(op: ToDtype, image: torch.Tensor, record: Records) -> torch.Tensor:
    dtype = getattr(torch, op.dtype)
    if not op.scale or image.dtype == dtype or image.is_floating_point():
        return image.to(dtype)
    return image.to(dtype).mul_(1.0 / 255.0)  # torchvision's second API multiplies


@pixels.register
def _convert_dtype(op: ConvertImageDtype, image: torch.Tensor, record: Records) -> torch.Tensor:
    dtype = getattr(torch, op.dtype)
    # torchvision's first API divides.
    return image.to(dtype) / 255.0 if image.dtype == torch.uint8 != dtype else image.to(dtype)


@pixels.register
def _normalize(op: Normalize, image: torch.Tensor, record: Records) -> torch.Tensor:
    mean, std = (torch.tensor(v, dtype=image.dtype)[:, None, None] for v in (op.mean, op.std))
    return image.sub(mean).div_(std)


@pixels.register
def _arithmetic(op: Arithmetic, image: torch.Tensor, record: Records) -> torch.Tensor:
    function = torch.rsub if op.kind == "rsub" else getattr(torch, op.kind)
    out: torch.Tensor = function(image, op.number)
    return out


@pixels.register
def _gather(op: Gather, image: ImageLike, record: Records) -> ImageLike:
    size = image.shape[-2:] if isinstance(image, torch.Tensor) else (image.height, image.width)
    rows, columns = op.kept(int(size[0]), int(size[1]))
    rows_at = record[:rows].astype(np.int64)
    columns_at = record[rows : rows + columns].astype(np.int64)
    if isinstance(image, torch.Tensor):
        return image[:, torch.from_numpy(rows_at)][:, :, torch.from_numpy(columns_at)]
    return Image.fromarray(np.asarray(image)[rows_at][:, columns_at])


@pixels.register
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
