"""Small samples with objects, and the copy-paste of a batch as torchvision's references/detection
does it, in other words.
"""

import numpy as np
import torch
from torchvision import ops, tv_tensors
from torchvision.transforms import functional

from tests.conftest import textured


class Listed(torch.utils.data.Dataset):
    """A data set of samples that are there."""

    def __init__(self, samples):
        self.samples, self.transforms = samples, None

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        return self.samples[number]


def sample(seed, height=40, width=60, count=3, *, fmt="XYXY"):
    """A uint8 image [3, H, W], and boxes with masks, labels and crowds: rectangles, some of which
    lie over each other.
    """
    rng = np.random.default_rng(seed)
    top, left = rng.integers(0, height - 9, count), rng.integers(0, width - 9, count)
    bottom = np.minimum(height, top + rng.integers(3, 25, count))
    right = np.minimum(width, left + rng.integers(3, 25, count))
    masks = torch.zeros((count, height, width), dtype=torch.uint8)
    for number, (y, x, yy, xx) in enumerate(zip(top, left, bottom, right, strict=True)):
        masks[number, y:yy, x:xx] = 1
    boxes = torch.from_numpy(np.stack([left, top, right, bottom], axis=1)).float()
    target = {
        "image_id": seed,
        "boxes": tv_tensors.BoundingBoxes(boxes, format=fmt, canvas_size=(height, width)),
        "masks": tv_tensors.Mask(masks),
        "labels": torch.from_numpy(rng.integers(1, 9, count)),
        "iscrowd": torch.zeros(count, dtype=torch.int64),
        "area": masks.sum((1, 2)).float(),
    }
    return torch.from_numpy(textured(height, width, seed)).permute(2, 0, 1).contiguous(), target


def pasted(image, target, other, other_target, which, *, blending):
    """The objects `which` of the other sample on the first one."""
    size, now = image.shape[-2:], other.shape[-2:]
    masks, boxes = other_target["masks"][which], other_target["boxes"][which]
    if now != size:
        other = functional.resize(other, list(size))
        masks = functional.resize(masks, list(size), functional.InterpolationMode.NEAREST)
        boxes = boxes * torch.tensor([size[1] / now[1], size[0] / now[0]] * 2)
    over = masks.sum(dim=0) > 0
    if blending:
        over = functional.gaussian_blur(over[None], [5, 5], [2.0])
    own = target["masks"] * (~over)
    seen = own.sum((-1, -2)) > 0
    out = dict(target)
    out["masks"] = torch.cat([own[seen], masks])
    out["boxes"] = torch.cat([ops.masks_to_boxes(own[seen]), boxes])
    for key in {"labels", "iscrowd"} & set(target):
        out[key] = torch.cat([target[key][seen], other_target[key][which]])
    if "area" in target:
        out["area"] = out["masks"].sum((-1, -2)).to(torch.float32)
    good = (out["boxes"][:, 2:] > out["boxes"][:, :2]).all(dim=1)
    for key in {"boxes", "masks", "labels", "iscrowd", "area"} & set(target):
        out[key] = out[key][good]
    return image * (~over) + other * over, out


def copy_paste_collate(batch):
    """A collate_fn that pastes objects of the sample before, by torch's default generator."""
    images, targets = zip(*batch, strict=True)
    out = []
    for number, (image, target) in enumerate(zip(images, targets, strict=True)):
        other, other_target = images[number - 1], targets[number - 1]
        count = len(other_target["masks"])
        if count < 1:
            out.append((image, target))
            continue
        which = torch.unique(torch.randint(0, count, (count,)))
        out.append(pasted(image, target, other, other_target, which, blending=True))
    return tuple(zip(*out, strict=True))


def plain(target):
    """Its values as plain tensors."""
    return {
        key: value.as_subclass(torch.Tensor) if isinstance(value, torch.Tensor) else value
        for key, value in target.items()
    }
