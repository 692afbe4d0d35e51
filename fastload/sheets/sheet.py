"""A sheet as one picture, in Pillow's own font."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from fastload.sheets.layout import Card, Sheet, clean, columns

MARGIN, GAP, PAD = 16, 12, 10  # px: around the sheet, between cards, inside them
TEXT, SMALL, HEAD = 13, 12, 18  # px, sizes of the font
LEADING = 1.35  # line height / font size
LEAST = 260  # px, width of a card's text
LONGEST = 400  # characters that are tried to fit
PAPER = (243, 244, 246)
CARD = (255, 255, 255)
INK = (17, 24, 39)
GREY = (90, 98, 110)
EDGE = (210, 214, 220)
Measure = Callable[[str], float]  # width of a text, px


class _Text(NamedTuple):
    words: str
    size: int
    colour: tuple[int, int, int]


def draw(sheet: Sheet) -> Image.Image:
    """The sheet as an RGB image: cards of one width in rows as high as their highest card."""
    inner = max([LEAST, *(_pictures_width(card) for card in sheet.cards)])
    texts = [list(_texts(card, inner)) for card in sheet.cards]
    heights = [
        _pictures_height(card) + PAD * 3 + sum(map(_leading, text))
        for card, text in zip(sheet.cards, texts, strict=True)
    ]
    width = inner + 2 * PAD
    across = columns(len(sheet.cards), width, max(heights, default=1))
    total = 2 * MARGIN + across * width + (across - 1) * GAP
    head = [
        _Text(part, size, INK)
        for size, text in _head(sheet)
        for part in wrapped(text, total - 2 * MARGIN, _measure(size))
    ]
    rows = [max(heights[start : start + across]) for start in range(0, len(heights), across)]
    top = MARGIN + sum(map(_leading, head)) + GAP
    out = Image.new("RGB", (total, top + sum(rows) + GAP * max(0, len(rows) - 1) + MARGIN), PAPER)
    _write(out, head, MARGIN, MARGIN)
    for number, (card, text) in enumerate(zip(sheet.cards, texts, strict=True)):
        row, column = divmod(number, across)
        left, y = MARGIN + column * (width + GAP), top + sum(rows[:row]) + GAP * row
        _card(out, card, text, (left, y, left + width - 1, y + rows[row] - 1))
    return out


def _head(sheet: Sheet) -> list[tuple[int, str]]:
    return [(HEAD, sheet.title), *((TEXT, note) for note in sheet.notes)]


def _texts(card: Card, width: int) -> Iterable[_Text]:
    """Title and subtitle on one line each, then the wrapped lines."""
    yield _Text(shortened(card.title, width, _measure(TEXT)), TEXT, INK)
    yield _Text(shortened(card.subtitle, width, _measure(SMALL)), SMALL, GREY)
    for line in card.lines:
        for part in wrapped(line, width, _measure(SMALL)):
            yield _Text(part, SMALL, INK)


def _card(out: Image.Image, card: Card, text: list[_Text], box: tuple[int, int, int, int]) -> None:
    pen = ImageDraw.Draw(out)
    pen.rectangle(box, fill=CARD, outline=EDGE)
    left, top = box[0] + PAD, box[1] + PAD
    _write(out, text[:2], left, top)
    top += sum(map(_leading, text[:2])) + PAD // 2
    for picture in card.pictures:
        # An edge, so that white pictures show too
        pen.rectangle((left - 1, top - 1, left + picture.width, top + picture.height), outline=EDGE)
        out.paste(picture, (left, top))
        left += picture.width + PAD
    _write(out, text[2:], box[0] + PAD, top + _pictures_height(card) + PAD // 2)


def _write(out: Image.Image, text: list[_Text], left: int, top: int) -> None:
    pen = ImageDraw.Draw(out)
    for line in text:
        pen.text((left, top), line.words, fill=line.colour, font=ImageFont.load_default(line.size))
        top += _leading(line)


def _leading(line: _Text) -> int:
    return round(line.size * LEADING)


def _pictures_width(card: Card) -> int:
    return sum(picture.width for picture in card.pictures) + PAD * max(0, len(card.pictures) - 1)


def _pictures_height(card: Card) -> int:
    return max((picture.height for picture in card.pictures), default=0)


def _measure(size: int) -> Measure:
    return ImageFont.load_default(size).getlength


def plain(text: str) -> str:
    """What Pillow's font has: ASCII and the degree sign."""
    return "".join(
        character if character.isascii() or character == "°" else "?" for character in clean(text)
    )


def shortened(text: str, width: int, measure: Measure) -> str:
    """Text cut in its middle to `width` px: the ends of a file name tell most."""
    text = plain(text)
    text = _middle_out(text, LONGEST) if len(text) > LONGEST else text
    if measure(text) <= width:
        return text
    keep = len(text) - 1
    while keep > 1 and measure(_middle_out(text, keep)) > width:
        keep -= 1
    return _middle_out(text, keep)


def _middle_out(text: str, keep: int) -> str:
    return f"{text[: (keep + 1) // 2]}...{text[len(text) - keep // 2 :]}"


def wrapped(text: str, width: int, measure: Measure) -> list[str]:
    """Lines of `width` px at most, broken at spaces, and inside words that are longer."""
    out = [""]
    for word in plain(text).split(" "):
        joined = f"{out[-1]} {word}" if out[-1] else word
        if measure(joined) <= width:
            out[-1] = joined
            continue
        out += [word] if out[-1] else []
        out[-1] = out[-1] or word
        while measure(out[-1]) > width and len(out[-1]) > 1:
            fits = 1
            while measure(out[-1][: fits + 1]) <= width:
                fits += 1
            out[-1:] = [out[-1][:fits], out[-1][fits:]]
    return out
