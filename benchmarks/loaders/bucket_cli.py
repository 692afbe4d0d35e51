"""`python -m benchmarks buckets`: its arguments, and what it does."""

import argparse

from benchmarks import runs
from benchmarks.loaders import buckets
from fastload.cli.output import progress

ONE = buckets.Settings()


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--data", help="folder of classes; without it, generated images")
    verb.add_argument("--name", help="what to call the data in the results")
    workers = "workers, and cores for all of a loader"
    verb.add_argument("--workers", type=int, nargs="+", default=list(ONE.workers), help=workers)
    sides = "of a square bucket, px"
    verb.add_argument("--sides", type=int, nargs="+", default=list(ONE.sides), help=sides)
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    settings = buckets.Settings(tuple(given.workers), tuple(given.sides), given.repetitions)
    with (
        runs.images_of(given) as (folder, name),
        progress("buckets", settings.turns, "epochs") as advance,
    ):
        runs.show(buckets.run(folder, name, settings, advance), given)
