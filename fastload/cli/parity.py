"""`fastload parity`: how far each backend's pixels are from the reference's, on the user's own data
and recipe.
"""

import math
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fastload.cli import output, programs
from fastload.cli.output import DATA
from fastload.cli.show import refuse
from fastload.cli.verbs import RECIPES, Verb
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.parity import Report
    from fastload.recipes.schema import Recipe
    from fastload.sheets.layout import Sheet
    from fastload.sources import Source
    from fastload.transforms import Mix

MOST_IMAGES = 100_000
FACTOR = 16  # by how much the sheet's differences are brightened
SIDE = 224  # px, longer side of an image on the sheet
Path = Annotated[
    str,
    typer.Argument(metavar="PATH", help=f"{DATA} {programs.HELP}"),
]
RecipeOption = Annotated[
    str,
    typer.Option(metavar="NAME|FILE", help="See fastload recipes list.", autocompletion=RECIPES),
]
Images = Annotated[
    int, typer.Option(metavar="N", help="At most so many, in the order of a shuffle.")
]
Backend = Annotated[
    str | None, typer.Option(metavar="NAME,…", help="Only these; default: every one there is.")
]
BatchSize = Annotated[int, typer.Option(metavar="N", help="The loader's.")]
Seed = Annotated[int, typer.Option(metavar="SEED", help="The loader's seed=.")]
Workers = Annotated[
    int,
    typer.Option(metavar="N", help="Threads or worker processes; 0: one thread does everything."),
]
FailAbove = Annotated[
    float | None,
    typer.Option(metavar="LEVELS", help="Exit 1 if a backend is further off than that."),
]
Out = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="sheet.png or sheet.html of the worst images."
    ),
]


def register(app: typer.Typer) -> None:
    app.command("parity", cls=Verb)(parity)


def parity(
    path: Path,
    recipe: RecipeOption = "hot",
    images: Images = 64,
    backend: Backend = None,
    batch_size: BatchSize = 16,
    seed: Seed = 0,
    workers: Workers = 0,
    fail_above: FailAbove = None,
    out: Out = None,
    json_to: output.JsonTo = None,
) -> None:
    """Compare the backends' pixels with the reference (Pillow and torch): after decoding, after
    each op of the recipe, and mixed.
    """
    _refuse(images, batch_size, seed, workers, fail_above, out)
    from fastload.parity.run import measure
    from fastload.parity.setting import Setting
    from fastload.remote.urls import public
    from fastload.sheets import files

    names = tuple(filter(None, map(str.strip, (backend or "").split(","))))
    dataset, whose, mix, rows = _opened(path, recipe)
    with output.progress("comparing", rows and rows * min(images, len(dataset))) as advance:
        report = measure(
            dataset,
            Setting(images, batch_size, seed, workers),
            names=names,
            mix=mix,
            on_done=advance,
        )
    if out is not None:
        files.save(_sheet(report, public(path), _whose(whose)), out)
    facts: Json = {"data": public(path), "recipe": whose, "seed": seed, "batch_size": batch_size}
    _emit(report, whose, facts, json_to)
    _fail(report, fail_above)


def _opened(path: str, recipe: str) -> "tuple[Any, str | None, Mix | None, int | None]":
    """The data set, the recipe's name and mix, and how many rows there will be, where that is
    known.
    """
    if programs.is_one(path):
        return programs.dataset(path), None, None, None
    from fastload import lowering, recipes

    loaded = recipes.load(recipe)
    dataset = lowering.open(path, loaded.transform())
    mix = _mix(loaded, dataset.pipeline.source)
    return dataset, loaded.name, mix, 1 + max(map(len, dataset.pipeline.pictures)) + bool(mix)


def _whose(recipe: str | None) -> str:
    return "its own transforms" if recipe is None else f"recipe {recipe}"


