"""The release's check that a conversion is never half-done: kill -9 at random moments, half of them
aimed at the commit. Takes minutes.

    python -m tests.conversion.kill_release [KILLS]

After each kill the target is absent, the old data set, or the new one, byte for byte; and --resume
completes it to the same bytes.
"""

import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastload.conversion import beton_writer, commits, journal, staging
from fastload.conversion.job import Options, prepare, run
from fastload.conversion.readers import open_reader
from tests.conftest import encoded, textured

FORMATS = ("shards", "webdataset", "parquet", "folder", "beton")
IMAGES = 24
SYSTEM = ("write", "writev", "pwrite", "fsync", "rename", "unlink", "mkdir", "rmdir", "ftruncate")
COMMIT = 30  # system calls of a commit, or so


def images(root: Path) -> None:
    """`IMAGES` JPEGs in two classes."""
    for number in range(IMAGES):
        path = root / f"class{number % 2}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(textured(20 + number % 7, 24 + number % 5, number)))


def convert(source: Path, out: Path, to: str, **more: Any) -> int:
    """How many samples were there already."""
    if to == "beton":
        beton_writer.TASK, beton_writer.ROUND = 1, 4
        return beton_writer.run(
            open_reader(str(source)), str(out), beton_writer.Options(workers=2, **more)
        ).resumed
    return run(
        prepare(str(source), str(out), Options(workers=2, shard_bytes=8000, to=to, **more))
    ).resumed


def contents(out: Path) -> dict[str, bytes]:
    """Every file under the final names; nothing where there is no data set."""
    if out.is_file():
        return {"": out.read_bytes()}
    files = (
        {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        if out.is_dir()
        else {}
    )
    unfinished = commits.UNFINISHED in files and "index.arrow" not in files
    return (
        {}
        if unfinished
        else {name: data for name, data in files.items() if not name.startswith(".fastload-")}
    )


def killed(work: Callable[[], object], when: "Moment") -> bool:
    """Do it in a child that is killed; whether it was, before it had ended."""
    child = os.fork()
    if child == 0:
        try:
            when.install()
            work()
        finally:
            os._exit(0)
    if when.after is not None:
        time.sleep(when.after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


class Moment:
    """When to kill: some time after the start (s), or before the kth system call once the commit
    has been noted in the journal.
    """

    def __init__(self, after: float | None, call: int) -> None:
        self.after, self.call = after, call

    def install(self) -> None:
        if self.after is not None:
            return
        counter, begun = itertools.count(1), []

        def wrap(real: Any) -> Any:
            def call(*arguments: Any, **named: Any) -> Any:
                if begun and next(counter) >= self.call:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **named)

            return call

        def noted(
            self: journal.Journal, record: dict[str, Any], real: Any = journal.Journal.append
        ) -> None:
            begun.append("commit" in record) if "commit" in record else None
            real(self, record)

        def staged(self: staging.Stage, real: Any = staging.Stage.commit) -> None:
            begun.append(True)
            real(self)

        for name in SYSTEM:
            setattr(os, name, wrap(getattr(os, name)))
        journal.Journal.append = noted  # type: ignore[method-assign]
        staging.Stage.commit = staged  # type: ignore[method-assign]


def name_of(to: str) -> str:
    return "out.beton" if to == "beton" else "out"


def whole(root: Path, to: str) -> tuple[dict[str, bytes], float]:
    """A conversion that nobody kills: its files, and its time in s."""
    begin = time.perf_counter()
    convert(root / "in", root / "whole" / to / name_of(to), to)
    return contents(root / "whole" / to / name_of(to)), time.perf_counter() - begin


def check(kills: int, root: Path, seed: int = 0) -> Counter[str]:
    """Kill so often; what was found.

    Raises AssertionError at the first state that should not be.
    """
    draw, found = random.Random(seed), Counter[str]()
    images(root / "in")
    images(root / "other")
    (root / "other" / "class0" / "000.jpg").unlink()
    want = {to: whole(root, to) for to in FORMATS}
    for number in range(kills):
        to = FORMATS[number % len(FORMATS)]
        out = root / "run" / name_of(to)
        old = {}
        if replacing := to != "folder" and draw.random() < 0.4:
            convert(root / "other", out, to)
            old = contents(out)
        aimed = number // len(FORMATS) % 2 == 0
        when = (
            Moment(None, draw.randrange(1, COMMIT))
            if aimed
            else Moment(draw.uniform(0, want[to][1]), 0)
        )
        work = partial(convert, root / "in", out, to, overwrite=replacing)
        died = killed(work, when)
        there = contents(out)
        states = {"absent": {}, "old": old, "whole": want[to][0]}
        state = next((name for name, content in states.items() if there == content), "WRONG")
        assert state != "WRONG", f"kill {number}, {to}: {sorted(there)} is neither absent nor whole"
        if state != "whole":
            resumed = convert(root / "in", out, to, overwrite=replacing, resume=True)
            found["resumed"] += resumed > 0
            assert contents(out) == want[to][0], (
                f"kill {number}, {to}: what was resumed has other bytes"
            )
        found[state] += 1
        found["died"] += died
        shutil.rmtree(root / "run")
    return found


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as folder:
        found = check(kills, Path(folder))
    print(
        f"{kills} kills, {found['died']} of them before the end: "
        + ", ".join(f"{count} {name}" for name, count in found.most_common())
    )


if __name__ == "__main__":
    main()
