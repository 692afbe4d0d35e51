"""The option --on: what runs the units of a job, and what it did."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fastload.cli.output import emit, log, put, table
from fastload.cli.verbs import words
from fastload.errors import UsageError

if TYPE_CHECKING:
    from fastload.conversion.cluster.on import On
    from fastload.conversion.cluster.report import Spread
    from fastload.conversion.parts_writer import Job

SHOWN = 20  # workers on the terminal; all are in the JSON

# Of a verb that has no threads
Processes = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Of --on; default: one per core."),
]
# Of verbs beside convert
ByOthers = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="processes[:N]|ray[://HEAD:PORT]",
        autocompletion=words(lambda: ("processes", "ray")),
        help="Do it by N processes, or by a Ray cluster; default: threads.",
    ),
]


def engine(on: str | None, workers: int | None) -> "tuple[On | None, int | None]":
    """What runs the units, or how many tasks an array job has; neither: threads.

    Raises UsageError.
    """
    if on is None:
        return None, None
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion.cluster.engines import fleet_of, slurm_tasks
    from fastload.conversion.cluster.on import On

    tasks = slurm_tasks(on, workers)
    if tasks is not None:
        return None, tasks
    return On(fleet_of(on, workers), lambda line: log.print(line, markup=False)), None


def others(verb: str, on: str | None, workers: int | None) -> "On | None":
    """The same for a verb that needs no array job. Raises UsageError."""
    found, tasks = engine(on, workers)
    if tasks is not None:
        raise UsageError(
            f"{verb}: --on slurm is for convert; take --on ray, or --on processes inside a job"
        )
    return found


def emit_script(prepared: "Job", tasks: int, json_to: str | None) -> None:
    """Make the target ready, and print what submits the array job."""
    from fastload.conversion import distributed
    from fastload.conversion.cluster.slurm import script
    from fastload.remote.urls import is_url

    if is_url(prepared.origin.target if prepared.origin else ""):
        raise UsageError(
            f"{prepared.where}: --on slurm writes to a folder that all tasks share (got a URL); "
            "give one, or take --on ray"
        )
    recipe = distributed.begin_job(prepared)
    text = script(recipe, tasks, resuming(sys.argv[1:]), os.getcwd())
    result = {
        "path": prepared.where, "units": recipe.units, "tasks": min(tasks, recipe.units),
        "script": text,
    }  # fmt: skip
    emit(result, json_to)
    if json_to != "-":
        sys.stdout.write(text)


def resuming(arguments: list[str]) -> list[str]:
    """The same command for the last step: it takes what was made, and commits."""
    kept, skip = list[str](), False
    for word in arguments:
        if skip or word == "--on":
            skip = not skip
        elif not word.startswith("--on=") and word != "--resume":
            kept.append(word)
    return [*kept, "--resume"]


def workers_json(spread: "Spread") -> dict[str, object]:
    workers = [
        {
            "name": worker.name, "units": worker.units, "images": worker.images,
            "bytes": worker.bytes, "busy_s": round(worker.busy, 3),
            "images_per_s": worker.images_per_s,
        }
        for worker in spread.workers.values()
    ]  # fmt: skip
    return {
        "on": spread.on, "workers": workers, "stragglers": spread.doubled,
        "made_again": spread.again, "lost_workers": spread.lost,
    }  # fmt: skip


def emit_workers(spread: "Spread | None", json_to: str | None) -> None:
    """A row for each worker, the slowest first; nothing where there were none."""
    if spread is None or json_to == "-":
        return
    workers = sorted(spread.workers.values(), key=lambda worker: worker.images_per_s)
    rows = [
        (worker.name, f"{worker.units:,}", f"{worker.images:,}", f"{worker.images_per_s:,.0f}")
        for worker in workers[:SHOWN]
    ]
    put(table(("worker", "parts", "images", "images/s"), rows))
    if len(workers) > SHOWN:
        log.print(f"{len(workers) - SHOWN} workers more, all of them faster", markup=False)
    if spread.doubled or spread.again:
        log.print(
            f"given to a second worker, as the first was slow: {spread.doubled}; made again: "
            f"{spread.again}",
            markup=False,
        )
