"""What a sheet holds, whatever it is drawn as: cards of pictures with words below."""

import math
import re
from dataclasses import dataclass

from PIL import Image

# Control characters, and bytes of file names that are no UTF-8
UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Card:
    title: str
    subtitle: str
    pictures: tuple[Image.Image, ...]  # RGB, side by side
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    title: str
    notes: tuple[str, ...]
    cards: tuple[Card, ...]


def clean(text: str) -> str:
    """Text of any origin, on one line and in characters that UTF-8 can hold."""
    return UNSHOWABLE.sub("\ufffd", text)


def fitted(image: Image.Image, side: int) -> Image.Image:
    """A copy whose longer side is `side` px at most."""
    out = image.copy()
    out.thumbnail((side, side))
    return out


def columns(count: int, width: int, height: int) -> int:
    """Cards of width x height px per row:

    `count` of them about 1.5 times as wide as high, with few gaps in the last row.
    """
    about = max(1, round(math.sqrt(1.5 * count * height / max(1, width))))
    tried = [across for across in (about, about - 1, about + 1) if 1 <= across <= count] or [
        max(1, count)
    ]
    return min(tried, key=lambda across: (-count % across) / across)
