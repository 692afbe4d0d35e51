"""fastload repair: make again what verify finds damaged."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fastload.cli import convert_on
from fastload.cli.convert_options import (
    ApplyExif,
    Boxes,
    Labels,
    Masks,
    MaxSide,
    Quality,
    Root,
    Split,
    StripMetadata,
)
from fastload.cli.output import JsonTo, Threads, emit, interruptible, meter, table
from fastload.cli.verbs import Verb

if TYPE_CHECKING:
    from fastload.conversion.cluster.on import On
    from fastload.conversion.editing import Edits
    from fastload.conversion.readers import Choice
    from fastload.conversion.repair import RepairSummary


def register(app: typer.Typer) -> None:
    app.command("repair", cls=Verb)(repair)


def repair(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The converted shards.")],
    source: Annotated[str, typer.Argument(metavar="SRC", help="What they were converted from.")],
    split: Split = None,
    labels: Labels = None,
    root: Root = None,
    masks: Masks = None,
    boxes: Boxes = None,
    max_side: MaxSide = None,
    quality: Quality = None,
    strip_metadata: StripMetadata = False,
    apply_exif: ApplyExif = False,
    workers: Threads = None,
    on: convert_on.ByOthers = None,
    json_to: JsonTo = None,
) -> None:
    """Write damaged shards and seek indexes again from the source. All others stay as they are.

    Give the conversion's options that chose or changed images.
    """
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion.editing import Edits
    from fastload.conversion.readers import Choice, readable

    choice = Choice(split, labels, root, masks, boxes=boxes)
    edits = Edits(max_side, quality, strip_metadata, apply_exif)
    with convert_on.others("repair", on, workers) as by:
        done = _mended((path, source), choice, edits, workers, by)
    rows = [
        ("damages", f"{done.damages:,}"),
        ("files made again", f"{len(done.files):,}"),
        ("samples from the source", f"{done.samples:,}"),
    ]
    emit(
        {"path": path, **done.__dict__},
        json_to,
        Text(readable(path)),
        table(("repaired", ""), rows),
    )
    convert_on.emit_workers(by.spread if by else None, json_to)


def _mended(
    paths: tuple[str, str],
    choice: "Choice",
    edits: "Edits",
    workers: int | None,
    by: "On | None",
) -> "RepairSummary":
    """paths: of the shards and of their source."""
    from fastload.conversion import repair as mending
    from fastload.conversion.readers import open_reader
    from fastload.conversion.spread import repair as spread

    path, source = paths
    with interruptible("what was mended stays; run it again"), meter("verify", None) as advance:
        if by is not None:
            return spread.run(path, source, by, choice, edits, advance)
        return mending.run(path, open_reader(source, choice), edits, workers, advance)
