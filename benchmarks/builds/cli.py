"""The verbs `wheel` and `gil` of `python -m benchmarks`."""

import argparse
from pathlib import Path

from benchmarks import runs
from benchmarks.builds import gil, wheel
from fastload.cli.output import progress


def add_wheel(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("wheel", type=Path, help="for the Python that runs this; .ci/wheels made it")
    verb.add_argument("--outputs", nargs="+", default=list(wheel.OUTPUTS), choices=wheel.OUTPUTS)
    verb.set_defaults(run=run_wheel)


def run_wheel(given: argparse.Namespace) -> None:
    settings = wheel.Settings(given.wheel, tuple(given.outputs), given.repetitions)
    settings.check()  # before images are made
    with runs.images_of(given) as (folder, name), progress("wheel", settings.turns) as advance:
        runs.show(wheel.run(folder, name, settings, advance), given)


def add_gil(verb: argparse.ArgumentParser) -> None:
    counts = list(gil.Settings.threads)
    verb.add_argument("--threads", type=int, nargs="+", default=counts, help="of Python's")
    verb.set_defaults(run=run_gil)


def run_gil(given: argparse.Namespace) -> None:
    settings = gil.Settings(tuple(given.threads), given.repetitions)
    settings.check()  # before images are made
    with runs.images_of(given) as (folder, name), progress("gil", settings.turns) as advance:
        runs.show(gil.run(folder, name, settings, advance), given)
