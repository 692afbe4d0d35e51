"""The arguments of what is made of the results, and of pages that are generated."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import page_runs, runs

if TYPE_CHECKING:  # what add_subparsers() returns has no public name
    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]


def add_pages(verbs: "Verbs") -> None:
    """All of them."""
    drawn = verbs.add_parser(
        "plot", help="draw NAME.png and NAME.svg: the last machine and commit in NAME.jsonl"
    )
    drawn.add_argument(
        "names", nargs="*", help="benchmarks (default: all), or headline: README's chart"
    )
    drawn.set_defaults(run=runs.run_plot)
    listed = verbs.add_parser("table", help="put the tables of the results into Markdown files")
    listed.add_argument(
        "files", nargs="+", type=Path, help="with <!-- benchmarks: NAME --> markers"
    )
    listed.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a file is out of date"
    )
    listed.set_defaults(run=runs.run_table)
    page = verbs.add_parser(
        "ops", help="print docs/ops.md: every op, and how far its pixels are from torchvision's"
    )
    page.set_defaults(run=page_runs.run_ops)
    _add_catalogues(verbs)
    listed = verbs.add_parser(
        "pipelines",
        help="print docs/pipelines.md: which public pipelines run natively, and why the others do "
        "not",
    )
    listed.set_defaults(run=page_runs.run_pipelines)
    asked = verbs.add_parser(
        "backends", help="print docs/backends.md: what each backend that is installed can run"
    )
    asked.set_defaults(run=runs.run_backends)
    compared = verbs.add_parser(
        "parity",
        help="print docs/parity.md: how far each backend's pixels are from the reference's",
    )
    compared.set_defaults(run=runs.run_parity)


def _add_catalogues(verbs: "Verbs") -> None:
    """Pages that list all errors, and all ops as pictures."""
    texts = verbs.add_parser("errors", help="print docs/errors.md: every error text and its cure")
    texts.set_defaults(run=page_runs.run_errors)
    verb = verbs.add_parser("cli", help="print docs/cli.md: every verb and option of fastload")
    verb.set_defaults(run=page_runs.run_cli)
    for name, run, what in (
        ("gallery", page_runs.run_gallery, "docs/gallery.md and its picture of every op"),
        ("decoding", page_runs.run_decoding, "the picture of docs/how-decoding-works.md"),
        ("planning", page_runs.run_planning, "the published runs of docs/planning.md"),
        ("metrics", page_runs.run_metrics, "the names of docs/metrics.md and its dashboard"),
    ):
        listed = verbs.add_parser(name, help=f"write {what}")
        listed.set_defaults(run=run, docs=Path("docs"))
