"""fastload inspect: what lies at a path."""

import io
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fastload.cli.output import JsonTo, check_place, emit, room, table
from fastload.cli.verbs import Verb, old_names
from fastload.errors import UsageError
from fastload.files.below import replace_file
from fastload.files.formats import summary_of
from fastload.remote.urls import public

if TYPE_CHECKING:
    from fastload.conversion.inspect import Facts

INDEXED, NO_INDEX = ("shards", "folder"), "none (fastload index builds one)"
BESIDE_BARS = 28  # characters of a histogram's name, counts and gaps
SHOWN = 5  # unreadable files, warnings on the terminal; all are in the JSON


def register(app: typer.Typer) -> None:
    app.command("inspect", cls=Verb, context_settings=old_names(png="output"))(inspect)


def inspect(
    path: Annotated[str, typer.Argument(metavar="PATH", help="Anything that can be converted.")],
    headers: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Image headers to read from a folder, spread evenly."
        ),
    ] = 10_000,
    histograms: Annotated[
        bool, typer.Option("--histograms", help="Show how sizes and classes are spread.")
    ] = False,
    png: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Draw the histograms into a PNG file."),
    ] = None,
    versions: Annotated[
        bool, typer.Option("--versions", help="List the versions of shards that were added to.")
    ] = False,
    json_to: JsonTo = None,
) -> None:
    """Say what a data set holds: samples, classes, formats, sizes."""
    if png is not None:
        check_place("inspect", "--output", png)
    if versions:
        _versions(path, json_to)
        return
    _look(path, headers, png, json_to, histograms=histograms)


def _look(
    path: str, headers: int, png: str | None, json_to: str | None, *, histograms: bool
) -> None:
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion.inspect import inspect as look
    from fastload.conversion.readers import readable

    facts = look(path, headers)
    spreads = table(("", "min", "5 %", "median", "95 %", "max"), _spreads(facts))
    warnings = [Text(readable(f"seek index: {text}")) for text in facts.warnings[:SHOWN]]
    emit(
        facts.as_dict(),
        json_to,
        Text(readable(public(path))),
        table(("", ""), _rows(facts)),
        spreads,
        *warnings,
        *_unreadable(facts),
        *(_histograms(facts) if histograms else ()),
    )
    if png is not None:
        _draw(facts, png)


def _versions(path: str, json_to: str | None) -> None:
    from fastload.conversion.readers import readable
    from fastload.conversion.versions.listing import listing

    said = listing(path)
    rows = [
        (one.number, one.at or "-", f"{one.added:,}", f"{one.deleted:,}", f"{one.samples:,}")
        for one in said
    ]
    result = [
        {
            "version": one.number, "at": one.at, "added": one.added, "deleted": one.deleted,
            "samples": one.samples,
        }
        for one in said
    ]  # fmt: skip
    emit(
        {"path": public(path), "versions": result}, json_to, Text(readable(public(path))),
        table(("version", "when", "added", "deleted", "samples"), rows),
    )  # fmt: skip


def _rows(facts: "Facts") -> list[tuple[str, str]]:
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    counts = facts.per_class
    rows = [
        ("format", f"{facts.shards} shards" if facts.kind == "shards" else summary_of(facts.kind)),
        ("samples", f"{facts.samples:,} in {facts.classes:,} classes"),
        ("bytes", human(facts.bytes)),
        *[
            (
                "seek index",
                f"{facts.indexed:,} images, {human(facts.seek_bytes)}"
                if facts.indexed
                else NO_INDEX,
            )
        ]
        * (facts.kind in INDEXED),
        ("smallest class", f"{readable(facts.smallest_class)} ({counts['p0']:,.0f})"),
        ("largest class", f"{readable(facts.largest_class)} ({counts['p100']:,.0f})"),
    ]
    if facts.headers < facts.samples:
        rows.append(("headers read", f"{facts.headers:,}"))
    rows += [(name, f"{share:.1%}") for name, share in facts.formats.items()]
    if facts.transcoded is not None:
        rows.append(("transcoded", f"{facts.transcoded:,} images"))
    rows += [
        (f"{coding}: decode slowly", f"{share:.1%} (convert --transcode)")
        for coding, share in facts.slow.items()
    ]
    if facts.with_extras:
        rows.append(("with other files", f"{facts.with_extras:,}"))
    if facts.left_out:
        rows.append(("left out as bad", f"{facts.left_out:,}"))
    return rows


def _histograms(facts: "Facts") -> list[Any]:
    from fastload.conversion.histograms import WIDE, text

    wide = min(WIDE, room() - BESIDE_BARS)

    return [
        table(
            (name, "", "samples" if name != "samples per class" else "classes"),
            _padded(text(each, wide)),
        )
        for name, each in facts.histograms.items()
    ]


def _padded(rows: "list[tuple[str, str, str]]") -> list[tuple[str, str, str]]:
    """Bars that begin at the left: tables line up to the right."""
    wide = max(len(bar) for _, bar, _ in rows)
    return [(edge, bar.ljust(wide), count) for edge, bar, count in rows]


def _draw(facts: "Facts", path: str) -> None:
    from fastload.conversion.histograms import picture

    data = io.BytesIO()
    picture(facts.histograms).save(data, "PNG")
    try:
        replace_file(path, data.getvalue())
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror or error}); give another file to --output"
        ) from error


def _unreadable(facts: "Facts") -> list[Text]:
    """Lines, not table rows: a table would break long paths."""
    from fastload.conversion.readers import readable

    lines = [Text(f"not an image: {readable(path)}") for path in facts.unreadable[:SHOWN]]
    return lines + [
        Text(f"not an image: {len(facts.unreadable) - SHOWN} more; --json lists all")
    ] * (len(facts.unreadable) > SHOWN)


def _spreads(facts: "Facts") -> list[list[str]]:
    from fastload.conversion.units import human

    pixels = [
        [name, *(f"{value:,.0f} px" for value in values.values())]
        for name, values in (("height", facts.height), ("width", facts.width))
    ]
    return [
        *pixels,
        ["file size", *(human(value) for value in facts.size.values())],
        ["samples per class", *(f"{value:,.0f}" for value in facts.per_class.values())],
    ]
