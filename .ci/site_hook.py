"""MkDocs' hook: files of the checkout that docs/ links to become part of the site.

A link such as `../benchmarks/results/peers.png` is right where the page is read in the checkout. In
the site the file stands at the same place below its root, and the link is bent to it.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / ".site" / "notebooks"  # pages that `.ci/site` makes of docs/notebooks
LINK = re.compile(r"(\]\(|(?:src|href)=\")(?!\w+:|#|/)([^)#\s\"]+)(#[^)\s\"]*)?")
ROW = re.compile(r"^\|.*$", re.MULTILINE)
SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
MOVED = {"README.md": "docs/index.md", "docs/README.md": "docs/index.md"}


def target(page: str, link: str) -> str:
    """Where a link leads: a path from the checkout's root, of a page's that is such a path too."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return MOVED.get(path, path)


def in_checkout(uri: str) -> str:
    """The path from the checkout's root of a page of the site."""
    return f"docs/{uri}" if (ROOT / "docs" / uri).exists() else uri


def on_files(files: Files, config: MkDocsConfig) -> Files:
    left = [file.src_uri for file in files.documentation_pages()]
    left += ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    seen = set[str]()
    while left:
        uri = left.pop()
        if uri in seen:
            continue
        seen.add(uri)
        page = in_checkout(uri)
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / page)))
        if uri.endswith(".md"):
            leads = (target(page, link) for _, link, _ in LINK.findall((ROOT / page).read_text()))
            left += [
                path for path in leads if not path.startswith("docs/") and (ROOT / path).is_file()
            ]
    for path in NOTEBOOKS.rglob("*.*"):
        uri = posixpath.join("notebooks", path.relative_to(NOTEBOOKS).as_posix())
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def bent(page: str) -> Callable[[re.Match[str]], str]:
    """What a link of a page becomes in the site."""
    here = posixpath.dirname(page.removeprefix("docs/"))

    def new(link: re.Match[str]) -> str:
        path = target(page, link[2])
        # The site's first page stands for the READMEs, and has other parts.
        anchor = "" if path in MOVED.values() else link[3] or ""
        return link[1] + posixpath.relpath(path.removeprefix("docs/"), here or ".") + anchor

    return new


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    markdown = ROW.sub(lambda row: SPAN.sub(unescaped, row[0]), markdown)
    return LINK.sub(bent(in_checkout(page.file.src_uri)), markdown)


def unescaped(span: re.Match[str]) -> str:
    """A forge wants \\| for a bar in a table's code, Python-Markdown would show the backslash."""
    return span[0].replace("\\|", "|")
