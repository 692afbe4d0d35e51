"""RandomResizedCrop's and the flip's draws, for peers that have no such op."""

import math
import random

SCALE, RATIO, TRIES = (0.08, 1.0), (3 / 4, 4 / 3), 10


def crop(width: int, height: int) -> tuple[int, int, int, int]:
    """A box of torchvision's distribution, as (left, top, width, height), px; draws from
    `random`.
    """
    for _ in range(TRIES):
        area = random.uniform(*SCALE) * width * height
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    w, h = min(width, round(height * RATIO[1])), min(height, round(width / RATIO[0]))
    return (width - w) // 2, (height - h) // 2, w, h


def flipped() -> bool:
    return random.random() < 0.5
