"""`python -m benchmarks tokens`: its arguments, and what it does."""

import argparse

from benchmarks import runs
from benchmarks.loaders import tokens
from fastload.cli.output import progress

ONE = tokens.Settings()


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--data", help="folder of classes; without it, generated images")
    verb.add_argument("--name", help="what to call the data in the results")
    workers = "workers, and cores for all of a loader"
    verb.add_argument("--workers", type=int, nargs="+", default=list(ONE.workers), help=workers)
    lengths = "the most tokens of an image"
    verb.add_argument("--lengths", type=int, nargs="+", default=list(ONE.lengths), help=lengths)
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    settings = tokens.Settings(tuple(given.workers), tuple(given.lengths), given.repetitions)
    with (
        runs.images_of(given) as (folder, name),
        progress("tokens", settings.turns, "epochs") as advance,
    ):
        runs.show(tokens.run(folder, name, settings, advance), given)
