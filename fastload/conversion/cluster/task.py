"""A worker without a driver: makes units of a drop, or of an array job, until none is left.

    python -m fastload.conversion.cluster.task FOLDER [FIRST]

What `--on slurm` runs in each task of an array job. FIRST: the unit that it begins with.
"""

import os
import socket
import sys
import time
from collections.abc import Callable

from fastload.conversion.cluster import array, drop, leases
from fastload.conversion.cluster.board import Board
from fastload.conversion.cluster.recipe import opened, parse_recipe
from fastload.conversion.cluster.unit import unit
from fastload.conversion.cluster.work import Telling
from fastload.conversion.cluster.works import KINDS
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, FastloadError
from fastload.files.below import Folder

FAILURES = 3  # in a row: this machine makes nothing more
Make = Callable[[int, Advance], str]  # a unit; what is to be said of it


def make_units(path: str, first: int = 0, lease: float = leases.LEASE) -> int:
    """How many units this worker has made. Raises ConversionError where it can make none."""
    worker = f"{socket.gethostname()}/{os.getpid()}"
    count = failures = 0
    with drop.joined(path) as folder:
        units, make = _opened(folder, worker)
        board = Board(folder, units, worker, first, lease)
        while (number := _taken(board, path)) is not None:
            begin = time.monotonic()
            try:
                said = make(number, lambda _, __: board.sign())
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
            say(worker, f"part {number}: made in {time.monotonic() - begin:.1f} s{said}")
        board.close()
    return count


def _taken(board: Board, path: str) -> int | None:
    """Raises ConversionError where leases cannot be written: the folder is gone, or full."""
    try:
        return board.take()
    except OSError as error:
        raise ConversionError(
            f"{path}: this task can take no part ({error.strerror or error}); see whether that "
            "folder is there and its disk has room, and submit the job once more"
        ) from error


def _opened(folder: Folder, worker: str) -> tuple[int, Make]:
    """How many units there are, and what makes one. Raises FastloadError.

    It may take minutes, and is no part of a unit.
    """
    if folder.has(array.WORK):
        work, units = array.parse(folder)
        KINDS[work.kind].opened(work.text)

        def put(number: int, advance: Advance) -> str:
            array.put(folder, number, worker, work, Telling(advance, Stop(), lambda _: None))
            return ""

        return units, put
    try:
        recipe = parse_recipe(folder.read(drop.RECIPE).decode())
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConversionError(
            f"{folder.path}: holds no {drop.RECIPE} that fastload has written ({error}); begin "
            "with --on slurm"
        ) from error
    opened(recipe)

    def make(number: int, advance: Advance) -> str:
        return f", {len(unit(recipe, number, advance=advance)['bad'])} bad samples"

    return recipe.units, make


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
