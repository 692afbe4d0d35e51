"""What fastload filter, split and merge print."""

from typing import TYPE_CHECKING, Annotated

import typer

from fastload.cli.output import emit, table

if TYPE_CHECKING:
    from fastload.conversion.subsets import SubsetSummary

Source = Annotated[str, typer.Argument(metavar="SRC", help="Converted shards.")]


def say(what: str, done: "list[SubsetSummary]", json_to: str | None) -> None:
    """A row for each data set."""
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    rows = [
        (
            readable(each.where),
            f"{each.samples:,}",
            f"{each.classes:,}",
            f"{each.shards:,}",
            human(each.copied),
        )
        for each in done
    ]
    result = {"data_sets": [each._asdict() for each in done]}
    emit(result, json_to, table((what, "samples", "classes", "shards", "copied"), rows))
