"""fastload verify: read everything again and name what is damaged."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fastload.cli import convert_on
from fastload.cli.output import JsonTo, Threads, emit, meter, table
from fastload.cli.verbs import Verb
from fastload.errors import grouped
from fastload.remote.urls import public

if TYPE_CHECKING:
    from fastload.conversion.cluster.on import On
    from fastload.conversion.verify import Report

SHOWN = 50  # damages on the terminal; all are in the JSON


def register(app: typer.Typer) -> None:
    app.command("verify", cls=Verb)(verify)


def verify(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="Converted shards, or a folder of classes.")
    ],
    workers: Threads = None,
    on: convert_on.ByOthers = None,
    json_to: JsonTo = None,
) -> None:
    """Compare every checksum of shards, or decode every image of a folder. Also check seek indexes.

    Exit 1 if anything is damaged.
    """
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    with convert_on.others("verify", on, workers) as by:
        report = _report(path, workers, by)
    result = {
        "path": public(path), "kind": report.kind, "files": report.files, "samples": report.samples,
        "bytes": report.bytes,
        "ok": not report.damages, "damages": [damage._asdict() for damage in report.damages],
    }  # fmt: skip
    damages = grouped((damage.location, damage.what) for damage in report.damages)
    lines = [Text(readable(f"damaged: {damage}")) for damage in damages[:SHOWN]]
    if len(damages) > SHOWN:
        lines.append(Text(f"damaged: {len(damages) - SHOWN} lines more; --json lists all"))
    verdict = f"{len(report.damages):,} damaged" if report.damages else "all intact"
    rows = [
        ("files", f"{report.files:,}"),
        ("samples", f"{report.samples:,}"),
        ("read", human(report.bytes)),
        ("result", verdict),
    ]
    emit(result, json_to, *lines, Text(readable(public(path))), table(("verified", ""), rows))
    convert_on.emit_workers(by.spread if by else None, json_to)
    if report.damages:
        raise typer.Exit(1)


def _report(path: str, workers: int | None, by: "On | None") -> "Report":
    from fastload.conversion import verify as checker
    from fastload.conversion.spread import seen
    from fastload.conversion.spread import verify as spread

    if by is not None:
        seen.path_for_all("verify", path)  # a URL is refused before anything of it is brought
    prepared = checker.prepare(path)
    with meter("verify", 0 if isinstance(prepared, checker.Damaged) else len(prepared)) as advance:
        if by is None:
            return checker.verify(prepared, workers, advance)
        return spread.run(path, prepared, by, advance)
