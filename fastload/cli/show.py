"""`fastload show`: the exact batch that the loader would give, as a sheet of pictures."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fastload.backends import table as backend_facts
from fastload.cli import output, programs
from fastload.cli.output import DATA
from fastload.cli.verbs import RECIPES, Verb, unknown_word, words
from fastload.errors import UsageError, misused
from fastload.remote.urls import public

if TYPE_CHECKING:
    from fastload.sheets.batch import Epoch, Run
    from fastload.sheets.layout import Card, Sheet
    from fastload.spec import Work

# Not those that draw for themselves: nobody can tell what they drew.
# Of another distribution's backend that is known when it is asked for: `problems`.
OWN_DRAWS = [one.name for one in backend_facts.OWN if one.own_draws]
BACKENDS = ("auto", *(name for name in backend_facts.BACKENDS if name not in OWN_DRAWS))
MOST_IMAGES = 256  # of a sheet, as in fastload.show
BATCH_SIZE = 16

Path = Annotated[
    str,
    typer.Argument(metavar="PATH", help=f"{DATA} {programs.HELP}"),
]
RecipeName = Annotated[
    str,
    typer.Option(
        "--recipe", metavar="NAME|FILE", help="See fastload recipes list.", autocompletion=RECIPES
    ),
]
EpochNumber = Annotated[int, typer.Option("--epoch", metavar="N", help="From 0.")]
Seed = Annotated[int, typer.Option("--seed", metavar="SEED", help="The loader's seed=.")]
BatchSize = Annotated[
    int,
    typer.Option(
        "--batch-size", metavar="N", help="The loader's; it decides which images share a batch."
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="|".join(BACKENDS),
        help="Who makes the batch.",
        autocompletion=words(lambda: BACKENDS),
    ),
]
Out = Annotated[
    str, typer.Option("-o", "--output", metavar="FILE", help="sheet.png or sheet.html.")
]
Step = Annotated[int, typer.Option(metavar="N", help="Batch number in the epoch, from 0.")]
Rank = Annotated[
    int, typer.Option(metavar="N", help="0: batches of several ranks are not written yet.")
]
Images = Annotated[
    int, typer.Option(metavar="N", help=f"At most so many of the batch, up to {MOST_IMAGES}.")
]


def register(app: typer.Typer) -> None:
    app.command("show", cls=Verb)(show)


def show(
    path: Path,
    out: Out,
    recipe: RecipeName = "hot",
    epoch: EpochNumber = 0,
    step: Step = 0,
    rank: Rank = 0,
    seed: Seed = 0,
    batch_size: BatchSize = BATCH_SIZE,
    images: Images = 64,
    backend: Backend = "auto",
    json_to: output.JsonTo = None,
) -> None:
    """Draw the batch that the model will see: each image beside its original, with all that was
    drawn for it.
    """
    wrong = problems("show", epoch, seed, batch_size, backend)
    refuse([*wrong, *_own_problems(step, rank, images)], out)
    from fastload.sheets import batch, files  # import torch, which usage errors need not wait for
    from fastload.sheets.layout import clean

    batches = batch.Epoch(run(path, recipe, seed, epoch, batch_size, backend))
    work = batches.step(step)
    cards, samples = _drawn(batches, work, images)
    facts = {**head(batches), "step": step, "rank": rank, "images": len(work)}
    files.save(_sheet(batches, step, len(work), cards), out)
    few = f"{len(cards)} of the {len(work)}" if len(cards) < len(work) else f"the {len(work)}"
    said = f"{out}: {few} images of batch {step}, epoch {epoch}, by the {batches.backend} backend"
    output.emit({**facts, "output": out, "samples": samples}, json_to, Text(clean(said)))


def _drawn(
    batches: "Epoch", work: "Work", images: int
) -> "tuple[tuple[Card, ...], list[dict[str, object]]]":
    """The cards of the first images, and what --json says of each."""
    from fastload.sheets import inline, joint
    from fastload.sheets.batch import ORIGINAL

    if batches.plan.joint is None:
        shown = batches.show(work, slice(0, images))
        return inline.cards(shown), [one.as_dict() for one in shown]
    cards = joint.cards(batches.plan, iter([work]), images, inline.LARGEST, ORIGINAL)
    names = map(batches.plan.source.name, work.samples.tolist())
    return tuple(cards), [
        {"sample": sample, "name": name, "about": card.subtitle, "log": list(card.lines)}
        for sample, name, card in zip(work.samples.tolist(), names, cards, strict=False)
    ]


def run(path: str, recipe: str, seed: int, epoch: int, batch_size: int, backend: str) -> "Run":
    """What show and replay look at: a recipe on data, or a program's data set."""
    from fastload import recipes
    from fastload.sheets.batch import Run

    if programs.is_one(path):
        made = programs.dataset(path)
        return Run(path, None, seed, epoch, batch_size, backend, made)
    return Run(path, recipes.load(recipe), seed, epoch, batch_size, backend)


