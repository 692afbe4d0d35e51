"""The arguments of verbs that have a `cli` of their own."""

import argparse
from typing import TYPE_CHECKING

from benchmarks.builds import cli as builds
from benchmarks.ffcv import small
from benchmarks.loaders import bucket_cli, presets_cli, token_cli
from benchmarks.web import cli as web

if TYPE_CHECKING:  # what add_subparsers() returns has no public name
    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]


def add_data(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--data", help="folder of classes; without it, generated images")
    verb.add_argument(
        "--name", help="what to call the data in the results; default: the folder's name"
    )


def add(verbs: "Verbs", measuring: argparse.ArgumentParser) -> None:
    for name, arguments, what in (
        ("urls", web.add, "a table of URLs to shards, from nginx: fastload against img2dataset"),
        ("buckets", bucket_cli.add, "batches by aspect-ratio buckets, against PyTorch's by hand"),
        ("tokens", token_cli.add, "batches of tokens, against timm's NaFlex loader"),
        (
            "detection",
            presets_cli.add_boxes,
            "torchvision's detection presets, against PyTorch's",
        ),
        (
            "segmentation",
            presets_cli.add_masks,
            "images with masks of classes, against PyTorch's",
        ),
        ("small", small.add, "images of 40 px on one core: fastload against FFCV and PyTorch"),
        ("wheel", builds.add_wheel, "a wheel against a build from source, for this Python"),
        ("gil", builds.add_gil, "a free-threaded Python, with its GIL and without it"),
    ):
        verb = verbs.add_parser(name, parents=[measuring], help=what)
        if arguments in (builds.add_wheel, builds.add_gil, small.add):
            add_data(verb)
        arguments(verb)
