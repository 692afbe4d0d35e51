"""Images with their targets as pictures: boxes and masks are drawn on the original and on what the
model gets.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image, ImageDraw

from fastload.errors import SampleError
from fastload.joint.picture import Picture, opened
from fastload.joint.samples import Drawn, Maker, draws, failed, moves
from fastload.joint.steps import Target
from fastload.plan.plan import Plan
from fastload.sheets.layout import Card
from fastload.spec import Array, Bools, Json, Pixels, Work
from fastload.transforms import pil

COLOURS = (
    (230, 30, 30), (30, 110, 230), (20, 160, 60), (240, 160, 0), (150, 40, 200), (0, 170, 180),
)  # fmt: skip
SHARE = 0.45  # of a mask's colour in its pixels
MASKS = (torch.uint8, torch.bool, torch.int64)
IGNORED = 255  # the class of pixels that no loss counts
DOT = 2  # px, radius of a keypoint
State = tuple[Drawn | None, Picture, Target]  # after a step; None: before the first one


def cards(plan: Plan, works: Iterator[Work], count: int, side: int, original: int) -> list[Card]:
    """One for each of the first samples. side, original: px, the longest side of what the model
    gets, and of the original. Raises SampleError.
    """
    maker = Maker(plan)
    out: list[Card] = []
    for work in works:
        for position in range(len(work)):
            if len(out) == count:
                return out
            out.append(_card(maker, work, position, side, original))
    return out


def _card(maker: Maker, work: Work, position: int, side: int, original: int) -> Card:
    sample = int(work.samples[position])
    name, lines = maker.plan.source.name(sample), list[str]()
    with _failing(name, sample):
        for drawn, picture, target in _states(maker, work, position):
            if drawn is None:
                before = pictured(picture.made(), target, original)
                size, boxes = picture.size, _count(target)
            else:
                lines += _words(drawn)
        after = pictured(picture.made(), target, side)
    count, mixed = _count(target), maker.joint.partners is not None
    counts = f"{count} boxes, before {boxes}" if mixed else f"{count} of {boxes} boxes"
    now = f"{picture.size[0]}x{picture.size[1]} px, {counts}"
    about = f"sample {sample}, {size[0]}x{size[1]} px to {now}"
    return Card(os.path.basename(name), about, (before, after), tuple(lines))


class Moved(NamedTuple):
    """A sample after a step."""

    step: str  # "original": before the first one
    words: str  # what was drawn
    size: tuple[int, int]  # height, width; px
    boxes: list[list[float]]  # left, top, right, bottom; px
    picture: Image.Image  # with masks, boxes and keypoints

    @property
    def about(self) -> str:
        """Its size and its boxes."""
        count = len(self.boxes)
        return f"{self.size[0]}x{self.size[1]} px, {count} box{'es' * (count != 1)}"

    def as_dict(self) -> Json:
        facts = {"step": self.step, "drawn": self.words, "size_px": list(self.size)}
        return {**facts, "boxes": self.boxes}


def stages(plan: Plan, work: Work, side: int) -> list[Moved]:
    """The first sample of a batch as the data set has it, and after each step. side: px, the
    longest of a picture. Raises SampleError.
    """
    maker, sample, out = Maker(plan), int(work.samples[0]), list[Moved]()
    with _failing(plan.source.name(sample), sample):
        for drawn, picture, target in _states(maker, work, 0):
            step = "original" if drawn is None else type(drawn.step.of).__name__
            words = "" if drawn is None else "; ".join(_words(drawn)).removeprefix(f"{step}: ")
            boxes = [box for _, some in _corners(target) for box in some]
            shown = pictured(picture.made(), target, side)
            out.append(Moved(step, "" if words == step else words, picture.size, boxes, shown))
    return out


def _states(maker: Maker, work: Work, position: int) -> Iterator[State]:
    """What a sample goes through; the picture is the same one each time."""
    sample = int(work.samples[position])
    name = maker.plan.source.name(sample)
    picture = opened(maker.encoded(sample, name))
    target = maker.target(sample, name, picture.size)
    yield None, picture, target
    uniforms, others = draws(work, position), maker.partners(work, position)
    for drawn in moves(maker.joint.steps, picture, target, uniforms, others=others):
        yield drawn, picture, drawn.target


@contextmanager
def _failing(name: str, sample: int) -> Iterator[None]:
    """What goes wrong with a sample is a SampleError."""
    try:
        yield
    except SampleError:
        raise
    except pil.DECODE_ERRORS as error:
        raise failed(name, sample, error) from error


def _words(drawn: Drawn) -> list[str]:
    """What a step has drawn, in one line; nothing of one that draws nothing."""
    name = type(drawn.step.of).__name__
    if drawn.params is None:
        return [f"{name}: not drawn"]
    said = {key: value for key, value in drawn.params.items() if _is_short(value)}
    if not said:
        return [] if drawn.step.draws_nothing else [name]
    return [f"{name}: " + ", ".join(f"{key} {_number(value)}" for key, value in said.items())]


def _is_short(value: Any) -> bool:
    return isinstance(value, (int, float, tuple, list, torch.Tensor)) and (
        not isinstance(value, torch.Tensor) or value.numel() <= 3
    )


def _number(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _count(target: Target) -> int:
    return sum(len(boxes) for _, boxes in _corners(target))


def pictured(pixels: Pixels, target: Target, side: int) -> Image.Image:
    """The image, its longer side `side` px at most, with masks, boxes and keypoints."""
    height, width = pixels.shape[:2]
    image = Image.fromarray(_masked(pixels, target))
    image.thumbnail((side, side))
    pen, x, y = ImageDraw.Draw(image), image.width / width, image.height / height
    for _, boxes in _corners(target):
        for number, (left, top, right, bottom) in enumerate(boxes):
            ends = (left * x, top * y, max(left, right) * x - 1, max(top, bottom) * y - 1)
            if ends[2] >= ends[0] and ends[3] >= ends[1]:
                pen.rectangle(ends, outline=colour(number), width=2)
    for number, (across, down) in enumerate(_points(target)):
        at = across * x, down * y
        corners = (at[0] - DOT, at[1] - DOT, at[0] + DOT, at[1] + DOT)
        pen.ellipse(corners, fill=colour(number))
    return image


def colour(number: int) -> tuple[int, int, int]:
    return COLOURS[number % len(COLOURS)]


def _masked(pixels: Pixels, target: Target) -> Pixels:
    """The pixels with masks of the same size over them."""
    out = pixels.astype(np.float32)
    for value in target.values():
        if not isinstance(value, torch.Tensor) or value.dtype not in MASKS:
            continue
        if value.ndim == 3 and value.shape[1:] == pixels.shape[:2]:
            for number, mask in _layers(value.numpy()):
                out[mask] += (np.array(colour(number), np.float32) - out[mask]) * SHARE
    return out.astype(np.uint8)


def _layers(masks: Array) -> Iterator[tuple[int, Bools]]:
    """Of instances, one each; of a mask of classes, one for each class but the background and what
    is ignored.
    """
    if len(masks) == 1 and masks.max(initial=0) > 1:
        classes = set(np.unique(masks).tolist()) - {0, IGNORED}
        yield from ((int(each), masks[0] == each) for each in sorted(classes))
    else:
        yield from enumerate(masks.astype(bool))


def _corners(target: Target) -> Iterator[tuple[str, list[list[float]]]]:
    """Boxes as left, top, right, bottom, px; of turned ones, what is around them. Those that are
    plain tensors by now are taken by their name.
    """
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional

    for key, value in target.items():
        if isinstance(value, tv_tensors.BoundingBoxes):
            turned = bool(value.numel()) and value.shape[-1] != 4  # torch.tensor([]) has no boxes
            wanted = "XYXYXYXY" if turned else "XYXY"
            value = functional.convert_bounding_box_format(
                value, new_format=tv_tensors.BoundingBoxFormat[wanted]
            )
        elif key != "boxes" or not isinstance(value, torch.Tensor):
            continue
        sides = value.as_subclass(torch.Tensor)
        if sides.shape[-1] == 8:  # the corners of turned ones
            points = sides.reshape(-1, 4, 2)
            sides = torch.cat([points.amin(dim=1), points.amax(dim=1)], dim=1)
        if sides.shape[-1] == 4:  # nobody says what others mean
            yield key, sides.reshape(-1, 4).tolist()


def _points(target: Target) -> list[list[float]]:
    from torchvision import tv_tensors

    kind = getattr(tv_tensors, "KeyPoints", ())  # which came with torchvision 0.23
    found = [one for one in target.values() if isinstance(one, kind)]
    return [
        point for one in found for point in one.as_subclass(torch.Tensor).reshape(-1, 2).tolist()
    ]