def _own_problems(step: int, rank: int, images: int) -> list[str]:
    """What is wrong with the options that only show has."""
    checks = (
        (step >= 0, f"--step is {step}, want 0 or more"),
        (rank == 0, f"--rank is {rank}, want 0; batches of other ranks are not written yet"),
        (1 <= images <= MOST_IMAGES, f"--images is {images}, want 1 to {MOST_IMAGES}"),
    )
    return [f"show: {text}" for good, text in checks if not good]


def problems(verb: str, epoch: int, seed: int, batch_size: int, backend: str) -> list[str]:
    """What is wrong with the options that show and replay share."""
    wrong = [f"{verb}: --epoch is {epoch}, want 0 to 2**32 - 1"] * (not 0 <= epoch < 1 << 32)
    wrong += [f"{verb}: --seed is {seed}, want 0 to 2**64 - 1"] * (not 0 <= seed < 1 << 64)
    wrong += [f"{verb}: --batch-size is {batch_size}, want 1 or more"] * (batch_size < 1)
    known = backend == "auto" or (backend in BACKENDS and backend_facts.shows_draws(backend))
    near = () if backend in backend_facts.BACKENDS else BACKENDS  # a backend is no slip for another
    return wrong + [unknown_word(verb, "backend", backend, BACKENDS, near)] * (not known)


def refuse(wrong: list[str], out: str | None) -> None:
    """Raises UsageError with all problems, those of the output file last."""
    from fastload.sheets import files

    wrong = wrong + (files.name_problems(out) if out is not None else [])
    where = files.place_problems(out) if out is not None else []
    if wrong:
        raise misused("\n".join([*wrong, *where]))
    if where:
        raise UsageError("\n".join(where))


def head(batches: "Epoch") -> dict[str, object]:
    """What a batch depends on, for --json."""
    run = batches.run
    facts = {
        "data": public(run.data),
        "recipe": run.recipe.name if run.recipe else None,
        "seed": run.seed,
        "epoch": run.epoch,
    }
    return {**facts, "batch_size": run.batch_size, "backend": batches.backend}


def where(batches: "Epoch", step: int) -> str:
    run = batches.run
    whose = f"recipe {run.recipe.name}" if run.recipe else "its own transforms"
    return (
        f"{whose}, epoch {run.epoch}, batch {step} of {run.batch_size} "
        f"images, seed {run.seed}, backend {batches.backend}"
    )


def _sheet(batches: "Epoch", step: int, count: int, cards: "tuple[Card, ...]") -> "Sheet":
    from fastload.sheets.layout import Sheet

    few = f"; the first {len(cards)} of {count} images" if len(cards) < count else ""
    notes = (
        where(batches, step),
        f"Left the original, right what the model gets, de-normalised{few}.",
    )
    return Sheet(f"fastload show {public(batches.run.data)}", notes, cards)
