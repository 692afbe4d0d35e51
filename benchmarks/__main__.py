"""`python -m benchmarks NAME`.

Rows go to results/NAME.jsonl, a table or JSON to stdout; `--help` lists the names.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import arguments, page_arguments
from benchmarks.report import row
from fastload.errors import FastloadError


def main(argv: Sequence[str]) -> int:
    given = parser().parse_args(argv)
    try:
        return int(given.run(given) or 0)
    except FastloadError as error:
        print("\n".join(f"benchmarks: {text}" for text in str(error).splitlines()), file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    verbs = out.add_subparsers(required=True, metavar="NAME")
    showing = argparse.ArgumentParser(add_help=False)
    showing.add_argument(
        "--json", action="store_true", help="print the rows as JSON lines, not as a table"
    )
    showing.add_argument(
        "--no-save", action="store_true", help="do not add the rows to the results"
    )
    measuring = argparse.ArgumentParser(add_help=False, parents=[showing])
    measuring.add_argument(
        "--repetitions", type=int, default=5, help="of each variant, taking turns"
    )
    arguments.add_on_cpu(verbs, measuring)
    arguments.add_on_stored_files(verbs, measuring)
    arguments.add_augmentation(verbs, measuring)
    arguments.add_training(verbs, showing, measuring)
    arguments.add_judged(verbs, measuring)
    page_arguments.add_pages(verbs)
    for verb in verbs.choices.values():
        verb.add_argument(
            "--results", type=Path, default=row.RESULTS, help="folder of the .jsonl files"
        )
    return out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
