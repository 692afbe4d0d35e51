"""How every verb prints: a table for people, or one JSON document for programs."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from rich.console import Console, JustifyMethod
from rich.measure import Measurement
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
from fastload.errors import UsageError, misused, readable
from fastload.files.below import replace_file
from fastload.files.formats import SOURCES, known
from fastload.spec import Json, finite


def check_place(verb: str, option: str, where: str) -> None:
    """Whether a file can lie there is said before the work, not after. Raises UsageError."""
    if not where:
        raise misused(f"{verb}: {option} has an empty name; give the name of a file")
    if not os.path.isdir(os.path.dirname(where) or "."):
        raise UsageError(
            f"{verb}: {where}: its folder does not exist; make it, or give another file to {option}"
        )


def _json_place(context: typer.Context, where: str | None) -> str | None:
    """Raises UsageError."""
    if where not in (None, "-") and not context.resilient_parsing:
        program, *verbs = context.command_path.split()
        check_place(verbs[0] if verbs else program, "--json", where)
    return where


JsonTo = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the result as JSON to FILE, or to stdout with '-'.",
        callback=_json_place,
    ),
]

Threads = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Threads; default: one per core."),
]

DATA = f"One of: {known(SOURCES)}."  # what verbs say of a PATH
BACKENDS = ("auto", *backend_facts.BACKENDS)  # of --backend

WHOLE = 10_000  # characters: lines of files and pipes
FIRST_COLUMN = re.compile(r" *\S+(?: {2,}| (?=-> ))|  +")  # up to where the second one begins
# Control characters but the line end: a name of a file may hold them
UNSHOWABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
results = Console(highlight=False, soft_wrap=True)  # stdout
log = Console(stderr=True, highlight=False, soft_wrap=True)


def emit(result: Json, json_to: str | None, *shown: Any) -> None:
    """Print `shown` (rich renderables or text), and write `result` where --json says; with '-' only
    the JSON is printed.
    """
    if json_to != "-":
        for item in shown:
            put(item)
    if json_to is None:
        return
    text = json.dumps(finite(result), indent=2, sort_keys=False, allow_nan=False) + "\n"
    if json_to == "-":
        with to_stdout():
            print(text, end="")
        return
    try:
        _write(json_to, text)
    except OSError as error:
        raise UsageError(
            f"{json_to}: cannot be written ({error.strerror}); give another file to --json"
        ) from error


def _write(where: str, text: str) -> None:
    """A file of its own whole or not at all; what stands there as a pipe or a link stays one.
    Raises OSError.
    """
    if os.path.isfile(where) != os.path.lexists(where) or os.path.islink(where):
        with open(where, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        replace_file(where, text.encode())


@contextmanager
def to_stdout() -> Iterator[None]:
    """Around what writes there. Raises UsageError where it takes no more, as of a full disk."""
    try:
        try:
            yield
        finally:  # typer.Exit, too
            if sys.stdout is not None:  # closed from the begin
                sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Else Python would complain at its end of what it still holds
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UsageError(
            f"stdout: cannot be written ({error.strerror}); make room for it"
        ) from error


def printable(text: str) -> str:
    """Text of any origin without what moves a terminal's cursor or changes its colours, and in
    characters that UTF-8 can hold.
    """
    return UNSHOWABLE.sub("\ufffd", readable(text))


def put(item: Any) -> None:
    """Print text or a table. On a terminal words wrap at its width; elsewhere lines stay whole, for
    programs that read them.
    """
    if isinstance(item, Text):
        item.plain = printable(item.plain)
    if isinstance(item, str):
        item = printable(item)
    if isinstance(item, Table) and not results.is_terminal:
        whole = results.options.update_width(WHOLE)
        item.width = Measurement.get(results, whole, item).maximum
    if isinstance(item, Text) and results.is_terminal:
        item = Text("\n").join(_wrapped(item, results.width))
    with to_stdout():
        results.print(item)


def room() -> int:
    """Characters of a line that is not broken."""
    return results.width if results.is_terminal else WHOLE


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """Its lines, each at most so wide; what follows is indented to where the second column began.

    A word that is wider stays whole: a terminal breaks it so that it can still be copied.
    """
    for line in text.split("\n", allow_blank=True):
        begin = FIRST_COLUMN.match(line.plain)
        hang = begin.end() if begin and begin.end() <= width // 2 else 0
        if line.cell_len <= width:
            yield line
            continue
        for number, part in enumerate(line.divide(_breaks(line.plain, width, hang))):
            part.rstrip()
            yield Text(" " * hang).append_text(part) if number else part


def _breaks(line: str, width: int, hang: int) -> Iterator[int]:
    """Where words begin that go onto a line of their own, each indented by `hang`."""
    begin, limit = 0, width
    for word in re.finditer(r"\S+", line):
        if word.end() - begin > limit and line[begin : word.start()].strip():
            begin, limit = word.start(), width - hang
            yield begin


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> Table:
    """First column left, the others right: numbers line up."""
    out = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        side: JustifyMethod = "left" if index == 0 else "right"
        # Nothing is cut: numbers stay on one line, and words go on in the next one
        out.add_column(
            Text(column), justify=side, overflow="fold", no_wrap=index > 0 and len(columns) > 2
        )
    for row in rows:
        # Text: a file name may look like rich's markup
        out.add_row(*(Text(printable(str(cell))) for cell in row))
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