def _emit(report: "Report", recipe: str | None, facts: Json, json_to: str | None) -> None:
    from fastload.sheets.layout import clean

    told = "the torch backend" if report.reference == "torch" else "torchvision with equal draws"
    title = f"{_whose(recipe)}, {report.images} images, against {told}; levels of 255"
    rows = [(name, *cells) for name, cells in report.rows]
    table = output.table(["stage", *map(str, report.columns)], rows, clean(title))
    output.emit({**facts, **report.to_json()}, json_to, table, Text("\n".join(notes(report))))


def _mix(recipe: "Recipe", source: "Source") -> "Mix | None":
    """The recipe's, where the labels allow it."""
    from fastload.plan.checks import label_problems

    mix = recipe.mix()
    return None if mix is None or label_problems(mix, source) else mix


def notes(report: "Report") -> list[str]:
    """Below the table: what did not run and why, each reason once, with the first row that it
    ended; and the worst images.
    """
    from fastload.sheets.layout import clean

    lines: dict[str, str] = {}
    for name, cells in report.rows:
        for column, cell in zip(report.columns, cells, strict=True):
            for why in cell.why:
                lines.setdefault(f"{column}: {cell.verdict}: {why}", f" (from row {name!r} on)")
    for column, cell in zip(report.columns, report.whole, strict=True):
        if cell.worst:
            lines[
                f"{column}: the image that differs most is {clean(cell.worst.name)}, by "
                f"{cell.worst.largest:.2g} at most"
            ] = ""
    return ["", *(f"{line}{where}" for line, where in lines.items())] if lines else []


def _refuse(
    images: int, batch_size: int, seed: int, workers: int, fail_above: float | None, out: str | None
) -> None:
    """Raises UsageError with all problems."""
    problems = [f"parity: --images is {images}, want 1 to {MOST_IMAGES}"] * (
        not 1 <= images <= MOST_IMAGES
    )
    problems += [f"parity: --batch-size is {batch_size}, want 1 or more"] * (batch_size < 1)
    problems += [f"parity: --seed is {seed}, want 0 to 2**64 - 1"] * (not 0 <= seed < 1 << 64)
    problems += [
        f"parity: --workers is {workers}, want 0 or more (0: everything in one thread)"
    ] * (workers < 0)
    if fail_above is not None and not fail_above >= 0:
        problems.append(f"parity: --fail-above is {fail_above:g}, want 0 or more levels")
    refuse(problems, out)


def _sheet(report: "Report", path: str, whose: str) -> "Sheet":
    """For each backend and row, the image that differs most: the reference's, the backend's, and
    their difference.
    """
    import numpy as np

    from fastload.sheets.layout import Card, Sheet, fitted
    from fastload.sheets.pixels import picture

    cards = []
    for name, cells in report.rows:
        for column, cell in zip(report.columns, cells, strict=True):
            if cell.worst:
                worst = cell.worst
                apart = np.abs(worst.got.astype(np.int32) - worst.want) * FACTOR
                shown = (worst.want, worst.got, np.minimum(apart, 255).astype(np.uint8))
                pictures = tuple(fitted(picture(pixels), SIDE) for pixels in shown)
                cards.append(
                    Card(
                        f"{column}, after {name}",
                        os.path.basename(worst.name),
                        pictures,
                        (str(cell),),
                    )
                )
    what = (
        f"Left the reference, middle the backend, right their difference, {FACTOR} times as bright."
    )
    told = (
        f"The image that differs most, for each backend and stage. {what}"
        if cards
        else "No image differs."
    )
    return Sheet(
        f"fastload parity {path}", (f"{whose}, {report.images} images", told), tuple(cards)
    )


def _fail(report: "Report", above: float | None) -> None:
    """Exit 1 where a backend is further off than the caller will have."""
    largest = report.largest()
    if above is None or largest <= above:
        return
    what = (
        f"differs by {largest:.3g} levels"
        if math.isfinite(largest)
        else "gave other labels, shapes or pictures, or failed"
    )
    output.log.print(
        f"fastload: parity: a backend {what}, and --fail-above {above:g} was given", markup=False
    )
    raise typer.Exit(1)
