"""Paragraphs whose length is known only when a page is made."""

import textwrap

WIDTH = 100  # characters, as in all pages of docs/


def wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)
