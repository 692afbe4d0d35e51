"""A sheet as one HTML file: pictures inside it, no scripts, nothing fetched."""

import base64
import html
import io

from PIL import Image

from fastload.sheets.layout import Card, Sheet, clean

STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 24px; color: #111827; background: #f3f4f6; }
h1 { font-size: 20px; margin: 0; }
main { display: flex; flex-wrap: wrap; gap: 12px; align-items: stretch; margin-top: 16px; }
article { background: #fff; border: 1px solid #d2d6dc; padding: 10px; max-width: 460px;
  overflow-wrap: anywhere; }
h2 { font-size: 13px; margin: 0; } p { margin: 0; } .sub { color: #5a626e; font-size: 12px; }
figure { display: flex; gap: 10px; align-items: flex-start; margin: 8px 0; }
img { outline: 1px solid #d2d6dc; }
ul { margin: 0; padding: 0; list-style: none; font-size: 12px; }
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def write(sheet: Sheet) -> str:
    """The document. Every text is escaped: names of files and classes are somebody else's."""
    title = _text(sheet.title)
    notes = "".join(f"<p>{_text(note)}</p>" for note in sheet.notes)
    cards = "\n".join(map(_card, sheet.cards))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{title}</h1>{notes}<main>\n{cards}\n</main></body></html>\n"
    )


def _card(card: Card) -> str:
    pictures = "".join(map(_picture, card.pictures))
    lines = "".join(f"<li>{_text(line)}</li>" for line in card.lines)
    title = f'<h2>{_text(card.title)}</h2><p class="sub">{_text(card.subtitle)}</p>'
    return f"<article>{title}<figure>{pictures}</figure><ul>{lines}</ul></article>"


def _picture(picture: Image.Image) -> str:
    data = io.BytesIO()
    picture.save(data, "PNG")
    inside = base64.b64encode(data.getvalue()).decode()
    return (
        f'<img width="{picture.width}" height="{picture.height}" alt="" '
        f'src="data:image/png;base64,{inside}">'
    )


def _text(text: str) -> str:
    return html.escape(clean(text))
