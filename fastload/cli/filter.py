"""fastload filter: a data set of some samples of another."""

from typing import Annotated

import typer

from fastload.cli.convert_options import Overwrite
from fastload.cli.linking import Source, say
from fastload.cli.output import AS_IT_WAS, JsonTo, interruptible
from fastload.cli.verbs import Verb

WHERE = (
    "Condition on key, label, class_name, height, width, size, format: width >= 224 and label "
    'in ("cat", "dog").'
)


def register(app: typer.Typer) -> None:
    app.command("filter", cls=Verb)(filter)


def filter(
    source: Source,
    target: Annotated[str, typer.Argument(metavar="DST", help="New or empty folder.")],
    where: Annotated[str, typer.Option(metavar="CONDITION", help=WHERE)],
    overwrite: Overwrite = False,
    json_to: JsonTo = None,
) -> None:
    """Make a data set of the samples that meet a condition. The shards are linked, not copied."""
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion import subset_columns, subsets
    from fastload.conversion import where as conditions
    from fastload.conversion.interrupts import absorbed

    index = subsets.open_index(source)
    with interruptible(AS_IT_WAS):
        done = subsets.write(
            target,
            [subset_columns.Part(index, conditions.rows(index, where))],
            overwrite=overwrite,
            committing=absorbed,
        )
    say("filtered", [done], json_to)
