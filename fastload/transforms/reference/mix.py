"""MIX on whole batches [N, C, H, W]."""

import numpy as np
import torch

from fastload.transforms.mix_records import MixRecords


def mix(images: torch.Tensor, records: MixRecords) -> torch.Tensor:
    """Each image with its partner.

    Weighted sums are in float32, as torchvision's, then rounded once to the batch's type.
    """
    if not records.moves:
        return images
    partner = torch.from_numpy(records.partner).to(images.device)
    others = images[partner]
    out = torch.where(
        _each(records.weights[:, 1] != 0, images), _sum(images, others, records), images
    )
    for position, (top, left, height, width) in enumerate(records.box.tolist()):
        if height and width:
            out[position, :, top : top + height, left : left + width] = others[
                position, :, top : top + height, left : left + width
            ]
    return out


def _sum(images: torch.Tensor, others: torch.Tensor, records: MixRecords) -> torch.Tensor:
    own, other = (_each(records.weights[:, side], images) for side in (0, 1))
    out = images.float() * own + others.float() * other
    # Ties go to even, as in timm.
    return out.to(images.dtype) if images.is_floating_point() else out.round().to(images.dtype)


def _each(values: np.ndarray, images: torch.Tensor) -> torch.Tensor:
    """One value per image, [N, 1, 1, 1]."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(images.device)[:, None, None, None]
