"""A worker without a driver: makes units of a drop until none is left.

    python -m fastload.conversion.cluster.task DROP [FIRST]

What `--on slurm` runs in each task of an array job. FIRST: the unit that it begins with.
"""

import os
import socket
import sys
import time

from fastload.conversion.cluster import drop, leases
from fastload.conversion.cluster.board import Board
from fastload.conversion.cluster.recipe import opened, parse_recipe
from fastload.conversion.cluster.unit import unit
from fastload.errors import ConversionError, FastloadError

FAILURES = 3  # in a row: this machine makes nothing more


def make_units(path: str, first: int = 0, lease: float = leases.LEASE) -> int:
    """How many units this worker has made. Raises ConversionError where it can make none."""
    worker = f"{socket.gethostname()}/{os.getpid()}"
    count = failures = 0
    with drop.joined(path) as folder:
        try:
            recipe = parse_recipe(folder.read(drop.RECIPE).decode())
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ConversionError(
                f"{path}: holds no {drop.RECIPE} that fastload has written ({error}); begin with "
                "fastload convert --on slurm"
            ) from error
        opened(recipe)  # which may take minutes, and is no part of a unit
        board = Board(folder, recipe.units, worker, first, lease)
        while (number := board.take()) is not None:
            begin = time.monotonic()
            try:
                said = unit(recipe, number, advance=lambda _, __: board.sign())
            except OSError as error:  # of this machine; another worker gets the unit
                failures += 1
                say(worker, f"part {number}: failed ({error.strerror or error})")
                if failures == FAILURES:
                    raise ConversionError(
                        f"{path}: {FAILURES} parts in a row failed here ({error}); mend that "
                        "machine"
                    ) from error
                continue
            failures, count = 0, count + 1
            board.made()
            took = time.monotonic() - begin
            say(worker, f"part {number}: made in {took:.1f} s, {len(said['bad'])} bad samples")
        board.close()
    return count


def say(worker: str, text: str) -> None:
    """A line of this task's log."""
    print(f"{time.strftime('%H:%M:%S')} {worker} {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Of the command above."""
    path, first = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    try:
        make_units(path, first)
    except FastloadError as error:
        sys.exit(f"fastload: {error}")


if __name__ == "__main__":
    main()
