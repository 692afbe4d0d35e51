"""Small files that would take much memory: how each is made, what reads it, and what is said. Bombs
are added, never taken away.

python -m tests.hostile.bombs      peak memory of each, MiB, and what is said
"""

import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.hostile.bomb_makers import GIB, MIB, images

ROOM = int(
    os.environ.get("BOMB_ROOM", 2 * GIB)
)  # bytes of addresses that a child may take beyond what it has
SLACK = 96  # MiB that reading a good file of the kind may take: libraries are loaded, tables built
RIGHT = "is whole and right"


class Bomb(NamedTuple):
    """make(folder): its path; read(path): what is done with it."""

    make: Callable[[Path], Path]
    read: Callable[[str], object]
    said: str  # the whole error, {path} in place of its path; RIGHT where nothing may be raised
    most: int = SLACK  # MiB


def read_log(path: str) -> None:
    from fastload import _native

    if len(_native.read_seek_log(path, 0)[2]):
        raise AssertionError("a record was taken")


def opened(path: str) -> None:
    """All samples, as a conversion reads them."""
    from fastload.conversion.readers import open_reader, records

    for _ in records(open_reader(path)):
        pass


def unpacked(path: str) -> None:
    """With little room for unpacking, so that a test need not fill the disk."""
    from fastload.system import limits

    limits.SPOOL_FREE = 64 * MIB
    opened(path)


def loaded(path: str) -> None:
    import fastload

    data = fastload.open(path)
    if len(data) != 2 or data[1][1] != 1:
        raise AssertionError("other samples")


def journaled(path: str) -> None:
    from fastload.conversion import journal
    from fastload.files.below import DirEntry, opened
    from fastload.files.names import Inner

    parent, name = os.path.split(path)
    with opened(parent) as folder:
        if journal.read(DirEntry(folder, Inner(name))) != ([], 8):
            raise AssertionError("a record was taken")


def listed(path: str) -> None:
    """A bad sample is to be added to the list."""
    import numpy as np

    from fastload.errors import SampleError
    from fastload.plan.bad_samples import BadSamples
    from fastload.sources.base import FileSource

    source = FileSource("x", ("x/a.jpg",), np.zeros(1, np.int64), ("a",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BadSamples(source, path, 1.0)._list((SampleError("x/a.jpg", 0, "is bad"),))


def verified(path: str) -> None:
    from fastload.conversion import verify

    if damages := verify.verify(verify.prepare(path), 1).damages:
        raise ValueError("\n".join(map(str, damages)))


def masked(path: str) -> None:
    from fastload.sources.masks import Masks

    Masks("", (path,)).read(0)


def compared(path: str) -> None:
    from fastload.profiler import compare

    compare.read(path)


def recipe(path: str) -> None:
    from fastload import recipes

    recipes.load(path)


def labelled(path: str) -> None:
    from fastload.conversion.readers import Choice, open_reader

    open_reader(str(images(Path(path).parent)), Choice(labels=path))


def beton_read(path: str) -> None:
    from fastload.sources import beton_file

    beton_file.read(path)


def outcome(bomb: Bomb, folder: Path) -> tuple[str, float]:
    """In a child: what is said, and how many MiB it took at most; "signal N" if it died."""
    path = bomb.make(folder)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # Python 3.12: of forks where a library has threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, _measured(bomb, path).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}", 0.0
    peak, _, text = said.partition(" ")
    return text.replace(str(path), "{path}"), float(peak)


def _measured(bomb: Bomb, path: Path) -> str:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew; proc_pid_clear_refs(5)
    before, size = _status("VmRSS"), _status("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (size * 1024 + ROOM,) * 2)
    try:
        bomb.read(str(path))
        text = RIGHT
    except Exception as error:
        text = (
            str(error)
            if type(error).__module__.startswith("fastload")
            else f"{type(error).__name__}: {error}"
        )
        if "--trace" in sys.argv:
            traceback.print_exc()
    return f"{max(0, _status('VmHWM') - before) / 1024:.0f} {text}"


def _status(name: str) -> int:
    """KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def all_bombs() -> Iterator[tuple[str, Bomb]]:
    from tests.hostile.bomb_table import BOMBS

    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    return (
        (name, bomb)
        for name, bomb in BOMBS.items()
        if not wanted or any(word in name for word in wanted)
    )


def main() -> None:
    for name, bomb in all_bombs():
        with tempfile.TemporaryDirectory(prefix="bomb-") as folder:
            said, peak = outcome(bomb, Path(folder))
            print(f"{name}\t{peak:.0f}\t{said.replace(folder, '{folder}')!r}", flush=True)


if __name__ == "__main__":
    main()
