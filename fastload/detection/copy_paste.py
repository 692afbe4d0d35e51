"""CopyPaste: objects of another image, cut out by their masks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional

from fastload.detection import merging
from fastload.detection.box_mix import KEYS, BoxMix, Params, State, pixels
from fastload.detection.merging import XYXY, Size, Target
from fastload.spec import Floats
from fastload.transforms import pil

REACH = 2  # px around a pasted object that blending pastes too


class CopyPaste(BoxMix):
    """Some objects of another image, pasted where they are there.

    It is what `SimpleCopyPaste` of torchvision's references/detection does to a batch, with a
    partner from the whole data set. Of the other image's N objects, N are drawn with repeats. An
    image of another size is resized to the sample's. Masks lose what is pasted over, and the boxes
    of the sample's own objects become those of their masks (`torchvision.ops.masks_to_boxes`).
    Objects that are covered whole are removed, and so are those of which the box has no area.
    "area" becomes the number of px of each mask.

    Args:
        p: How likely a sample is mixed. It stays as it is if the other one has no objects.
        blending: Paste two px around each object, too. This is what the reference's blending comes
            to: it blurs a mask of bools.
        keys: Of the target, what has one value for each object beside tensors of torchvision's.

    Raises:
        UsageError: An argument makes no sense.

    Source: Ghiasi et al. 2021, arXiv:2012.07177, section 3.

    Example:
        >>> from fastload import detection
        >>> detection.CopyPaste(p=0.5)
        CopyPaste(p=0.5, blending=True)
    """

    def __init__(
        self, p: float = 1.0, *, blending: bool = True, keys: Sequence[str] = KEYS
    ) -> None:
        super().__init__(p, keys)
        self.blending = bool(blending)

    def draws(self, states: Sequence[State]) -> int:
        return merging.count(states[1][1])

    def drawn(self, u: Floats, states: Sequence[State]) -> Params | None:
        (size, target), (other_size, other) = states
        if not len(u):
            return None
        self._masks(other, other_size)
        which = np.unique((u * len(u)).astype(np.int64))
        merging.check_memory(merging.count(target) + len(which), size)
        taken = merging.chosen(other, torch.from_numpy(which), self.keys)
        there = {key: taken[key] for key in merging.objects(taken, self.keys)}
        pasted = merging.resized(there, other_size, size)
        mask = self._masks(pasted, size).amax(dim=0) > 0
        return {"objects": which.tolist(), "pasted": pasted, "mask": self._blended(mask)}

    def _blended(self, mask: torch.Tensor) -> torch.Tensor:
        if not self.blending:
            return mask
        return _grown(_grown(mask, 0), 1)

    def picture(self, images: Sequence[Any], params: Params) -> torch.Tensor:
        image, other = images
        return torch.where(params["mask"], pixels(other, pil.size(image)), pixels(image))

    def target(self, states: Sequence[State], params: Params) -> Target:
        size, target = states[0]
        out = merging.joined(
            [self._left(target, size, params["mask"]), params["pasted"]], size, self.keys
        )
        if "area" in out and "area" in self.keys:
            areas = self._masks(out, size).sum((-1, -2)).to(torch.float32)
            tensor = isinstance(out["area"], torch.Tensor)
            out["area"] = areas if tensor else type(out["area"])(areas.tolist())
        left, top, right, bottom = merging.corners(merging.boxes_of(out)).T
        good = (right > left) & (bottom > top)
        return merging.chosen(out, good.nonzero()[:, 0], self.keys)

    def _left(self, target: Target, size: Size, covered: torch.Tensor) -> Target:
        """What is seen of the sample's own objects."""
        boxes = merging.boxes_of(target)
        if boxes is None:
            return target
        masks = self._masks(target, size)
        masks = masks * (~covered).to(masks.dtype)  # of one type: others are slow
        columns, rows = masks.amax(dim=1) > 0, masks.amax(dim=2) > 0
        at = rows.any(dim=1).nonzero()[:, 0]
        masks = merging.picked(masks, at)
        found = torch.stack([*_ends(columns[at]), *_ends(rows[at])])[[0, 2, 1, 3]].T
        corners = tv_tensors.BoundingBoxes(found.to(boxes.dtype), format=XYXY, canvas_size=size)
        straight = functional.convert_bounding_box_format(corners, new_format=boxes.format)
        others = {k: v for k, v in target.items() if not isinstance(v, tv_tensors.Mask)}
        changed = {**target, **merging.chosen(others, at, self.keys)}
        for key, value in target.items():
            if isinstance(value, tv_tensors.Mask):
                changed[key] = tv_tensors.wrap(masks, like=value)
            elif value is boxes:
                changed[key] = tv_tensors.wrap(straight.as_subclass(torch.Tensor), like=boxes)
        return changed

    def _masks(self, target: Target, size: Size) -> torch.Tensor:
        """[N, H, W], of its objects. Raises ValueError."""
        found = [value for value in target.values() if isinstance(value, tv_tensors.Mask)]
        want = (merging.count(target), *size)
        if len(found) != 1 or tuple(found[0].shape) != want:
            got = " and ".join(str(list(one.shape)) for one in found) or "none"
            raise ValueError(
                f"{self.where} needs masks {list(want)} of the objects (got {got}); ask the data "
                "set for masks"
            )
        plain: torch.Tensor = found[0].as_subclass(torch.Tensor)
        return plain


def _grown(mask: torch.Tensor, dim: int) -> torch.Tensor:
    """bool [H, W], with what lies up to REACH px from a true one along this side."""
    out, length = mask.clone(), mask.shape[dim]
    for step in range(1, min(REACH, length - 1) + 1):
        first, last = mask.narrow(dim, 0, length - step), mask.narrow(dim, step, length - step)
        out.narrow(dim, step, length - step).logical_or_(first)
        out.narrow(dim, 0, length - step).logical_or_(last)
    return out


def _ends(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """int64 [N]: the first and the last true value of each row of bool [N, L]; each has one."""
    values = seen.to(torch.uint8)
    return values.argmax(dim=1), seen.shape[1] - 1 - values.flip(1).argmax(dim=1)
