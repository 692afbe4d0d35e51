"""`python -m benchmarks detection` and `segmentation`: their arguments, and what they do."""

import argparse
from functools import partial

from benchmarks import runs
from benchmarks.loaders import detection, presets, segmentation
from fastload.cli.output import progress


def add_boxes(verb: argparse.ArgumentParser) -> None:
    _add(detection.KIND, verb)


def add_masks(verb: argparse.ArgumentParser) -> None:
    _add(segmentation.KIND, verb)


def _add(kind: presets.Kind, verb: argparse.ArgumentParser) -> None:
    usual = presets.Settings(kind.presets)
    what = f"folder of classes, whose images get {kind.like} sizes; without it, generated images"
    verb.add_argument("--data", help=what)
    verb.add_argument("--name", help="what to call the data in the results")
    workers = "workers, and cores for all of a loader"
    verb.add_argument("--workers", type=int, nargs="+", default=list(usual.workers), help=workers)
    verb.add_argument("--presets", nargs="+", default=list(kind.presets), choices=kind.presets)
    verb.add_argument("--images", type=int, default=usual.images, help="of an epoch")
    verb.set_defaults(run=partial(_run, kind))


def _run(kind: presets.Kind, given: argparse.Namespace) -> None:
    settings = presets.Settings(
        tuple(given.presets), tuple(given.workers), given.images, given.repetitions
    )
    kind.check(settings)  # before images are made
    with (
        runs.images_of(given) as (folder, name),
        progress(kind.name, settings.turns, "epochs") as advance,
    ):
        runs.show(presets.run(kind, folder, name, settings, advance), given)
