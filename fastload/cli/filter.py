"""fastload filter: a data set of some samples of another."""

from typing import Annotated

import typer

from fastload.cli import convert_on
from fastload.cli.convert_options import Overwrite
from fastload.cli.linking import Source, say
from fastload.cli.output import AS_IT_WAS, JsonTo, interruptible
from fastload.cli.verbs import Verb
from fastload.errors import misused

WHERE = (
    "Condition on key, label, class_name, height, width, size, format: width >= 224 and label "
    'in ("cat", "dog").'
)


def register(app: typer.Typer) -> None:
    app.command("filter", cls=Verb)(filter)


def filter(
    source: Source,
    target: Annotated[str, typer.Argument(metavar="DST", help="New or empty folder.")],
    where: Annotated[str | None, typer.Option(metavar="CONDITION", help=WHERE)] = None,
    unique: Annotated[
        bool, typer.Option("--unique", help="Of equal images (size and XXH3) only the first.")
    ] = False,
    overwrite: Overwrite = False,
    workers: convert_on.Processes = None,
    on: convert_on.ByOthers = None,
    json_to: JsonTo = None,
) -> None:
    """Make a data set of the samples that meet a condition. The shards are linked, not copied."""
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion import filtering
    from fastload.conversion.interrupts import absorbed
    from fastload.conversion.spread import filter as spread

    if where is None and not unique:
        raise misused("filter: nothing says which samples stay; give --where or --unique")
    if on is not None and where is None:
        raise misused("filter: --on finds what meets --where (got --unique alone); leave it out")
    if on is None and workers is not None:
        raise misused("filter: --workers says how many --on has (got no --on); leave it out")
    with convert_on.others("filter", on, workers) as by, interruptible(AS_IT_WAS):
        condition = where if by is None or where is None else spread.rows(source, where, by)
        done = filtering.run(
            source, target, condition, unique=unique, overwrite=overwrite, committing=absorbed
        )
    say("filtered", [done], json_to)
    convert_on.emit_workers(by.spread if by else None, json_to)
