"""`python -m benchmarks urls`."""

import argparse
from pathlib import Path

from benchmarks import runs
from benchmarks.web.urls import Settings
from benchmarks.web.urls import run as measure
from fastload.cli.output import progress


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--data", help="folder of images; default: generated ones")
    verb.add_argument("--name", help="what to call them")
    verb.add_argument(
        "--workers", type=int, default=Settings.workers, help="threads; img2dataset: processes"
    )
    verb.add_argument("--connections", type=int, default=Settings.connections, help="at once")
    verb.add_argument("--files", type=int, default=Settings.files, help="images")
    verb.add_argument(
        "--environments",
        type=Path,
        default=Settings.environments,
        help="where img2dataset has, or gets, an environment of its own",
    )
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    settings = Settings(
        given.workers, given.connections, given.files, given.repetitions, given.environments
    )
    with (
        runs.images_of(given) as (folder, name),
        progress("urls", settings.turns, "turns") as advance,
    ):
        runs.show(measure(folder, name, settings, advance), given)
