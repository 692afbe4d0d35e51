"""fastload split: random parts of a data set."""

import os
from typing import Annotated

import typer

from fastload.cli.convert_options import Overwrite
from fastload.cli.linking import Source, say
from fastload.cli.output import AS_IT_WAS, JsonTo, interruptible
from fastload.cli.verbs import Verb
from fastload.errors import misused

PARTS = "Names and shares: train=0.9,val=0.1."


def register(app: typer.Typer) -> None:
    app.command("split", cls=Verb)(split)


def split(
    source: Source,
    target: Annotated[
        str, typer.Argument(metavar="DST", help="Folder for the parts: DST/train, DST/val.")
    ],
    parts: Annotated[str, typer.Option(metavar="NAME=SHARE,…", help=PARTS)],
    seed: Annotated[int, typer.Option(metavar="SEED", help="Seed of the random draw.")] = 0,
    by_class: Annotated[
        bool,
        typer.Option(
            "--by-class/--by-sample", help="Divide each class alike, or all samples together."
        ),
    ] = True,
    overwrite: Overwrite = False,
    json_to: JsonTo = None,
) -> None:
    """Split a data set into disjoint random parts. The shards are linked, not copied."""
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion import subset_columns, subsets
    from fastload.conversion.interrupts import absorbed

    shares = _shares(parts)
    with interruptible(AS_IT_WAS):
        index = subsets.open_index(source)
        chosen = subsets.drawn(index, list(shares.values()), seed, by_class=by_class)
        subsets.check_filled(index, shares, chosen, by_class=by_class)
        wanted = [
            (os.path.join(target, name), [subset_columns.Part(index, rows)])
            for name, rows in zip(shares, chosen, strict=True)
        ]
        done = subsets.write_all(wanted, overwrite=overwrite, inside=True, committing=absorbed)
    say("split", done, json_to)


def _shares(text: str) -> dict[str, float]:
    """Raises UsageError."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise misused(
                f"split: {part!r} is no name with a share; write it like train=0.9,val=0.1"
            ) from None
    wrong = [
        name for name in shares if not name or name != os.path.basename(name) or name in (".", "..")
    ]
    if wrong or len(shares) < len(text.split(",")):
        raise misused(
            f"split: {text!r} needs a different plain name for each part; write it like "
            "train=0.9,val=0.1"
        )
    return shares
