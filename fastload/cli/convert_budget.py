"""fastload convert --budget: which sizes and qualities fit, shown before they are converted to."""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from fastload.cli.output import emit, log, put, table
from fastload.errors import UsageError, misused
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.budget import Plan, Tried
    from fastload.conversion.options import Options
    from fastload.conversion.parts_writer import Job
    from fastload.conversion.sizing import Range
    from fastload.sheets.layout import Card

SHOWN = 3  # ways on the sheet
PICTURES = 8  # on the sheet
SIDE = 320  # px of a picture there


def check(arguments: Json) -> None:
    """Raises UsageError where what belongs to a budget is given without one."""
    for option in ("yes", "sheet"):
        if arguments[option] and not arguments["budget"]:
            raise misused(
                f"convert: --{option} is for --budget, which is missing; add --budget SIZE, or "
                f"leave --{option} out"
            )


def refuse(arguments: Json, what: str) -> None:
    """Raises UsageError where there is a budget for what has none."""
    if arguments["budget"]:
        raise misused(
            f"convert: --budget is not for {what}; give --max-side and --quality themselves"
        )


def chosen(prepared: "Job", arguments: Json) -> "tuple[Options, Range] | None":
    """The options of the best way that fits, and the bytes that are foreseen; None: they were only
    shown, or the user said no. arguments: the command's, by name. Raises UsageError,
    ConversionError.
    """
    from fastload.conversion import budget  # loads torch, which --help does not

    if arguments["resume"]:
        raise misused(
            "convert: --resume takes the --max-side and --quality that were found (stderr has "
            "them); give these in the place of --budget"
        )
    found = budget.plan(prepared, arguments["budget"])
    path = arguments["sheet"] or _sheet_path(prepared.where)
    _draw(found, path)
    converts = arguments["yes"] and not arguments["dry_run"]
    result = None if converts else arguments["json_to"]
    shown = _shown(found, prepared.where, arguments["json_to"])
    emit(_document(found, prepared.where, path), result, *shown)
    if arguments["json_to"] != "-":
        log.print(f"what this does to pictures: {path}", markup=False)
    if arguments["dry_run"] or not (arguments["yes"] or _said_yes(result)):
        return None
    way = found.best.way
    log.print(f"converting to: {_name(found.best)}", markup=False)
    edits = replace(prepared.options.edits, **way._asdict())
    return replace(prepared.options, edits=edits), found.best.of_all


def _said_yes(json_to: str | None) -> bool:
    if json_to is not None or not sys.stdin.isatty():
        log.print("nothing was converted; --yes converts to the first line", markup=False)
        return False
    return typer.confirm("convert to the first line?", err=True)


def _sheet_path(where: str) -> str:
    """Beside the target; of a target in a store, in the current folder."""
    from fastload.remote.urls import is_url

    name = os.path.basename(where.rstrip("/")) or "data"
    return f"{name}.budget.png" if is_url(where) else f"{where.rstrip('/')}.budget.png"


def _shown(found: "Plan", where: str, json_to: str | None) -> list[object]:
    """Nothing of it goes to stdout where JSON does."""
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    if json_to == "-":
        return []
    rows = [
        ("as they are", "", human(found.unchanged.bytes), span(found.unchanged), ""),
        *(_row(one) for one in found.ways),
    ]
    note = f"from {found.looked_at:,} samples; the budget is {human(found.budget)}"
    columns = ("--max-side", "--quality", "about", "range", "PSNR")
    return [Text(readable(where)), table(columns, rows), Text(note)]


def _row(one: "Tried") -> tuple[str, str, str, str, str]:
    from fastload.conversion.units import human

    side, quality = one.way
    return (
        "-" if side is None else f"{side} px", "-" if quality is None else str(quality),
        human(one.of_all.bytes), span(one.of_all), f"{one.psnr:.1f} dB",
    )  # fmt: skip


def span(of_all: "Range") -> str:
    from fastload.conversion.units import human

    return f"{human(of_all.low)} to {human(of_all.high)}"


def _document(found: "Plan", where: str, sheet: str) -> Json:
    ways = [
        {**one.way._asdict(), **one.of_all._asdict(), "psnr": round(one.psnr, 3)}
        for one in found.ways
    ]
    return {
        "path": where, "budget": found.budget, "unchanged": found.unchanged._asdict(),
        "looked_at": found.looked_at, "ways": ways, "sheet": sheet, "converted": False,
    }  # fmt: skip


def _draw(found: "Plan", path: str) -> None:
    from fastload.sheets.layout import Sheet
    from fastload.sheets.sheet import draw

    ways = found.ways[:SHOWN]
    notes = tuple(f"picture {number}: {_name(one)}" for number, one in enumerate(ways, start=2))
    cards = tuple(
        _card(number, image, ways) for number, image in enumerate(found.pictures[:PICTURES])
    )
    try:
        draw(Sheet("What fits, beside what it was", notes, cards)).save(path, "PNG")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror or error}); give another file to --sheet"
        ) from error


def _name(one: "Tried") -> str:
    side, quality = one.way
    said = [f"--max-side {side}"] * (side is not None)
    said += [f"--quality {quality}"] * (quality is not None)
    return " ".join(said) or "as it is"


def _card(number: int, image: bytes, ways: "tuple[Tried, ...]") -> "Card":
    """The picture as it was, and as each way makes it: scaled alike, so that detail is seen."""
    from fastload.conversion import budget, editing
    from fastload.conversion.units import human
    from fastload.sheets.layout import Card, fitted

    before = fitted(budget.decoded(image), SIDE)
    made = [editing.edit(image, editing.Edits(one.way.max_side, one.way.quality)) for one in ways]
    pictures = tuple(budget.decoded(each).resize(before.size) for each in made)
    sizes = [human(len(each)) for each in (image, *made)]
    lines = (f"PSNR {', '.join(f'{budget.psnr(image, each):.1f}' for each in made)} dB",)
    return Card(f"image {number + 1}", " / ".join(sizes), (before, *pictures), lines)


def came(target: str, foreseen: "Range | None") -> Json:
    """What was foreseen, and what came of it; nothing where nothing was foreseen."""
    if foreseen is None:
        return {}
    return {"foreseen": foreseen._asdict(), "disk_bytes": size_of(target)}


def tell(target: str, said: Json, json_to: str | None) -> None:
    """said: by `came`."""
    from fastload.conversion.readers import readable
    from fastload.conversion.sizing import Range
    from fastload.conversion.units import human

    real = said.get("disk_bytes")
    if real is None or json_to == "-":
        return
    foreseen = Range(**said["foreseen"])
    inside = "within" if foreseen.low <= real <= foreseen.high else "outside of"
    text = f"takes {human(real)}, {inside} what was foreseen: {span(foreseen)}"
    put(Text(f"{readable(target)}: {text}"))


def size_of(target: str) -> int | None:
    """Bytes of all files of a local target; None: of one in a store."""
    from fastload.remote.urls import is_url

    if is_url(target):
        return None
    if os.path.isfile(target):
        return os.path.getsize(target)
    return sum(
        os.path.getsize(os.path.join(parent, name))
        for parent, _, names in os.walk(target)
        for name in names
    )
