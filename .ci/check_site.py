"""`python check_site.py FOLDER`: every link of the built site leads somewhere, anchors too, no page
fetches anything from the network, and no example is shown as prose. Addresses of other sites are
checked by form only.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script", "img", "link", "iframe", "source", "video", "audio"}  # read with the page
KNOWN_RELATIONS = {"canonical", "prev", "next"}  # of <link>: named, not fetched
PROMPT = re.compile(r"<blockquote>\s*<blockquote>")  # what Markdown makes of >>> outside of code
IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?(https?:|//)")
HOST = re.compile(r"^[\w.-]+\.\w{2,}$")  # the host of an address


class Page(HTMLParser):
    """The anchors of a page, and its links: (tag, address)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        named = tag == "link" and set((given.get("rel") or "").split()) & KNOWN_RELATIONS
        self.links += [
            ("a" if named else tag, value) for key in ("href", "src") if (value := given.get(key))
        ]


def problems(site: Path) -> Iterator[str]:
    """One line for each link that is bad, and each page with an example that is no code."""
    texts = {path: path.read_text("utf-8") for path in sorted(site.rglob("*.html"))}
    pages = {path: Page(text) for path, text in texts.items()}
    if not pages:
        yield f"{site}: no page is there"
    for path, page in pages.items():
        if PROMPT.search(texts[path]):
            yield f"{path.relative_to(site)}: an example is shown as prose"
        for tag, link in page.links:
            if why := wrong(site, path, pages, tag, link):
                yield f"{path.relative_to(site)}: {link}: {why}"
    for style in sorted(site.rglob("*.css")):
        if IN_STYLE.search(style.read_text("utf-8")):
            yield f"{style.relative_to(site)}: fetches from the network"


def wrong(site: Path, path: Path, pages: dict[Path, Page], tag: str, link: str) -> str:
    """Why a link is bad, "" if it is not."""
    parts = urlsplit(link)
    if parts.scheme in ("data", "mailto", "javascript"):
        return ""
    if parts.scheme or parts.netloc:
        if tag in FETCHED:
            return "fetched from the network"
        good = parts.scheme in ("http", "https") and HOST.match(parts.hostname or "")
        return "" if good else "no address"
    if parts.path.startswith("/") and path.name == "404.html":  # shown at any depth
        path, parts = site / "404.html", parts._replace(path=parts.path.lstrip("/") or ".")
    if parts.path.startswith("/"):
        return "begins at the server's root; want a relative one"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(site):
        return "leads out of the site"
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "nothing is there"
    if parts.fragment and target in pages:
        anchor = unquote(parts.fragment)
        return "" if anchor in pages[target].anchors else "no such anchor"
    return ""


def main(folder: str) -> int:
    site = Path(folder).resolve()
    found = list(problems(site))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} bad links or examples")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
