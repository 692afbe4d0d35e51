"""Small detection data sets, the presets of torchvision's references/detection, and what
torchvision makes of a sample when it is told what fastload has drawn.
"""

import copy
import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.datasets import VOCDetection, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

from fastload.joint.picture import opened
from fastload.joint.samples import Maker, draws
from fastload.plan import jointly
from fastload.spec import Work
from tests.conftest import encoded, textured

SIZES = ((37, 53), (64, 48), (40, 90), (70, 33))  # height, width; px
MEAN = (123.0, 117.0, 104.0)
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


def boxes_of(seed, height, width):
    """int [N, 4]: left, top, right, bottom of one to four boxes, px."""
    rng = np.random.default_rng(seed)
    count = 1 + seed % 4
    left, top = rng.integers(0, width - 12, count), rng.integers(0, height - 12, count)
    right = left + rng.integers(6, 12, count)
    bottom = top + rng.integers(6, 12, count)
    return np.stack([left, top, right, bottom], axis=1)


def write_images(folder, count, suffix="jpg"):
    folder.mkdir(parents=True)
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        (folder / f"{number:03}.{suffix}").write_bytes(
            encoded(textured(height, width, number), quality=90)
        )


def write_voc(root: Path, count=8):
    """A tree of VOC2012, for VOCDetection(root)."""
    base = root / "VOCdevkit" / "VOC2012"
    write_images(base / "JPEGImages", count)
    (base / "Annotations").mkdir()
    (base / "ImageSets" / "Main").mkdir(parents=True)
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        objects = "".join(
            f"<object><name>dog</name><bndbox><xmin>{a}</xmin><ymin>{b}</ymin><xmax>{c}</xmax>"
            f"<ymax>{d}</ymax></bndbox></object>"
            for a, b, c, d in boxes_of(number, height, width)
        )
        (base / "Annotations" / f"{number:03}.xml").write_text(
            f"<annotation><filename>{number:03}.jpg</filename>{objects}</annotation>"
        )
    names = "\n".join(f"{number:03}" for number in range(count))
    (base / "ImageSets" / "Main" / "train.txt").write_text(names)


def voc(root, transforms, **options):
    data = VOCDetection(str(root), image_set="train", transforms=transforms)
    return wrap_dataset_for_transforms_v2(data, **options)


def write_coco(root: Path, count=8):
    """Images and instances.json, with polygons and RLEs; the last image has no annotation."""
    write_images(root / "images", count)
    images, annotations = [], []
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        images.append({
            "id": 100 + number, "file_name": f"{number:03}.jpg", "height": height, "width": width,
        })  # fmt: skip
        for a, b, c, d in boxes_of(number, height, width).tolist() if number < count - 1 else ():
            polygon = [[a, b, c, b, c, d, a, d]]
            counts = [a * height + b, d - b, height * (width - a) - d]
            rle = {"size": [height, width], "counts": counts}
            annotations.append({
                "id": len(annotations) + 1, "image_id": 100 + number, "category_id": 1 + number % 3,
                "bbox": [a, b, c - a, d - b], "area": (c - a) * (d - b), "iscrowd": number % 2,
                "segmentation": rle if number % 2 else polygon,
            })  # fmt: skip
    known = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "a"}]}
    (root / "instances.json").write_text(json.dumps(known))


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
            mine.__dict__["make_params"] = lambda flat, params=params: params
            if hasattr(mine, "p"):
                mine.p = 0.0 if params is None else 1.0
        parts.append(mine)
    assert not drawn
    return v2.Compose(parts)


def made(plan, work, position=0):
    """A sample, and (torchvision's transform, what was drawn) of each step that draws."""
    maker = Maker(plan)
    sample = maker(work, position, lambda shape, dtype: np.empty(shape, dtype))
    number = int(work.samples[position])
    with open(plan.source.name(number), "rb") as file:
        picture = opened(file.read())
    target = plan.joint.target(plan.joint.row(number), picture.size)
    drawn = [
        (one.step.of, one.params)
        for one, _ in maker.moves(picture, target, draws(work, position))
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
