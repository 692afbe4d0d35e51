"""The option --on: what runs the units of a job, and what it did."""

import contextlib
import os
import sys
from collections.abc import Iterator
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
MADE = "made:"  # of --on, before the folder of an array job: what its last step is given

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
        metavar="processes[:N]|ray[://HEAD:PORT]|slurm[:N]",
        autocompletion=words(lambda: ("processes", "ray", "slurm")),
        help="Do it by N processes, by a Ray cluster, or print the script of an array job of N "
        "tasks; default: threads.",
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
    return On(fleet_of(on, workers), _say), None


def _say(line: str) -> None:
    log.print(line, markup=False)


@contextlib.contextmanager
def others(verb: str, on: str | None, workers: int | None) -> "Iterator[On | None]":
    """The same around the work of a verb beside convert.

    With --on slurm it ends where units are known: the script is printed instead. The last step of
    that script is the same verb, which takes what tasks have made. Raises UsageError.
    """
    from fastload.conversion.cluster import array
    from fastload.conversion.cluster.engines import fleet_of

    if on is not None and on.startswith(MADE):
        place = os.path.abspath(on.removeprefix(MADE))
        yield array.Taken(fleet_of("processes", workers), _say, place=place)
        with contextlib.suppress(OSError):  # nobody needs it; what is left does no harm
            array.remove(place)
        return
    found, tasks = engine(on, workers)
    if tasks is None:
        yield found
        return
    place = array.make(os.getcwd())
    try:
        yield array.Begin(fleet_of("processes:1"), _say, place=place)
        raise UsageError(f"{verb}: --on slurm: there is nothing for tasks to do; leave --on out")
    except array.BegunError as begun:
        # --json is of the verb's result, which the last step has
        sys.stdout.write(_script(place, begun.units, tasks, f"--on={MADE}{place}"))
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            array.remove(place)
        raise
    raise typer.Exit


def emit_script(prepared: "Job", tasks: int, json_to: str | None) -> None:
    """Make the target ready, and print what submits the array job."""
    from fastload.conversion import distributed
    from fastload.remote.urls import is_url

    if is_url(prepared.origin.target if prepared.origin else ""):
        raise UsageError(
            f"{prepared.where}: --on slurm writes to a folder that all tasks share (got a URL); "
            "give one, or take --on ray"
        )
    recipe = distributed.begin_job(prepared)
    text = _script(recipe.drop, recipe.units, tasks, "--resume")
    result = {
        "path": prepared.where, "units": recipe.units, "tasks": min(tasks, recipe.units),
        "script": text,
    }  # fmt: skip
    emit(result, json_to)
    if json_to != "-":
        sys.stdout.write(text)


def _script(drop: str, units: int, tasks: int, again: str) -> str:
    from fastload.conversion.cluster.slurm import script

    return script(drop, units, tasks, resuming(sys.argv[1:], again), os.getcwd())


def resuming(arguments: list[str], again: str = "--resume") -> list[str]:
    """The same command for the last step: it takes what was made, and commits.

    --workers was the number of tasks, and is left out.
    """
    kept, skip = list[str](), False
    for word in arguments:
        if skip or word in ("--on", "--workers"):
            skip = not skip
        elif not word.startswith(("--on=", "--workers=")) and word != "--resume":
            kept.append(word)
    return [*kept, again]


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
        more = len(workers) - SHOWN
        log.print(f"{more} worker{'s' * (more != 1)} more, faster than these", markup=False)
    if spread.doubled or spread.again:
        log.print(
            f"given to a second worker, as the first was slow: {spread.doubled}; made again: "
            f"{spread.again}",
            markup=False,
        )
