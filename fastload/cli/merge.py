"""fastload merge: one data set of several."""

from typing import Annotated

import typer

from fastload.cli.convert_options import Overwrite
from fastload.cli.linking import say
from fastload.cli.output import AS_IT_WAS, JsonTo, interruptible
from fastload.cli.verbs import Verb
from fastload.errors import misused


def register(app: typer.Typer) -> None:
    app.command("merge", cls=Verb)(merge)


def merge(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SRC… DST", help="Converted shards, and a new or empty folder."),
    ],
    overwrite: Overwrite = False,
    json_to: JsonTo = None,
) -> None:
    """Make one data set of several with the same classes. The shards are linked, not copied."""
    import numpy as np

    # Here, so that `fastload --help` loads no torch
    from fastload.conversion import subset_columns, subsets
    from fastload.conversion.interrupts import absorbed

    if len(sources) < 3:
        raise misused(
            f"merge: got {len(sources)} paths, want at least two data sets and a folder for the "
            "result; give them"
        )
    *folders, target = sources
    with interruptible(AS_IT_WAS):
        indexes = [subsets.open_index(source) for source in folders]
        parts = [
            subset_columns.Part(index, np.arange(len(index), dtype=np.int64)) for index in indexes
        ]
        done = subsets.write(target, parts, overwrite=overwrite, committing=absorbed)
    say("merged", [done], json_to)
