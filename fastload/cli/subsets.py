"""fastload filter, split and merge: new data sets by their indexes."""

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fastload.cli.convert_options import Overwrite
from fastload.cli.output import JsonTo, emit, table
from fastload.errors import UsageError

if TYPE_CHECKING:
    from fastload.conversion.subsets import Summary

Source = Annotated[str, typer.Argument(metavar="SRC", help="Converted shards.")]
Target = Annotated[str, typer.Argument(metavar="DST", help="New or empty folder.")]
WHERE = 'Condition on key, label, class_name, height, width, size, format: width >= 224 and label in ("cat", "dog").'
PARTS = "Names and shares: train=0.9,val=0.1."


def register(app: typer.Typer) -> None:
    app.command("filter")(filter)
    app.command("split")(split)
    app.command("merge")(merge)


def filter(
    source: Source,
    target: Target,
    where: Annotated[str, typer.Option(metavar="CONDITION", help=WHERE)],
    overwrite: Overwrite = False,
    json_to: JsonTo = None,
) -> None:
    """A data set of the samples for which a condition holds. The shards are linked, not copied."""
    from fastload.conversion import subsets  # here, so that `fastload --help` loads no torch
    from fastload.conversion import where as conditions

    index = subsets.open_index(source)
    done = subsets.write(target, [subsets.Part(index, conditions.rows(index, where))], overwrite=overwrite)
    _say("filtered", [done], json_to)


def split(
    source: Source,
    target: Annotated[str, typer.Argument(metavar="DST", help="Folder for the parts: DST/train, DST/val.")],
    parts: Annotated[str, typer.Option(metavar="NAME=SHARE,…", help=PARTS)],
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    by_class: Annotated[bool, typer.Option("--by-class/--by-sample", help="Every class in the same shares, or drawn from all.")] = True,
    overwrite: Overwrite = False,
    json_to: JsonTo = None,
) -> None:
    """Data sets of random parts, disjoint. The shards are linked, not copied."""
    from fastload.conversion import subsets  # here, so that `fastload --help` loads no torch

    shares = _shares(parts)
    index = subsets.open_index(source)
    chosen = subsets.drawn(index, list(shares.values()), seed, by_class=by_class)
    done = [
        subsets.write(os.path.join(target, name), [subsets.Part(index, rows)], overwrite=overwrite)
        for name, rows in zip(shares, chosen, strict=True)
    ]
    _say("split", done, json_to)


def merge(
    sources: Annotated[list[str], typer.Argument(metavar="SRC… DST", help="Converted shards, and a new or empty folder.")],
    overwrite: Overwrite = False,
    json_to: JsonTo = None,
) -> None:
    """One data set of several with the same classes. The shards are linked, not copied."""
    import numpy as np

    from fastload.conversion import subsets  # here, so that `fastload --help` loads no torch

    if len(sources) < 3:
        raise UsageError(f"merge: got {len(sources)} paths, want at least two data sets and a folder for the result; give them")
    *given, target = sources
    indexes = [subsets.open_index(source) for source in given]
    parts = [subsets.Part(index, np.arange(len(index), dtype=np.int64)) for index in indexes]
    _say("merged", [subsets.write(target, parts, overwrite=overwrite)], json_to)


def _shares(text: str) -> dict[str, float]:
    """Raises UsageError."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise UsageError(f"split: {part!r} is no name with a share; write it like train=0.9,val=0.1") from None
    wrong = [name for name in shares if not name or name != os.path.basename(name) or name in (".", "..")]
    if wrong or len(shares) < len(text.split(",")):
        raise UsageError(f"split: {text!r} needs a different plain name for each part; write it like train=0.9,val=0.1")
    return shares


def _say(what: str, done: "list[Summary]", json_to: str | None) -> None:
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    rows = [(readable(each.where), f"{each.samples:,}", f"{each.classes:,}", f"{each.shards:,}", human(each.copied)) for each in done]
    result = {"data_sets": [each._asdict() for each in done]}
    emit(result, json_to, Text(""), table((what, "samples", "classes", "shards", "copied"), rows))
