"""Small detection data sets, the presets of torchvision's references/detection, and what
torchvision makes of a sample when it is told what fastload has drawn.
"""

import copy

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.datasets import VOCDetection, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

import fastload
from fastload.joint.picture import opened
from fastload.joint.samples import Maker, draws, moves
from fastload.plan import jointly
from fastload.spec import Work
from tests.loader.detection_files import SIZES, boxes_of, write_coco, write_voc

MEAN = (123.0, 117.0, 104.0)
__all__ = ["SIZES", "boxes_of", "write_coco", "write_voc"]
KEYS = ["boxes", "labels", "image_id"]


def geometry(name, side=64):
    """The transforms of a preset, at small sizes."""
    flip = v2.RandomHorizontalFlip()
    fill = {tv_tensors.Mask: 0, "others": MEAN}
    return {
        "hflip": lambda: [flip],
        "multiscale": lambda: [
            v2.RandomShortestSize([side // 2, side, side + 9], max_size=side * 2), flip,
        ],
        "lsj": lambda: [
            v2.ScaleJitter((side, side), antialias=True),
            v2.RandomCrop((side, side), pad_if_needed=True, fill=fill), flip,
        ],
        "ssd": lambda: [
            v2.RandomPhotometricDistort(), v2.RandomZoomOut(fill=fill), v2.RandomIoUCrop(), flip,
        ],
        "ssdlite": lambda: [v2.RandomIoUCrop(), flip],
    }[name]()  # fmt: skip


def preset(name, *, pil=False, side=64):
    """A preset of references/detection. pil: the image is Pillow's until the end."""
    return v2.Compose([
        *([] if pil else [v2.ToImage()]), *geometry(name, side),
        *([v2.PILToTensor()] if pil else []), v2.ToDtype(torch.float32, scale=True),
        v2.ConvertBoundingBoxFormat("XYXY"), v2.SanitizeBoundingBoxes(), v2.ToPureTensor(),
    ])  # fmt: skip


PRESETS = ("hflip", "multiscale", "lsj", "ssd", "ssdlite")


def voc(root, transforms, **options):
    data = VOCDetection(str(root), image_set="train", transforms=transforms)
    return wrap_dataset_for_transforms_v2(data, **options)


def coco(root, transforms, **options):
    from torchvision.datasets import CocoDetection

    data = CocoDetection(str(root / "images"), str(root / "instances.json"), transforms=transforms)
    return wrap_dataset_for_transforms_v2(data, **options)


def told(transforms, drawn):
    """torchvision's own transforms, which draw what fastload has drawn: params by the step's part;
    None: it is left out.
    """
    drawn, parts = list(drawn), []
    for part in transforms.transforms:
        mine = copy.copy(part)
        if drawn and drawn[0][0] is part:
            params = drawn.pop(0)[1]
            mine.__dict__["make_params"] = lambda _, params=params: params
            if hasattr(mine, "p"):
                mine.p = 0.0 if params is None else 1.0
        parts.append(mine)
    assert not drawn
    return v2.Compose(parts)


def made(plan, work, position=0):
    """A sample, and (torchvision's transform, what was drawn) of each step that draws."""
    maker = Maker(plan)
    sample = maker(work, position, np.empty)
    number = int(work.samples[position])
    with open(plan.source.name(number), "rb") as file:
        picture = opened(file.read())
    target = plan.joint.target(plan.joint.row(number), picture.size)
    drawn = [
        (one.step.of, one.params)
        for one in moves(plan.joint.steps, picture, target, draws(work, position))
    ]
    return sample, drawn


def plan_of(dataset):
    from fastload import lowering

    pipeline, reasons = lowering.lower(dataset)
    assert pipeline is not None, reasons
    return jointly.plan(pipeline)


def work(samples, seed, epoch=0):
    samples = np.asarray(samples, np.int64)
    return Work(samples, np.zeros_like(samples), seed, epoch, 0)


def wants(path, target, transforms, drawn):
    """What torchvision makes of the image and the target, told what was drawn."""
    with Image.open(path) as image:
        return told(transforms, drawn)(image.convert("RGB"), target)


def same_targets(got, want):
    """Whether they have the same keys, types, values and facts."""
    assert got.keys() == want.keys()
    for key, value in want.items():
        assert type(got[key]) is type(value), key
        if isinstance(value, torch.Tensor):
            assert got[key].dtype == value.dtype, key
            assert torch.equal(got[key], value), key
            for fact in ("format", "canvas_size"):
                assert getattr(got[key], fact, None) == getattr(value, fact, None)
        else:
            assert got[key] == value, key


def collate(batch):
    return tuple(zip(*batch, strict=True))


def loader(data, size=3, **options):
    """One that runs natively."""
    out = fastload.DataLoader(data, size, collate_fn=collate, **{"seed": 1, **options})
    assert out.explain().startswith("backend native"), out.explain()
    return out


def flat(batches):
    """Every value of some batches, in plain numbers."""
    return [
        (image.numpy().tobytes(), target["boxes"].tolist(), target["labels"].tolist())
        for images, targets in batches
        for image, target in zip(images, targets, strict=True)
    ]
