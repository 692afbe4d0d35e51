"""`python -m benchmarks detection`: its arguments, and what it does."""

import argparse

from benchmarks import runs
from benchmarks.loaders import detection
from fastload.cli.output import progress

ONE = detection.Settings()


def add(verb: argparse.ArgumentParser) -> None:
    what = "folder of classes, whose images get COCO's sizes; without it, generated images"
    verb.add_argument("--data", help=what)
    verb.add_argument("--name", help="what to call the data in the results")
    workers = "workers, and cores for all of a loader"
    verb.add_argument("--workers", type=int, nargs="+", default=list(ONE.workers), help=workers)
    verb.add_argument("--presets", nargs="+", default=list(ONE.presets), choices=detection.PRESETS)
    verb.add_argument("--images", type=int, default=ONE.images, help="of an epoch")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    settings = detection.Settings(
        tuple(given.workers), tuple(given.presets), given.images, given.repetitions
    )
    settings.check()
    with (
        runs.images_of(given) as (folder, name),
        progress("detection", settings.turns, "epochs") as advance,
    ):
        runs.show(detection.run(folder, name, settings, advance), given)
