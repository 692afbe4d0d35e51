"""`python -m benchmarks segmentation`: its arguments, and what it does."""

import argparse

from benchmarks import runs
from benchmarks.loaders import segmentation
from fastload.cli.output import progress

ONE = segmentation.Settings()


def add(verb: argparse.ArgumentParser) -> None:
    what = "folder of classes, whose images get Pascal VOC's sizes; without it, generated images"
    verb.add_argument("--data", help=what)
    verb.add_argument("--name", help="what to call the data in the results")
    workers = "workers, and cores for all of a loader"
    verb.add_argument("--workers", type=int, nargs="+", default=list(ONE.workers), help=workers)
    known = segmentation.PRESETS
    verb.add_argument("--presets", nargs="+", default=list(ONE.presets), choices=known)
    verb.add_argument("--images", type=int, default=ONE.images, help="of an epoch")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    settings = segmentation.Settings(
        tuple(given.workers), tuple(given.presets), given.images, given.repetitions
    )
    settings.check()
    with (
        runs.images_of(given) as (folder, name),
        progress("segmentation", settings.turns, "epochs") as advance,
    ):
        runs.show(segmentation.run(folder, name, settings, advance), given)
