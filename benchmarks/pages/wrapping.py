"""Paragraphs whose length is known only when a page is made."""

import textwrap

WIDTH = 100  # characters, as in all pages of docs/


def wrapped(paragraph: str, indent: int = 0) -> str:
    """The paragraph in lines; those after the first begin with `indent` spaces."""
    return textwrap.fill(
        paragraph,
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
