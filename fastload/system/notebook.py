"""HTML for notebooks: no scripts, nothing fetched, and the notebook's own colours, so that it reads
in light and in dark. Every text is escaped: names of classes and files are somebody else's.
"""

import html
import re
from collections.abc import Iterable

# Control characters, and bytes of file names that are no UTF-8
UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
CELL = 'style="text-align: left; vertical-align: top; white-space: pre-wrap"'


def escaped(text: str) -> str:
    """Any text as the content of an element."""
    return html.escape(UNSHOWABLE.sub("\ufffd", text))


def lines(title: str, text: Iterable[str]) -> str:
    """A title, and lines below it in a font of one width."""
    body = "\n".join(map(escaped, text))
    style = 'style="margin: 0.3em 0; white-space: pre-wrap"'
    return f"<div><strong>{escaped(title)}</strong><pre {style}>{body}</pre></div>"


def table(title: str, rows: Iterable[tuple[str, str]], below: Iterable[str] = ()) -> str:
    """A title, a table of names and values, and paragraphs below it."""
    body = "".join(
        f"<tr><th {CELL}>{escaped(name)}</th><td {CELL}>{escaped(value)}</td></tr>"
        for name, value in rows
    )
    said = "".join(f"<p>{escaped(one)}</p>" for one in below)
    return f"<div><strong>{escaped(title)}</strong><table>{body}</table>{said}</div>"
