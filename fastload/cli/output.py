"""How every verb prints: a table for people, or one JSON document for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from fastload.backends import table as backend_facts
from fastload.errors import UsageError
from fastload.files.formats import SOURCES, known
from fastload.spec import Json

JsonTo = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the result as JSON to FILE, or to stdout with '-'."
    ),
]

Threads = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Threads; default: one per core."),
]

DATA = f"One of: {known(SOURCES)}."  # what verbs say of a PATH
BACKENDS = ("auto", *backend_facts.BACKENDS)  # of --backend

results = Console(highlight=False, soft_wrap=True)  # stdout
log = Console(stderr=True, highlight=False, soft_wrap=True)


def emit(result: Json, json_to: str | None, *shown: Any) -> None:
    """Print `shown` (rich renderables or text), and write `result` where --json says; with '-' only
    the JSON is printed.
    """
    if json_to != "-":
        for item in shown:
            results.print(item)
    if json_to is None:
        return
    text = json.dumps(result, indent=2, sort_keys=False) + "\n"
    if json_to == "-":
        sys.stdout.write(text)
        return
    try:
        with open(json_to, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(
            f"{json_to}: cannot be written ({error.strerror}); give another file to --json"
        ) from error


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> Table:
    """First column left, the others right: numbers line up."""
    out = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        out.add_column(Text(column), justify="left" if index == 0 else "right")
    for row in rows:
        # Text: a file name may look like rich's markup
        out.add_row(*(Text(str(cell)) for cell in row))
    return out


def shows_bars() -> bool:
    """Whether stderr is a terminal, or a notebook whose output can change in place."""
    return log.is_terminal or (log.is_jupyter and find_spec("ipywidgets") is not None)


@contextmanager
def progress(what: str, total: int | None, unit: str = "images") -> Iterator[Callable[..., None]]:
    """A progress bar on a terminal or in a notebook, nothing elsewhere; yields advance(count=1)."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        console=log, transient=True, disable=not shows_bars(),
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=total)

        def advance(count: int = 1) -> None:
            bar.advance(task, count)

        yield advance


AS_IT_WAS = "everything is as it was"  # after Ctrl-C, for verbs that do all or nothing


@contextmanager
def interruptible(what: str = "what is done is kept: go on with --resume") -> Iterator[None]:
    """Ctrl-C ends a verb with a line on what becomes of its work; once that is committed,
    `interrupts.absorbed` keeps Ctrl-C away.
    """
    try:
        yield
    except KeyboardInterrupt:
        log.print(f"interrupted; {what}", markup=False)
        raise typer.Exit(130) from None


@contextmanager
def meter(
    what: str, total: int | None, size: int | None = None
) -> Iterator[Callable[[int, int], None]]:
    """A progress bar with rate, bytes and bad samples; yields advance(images, bytes), which any
    thread may call: 0 bytes is a bad image.

    size: bytes of the whole.
    """
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("images"),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(),
        console=log, transient=True, disable=not shows_bars(),
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=total, rate="")
        done = [0, 0, 0]  # images, bytes, bad
        whole = f" of {size / 2**20:,.0f}" if size else ""

        def advance(images: int, count: int) -> None:
            done[0] += images
            done[1] += count
            done[2] += images if not count else 0
            if elapsed := bar.tasks[0].elapsed:
                bad = f", {done[2]:,} bad" if done[2] else ""
                rate = (
                    f"{done[0] / elapsed:,.0f} images/s, {done[1] / 2**20:,.0f}{whole} MiB, "
                    f"{done[1] / elapsed / 2**20:,.0f} MiB/s{bad}"
                )
                bar.update(task, completed=done[0], rate=rate)

        yield advance
