"""What the verbs do that write the pages of docs/; each imports what it needs."""

import argparse


def run_ops(given: argparse.Namespace) -> None:
    from benchmarks.pages import ops  # needs torchvision

    print(ops.page(), end="")


def run_errors(given: argparse.Namespace) -> None:
    from benchmarks.pages import errors

    print(errors.page(), end="")


def run_gallery(given: argparse.Namespace) -> None:
    from benchmarks.pages import gallery

    for path in gallery.write(given.docs):
        print(path)


def run_cli(given: argparse.Namespace) -> None:
    from benchmarks.pages import cli

    print(cli.page(), end="")


def run_decoding(given: argparse.Namespace) -> None:
    from benchmarks.pages import decoding

    for path in decoding.write(given.docs):
        print(path)


def run_pipelines(given: argparse.Namespace) -> None:
    from benchmarks.pages import pipelines  # needs torchvision and timm

    print(pipelines.page(), end="")


def run_planning(given: argparse.Namespace) -> None:
    from benchmarks.pages import planning

    print(planning.write(given.docs))


def run_metrics(given: argparse.Namespace) -> None:
    from benchmarks.pages import metrics

    for path in metrics.write(given.docs):
        print(path)
