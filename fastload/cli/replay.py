"""`fastload replay`: one sample of an epoch again, stage by stage."""

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fastload.cli import output
from fastload.cli.show import (
    BATCH_SIZE,
    Backend,
    BatchSize,
    EpochNumber,
    Path,
    RecipeName,
    Seed,
    head,
    problems,
    refuse,
    run,
    where,
)
from fastload.cli.verbs import Verb
from fastload.spec import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastload.sheets.batch import Epoch, Shown
    from fastload.sheets.layout import Sheet
    from fastload.spec import Work

    # A title, lines below it, facts of --json, and what makes the sheet
    Told = tuple[str, Sequence[str], Json, Callable[[], Sheet]]

LARGEST = 320  # px, longer side of a picture on the sheet
Sample = Annotated[int, typer.Option(metavar="N", help="Sample number in the data set, from 0.")]
Out = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Pictures too: sheet.png or sheet.html."),
]


def register(app: typer.Typer) -> None:
    app.command("replay", cls=Verb)(replay)


def replay(
    path: Path,
    sample: Sample,
    recipe: RecipeName = "hot",
    epoch: EpochNumber = 0,
    seed: Seed = 0,
    batch_size: BatchSize = BATCH_SIZE,
    backend: Backend = "auto",
    out: Out = None,
    json_to: output.JsonTo = None,
) -> None:
    """Show what was drawn for one sample of an epoch, and with -o its picture after every stage."""
    refuse(problems("replay", epoch, seed, batch_size, backend), out)
    from fastload.sheets import batch, files  # import torch, which usage errors need not wait for
    from fastload.sheets.layout import clean

    batches = batch.Epoch(run(path, recipe, seed, epoch, batch_size, backend))
    work, position = batches.sample(sample)
    if batches.plan.joint is not None:
        title, lines, facts, sheet = _moved(batches, batch.cut(work, position))
    else:
        (shown,) = batches.show(work, position)
        title, lines, facts, sheet = _made(batches, batch.cut(work, position), shown)
    if out is not None:
        files.save(sheet(), out)
    result: Json = {
        **head(batches), "step": work.step, "rank": work.rank, "output": out, **facts
    }  # fmt: skip
    text = Text("\n".join(map(clean, [title, where(batches, work.step), *lines])))
    output.emit(result, json_to, text)


def _made(batches: "Epoch", work: "Work", shown: "Shown") -> "Told":
    """Of a sample with a label."""
    sizes = f"{shown.size[0]}x{shown.size[1]} px"
    title = f"{shown.name}: sample {shown.sample}, class {shown.class_name}, {sizes}"
    return title, shown.lines, shown.as_dict(), lambda: _sheet(batches, work, shown)


def _moved(batches: "Epoch", work: "Work") -> "Told":
    """Of a sample whose target moves with the image."""
    from fastload.sheets import joint
    from fastload.sheets.layout import Card, Sheet

    sample, each = int(work.samples[0]), joint.stages(batches.plan, work, LARGEST)
    name, (first, *others) = batches.plan.source.name(sample), each
    lines = [f"{one.step}: {'; '.join(filter(None, (one.words, one.about)))}" for one in others]
    facts: Json = {
        "sample": sample, "name": name, "size_px": list(first.size), "boxes": first.boxes,
        "log": [one.as_dict() for one in others],
    }  # fmt: skip

    def sheet() -> "Sheet":
        cards = [
            Card(one.step, one.about, (one.picture,), (one.words,) * bool(one.words))
            for one in each
        ]
        title = f"{os.path.basename(name)}: sample {sample}"
        return Sheet("fastload replay", (title, where(batches, work.step)), tuple(cards))

    return f"{name}: sample {sample}, {first.about}", lines, facts, sheet


def _sheet(batches: "Epoch", work: "Work", shown: "Shown") -> "Sheet":
    import numpy as np

    from fastload.sheets.layout import Card, Sheet, fitted
    from fastload.sheets.stages import stages

    image = batches.original(shown.sample)
    sizes = f"{shown.size[0]}x{shown.size[1]} px"
    cards = [Card("original", sizes, (shown.original,), ())]
    for view in shown.views:
        drawn = [record[0] for record in view.plan.records(work, np.array([shown.size], np.int32))]
        for title, words, picture in stages(view.plan, image, drawn):
            cards.append(
                Card(
                    f"{view.plan.where}{title}",
                    f"{picture.height}x{picture.width} px",
                    (fitted(picture, LARGEST),),
                    (words,),
                )
            )
        last = f"{view.image.height}x{view.image.width} px"
        mixing = tuple(str(line) for line in view.log if line.stage == "MIX")
        lines = (*mixing, "what the model gets, de-normalised")
        cards.append(Card(f"{view.plan.where}result", last, (fitted(view.image, LARGEST),), lines))
    name = (
        f"{os.path.basename(shown.name)}: {shown.class_name} (label {shown.label}), sample "
        f"{shown.sample}"
    )
    return Sheet("fastload replay", (name, where(batches, work.step)), tuple(cards))
