"""What of a page is prose: its lines but for tables, code and generated rows, and its sentences.

    python -m tests.docs.prose FOLDER PAGE...    # copies for a linter of prose: .ci/prose

It needs the standard library only.
"""

import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a page but for tables, code, and rows that a benchmark writes."""
    fenced = written = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("<!-- benchmarks:"):
            written = True
        elif line.startswith("<!-- /benchmarks"):
            written = False
        elif not (fenced or written or line.startswith(("|", "    "))):
            yield number, line


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence of a page's prose, with the line on which its paragraph begins. A code span is
    one word, and of a link only the text counts.
    """
    first, lines = 0, list[str]()
    for number, line in [*prose(text), (0, "")]:
        begins = re.match(r"\s*(?:[-*] |\d+\. |#|<!--|$)", line)
        if begins and lines:
            whole = re.sub(r"`[^`]*`", "code", " ".join(lines))
            whole = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", whole)
            for sentence in re.split(r"(?<=[.!?])[*_\"')]*\s+", whole):
                yield first, sentence
            lines = []
        if not line.startswith("<!--") and (words := re.sub(r"^\s*(?:[-*]|\d+\.|#+) ", "", line)):
            first = first if lines else number
            lines.append(words.strip())


def plain(text: str) -> str:
    """A page's prose on the page's own lines: code spans are words, each another one; of links
    only the text is left; a heading and what comes before code end with a stop.
    """
    lines, spans = [""] * len(text.splitlines()), count(1)
    for number, line in prose(text):
        lines[number - 1] = re.sub(r"^#+ (.*)", r"\1.", line)
    whole = re.sub(r"`[^`]+`", lambda span: f"c{next(spans)}c" + "\n" * span[0].count("\n"),
                   "\n".join(lines))  # fmt: skip
    whole = re.sub(r"\]\([^)\s]*\)|<!--.*?-->|<[^>\n]*>", "", whole).replace("[", "")
    return re.sub(r"(?<=[\w):])(?=\n\n)", ".", whole) + "\n"


def main() -> None:
    folder, pages = Path(sys.argv[1]), sys.argv[2:]
    for page in pages:
        copy = folder / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(plain(Path(page).read_text()))


if __name__ == "__main__":
    main()
