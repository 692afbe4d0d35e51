"""From the model's input back to a picture."""

import numpy as np
import torch
from PIL import Image

from fastload.backends.native import store
from fastload.plan.plan import Plan
from fastload.spec import Array, Pixels, Stage


def denormalised(images: torch.Tensor, plan: Plan) -> Pixels:
    """uint8 [N, H, W, C] of a batch [N, C, H, W] that `plan` made: the value whose entry in the
    plan's table is nearest.

    Exact for everything that came from uint8 through the table, unless its type is too coarse to
    tell neighbours apart (bfloat16).
    What never was uint8, such as erased noise, is cut to 0..255.
    """
    table = store.table(plan.stage(Stage.STORE), plan.out.dtype)
    if table is None:
        return np.ascontiguousarray(images.permute(0, 2, 3, 1).numpy())
    if plan.out.dtype == "bfloat16":
        entries = torch.from_numpy(table).view(torch.bfloat16).to(torch.float64).numpy()
    else:
        entries = table.astype(np.float64)
    values = images.to(torch.float64).numpy()
    channels = [
        _nearest(values[:, channel], entries[channel]) for channel in range(values.shape[1])
    ]
    return np.stack(channels, axis=-1)


def _nearest(values: Array, entries: Array) -> Pixels:
    """Index (0..255) of the entry in `entries` [256] that is nearest to each value."""
    order = np.argsort(entries, kind="stable")  # a negative std turns the table round
    rising = entries[order]
    nearest = np.searchsorted((rising[1:] + rising[:-1]) / 2, values)
    out: Pixels = order.astype(np.uint8)[nearest]
    return out


def picture(pixels: Pixels) -> Image.Image:
    """uint8 [H, W, C], C 1 or 3, as an RGB image."""
    return Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).convert("RGB")
