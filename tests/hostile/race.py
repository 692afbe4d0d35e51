"""A second process that renames and replaces what a conversion is writing, while it writes."""

import contextlib
import errno
import os
import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

from tests.hostile import planted, verbs
from tests.hostile.plants import PLANTS
from tests.hostile.world import World, outcome, untouched

ROUND = 12  # conversions between two looks at the victims
FOLLOWED = ("link_to_folder", "link_to_empty_folder")


def stranger(world: World, seed: int) -> None:
    """Until it is killed: take something that lies in or beside the target, put something else in
    its place, put it back.
    """
    draw, away = random.Random(seed), world.work / "away"
    while True:
        with contextlib.suppress(OSError, shutil.Error):
            below = [
                path
                for top in (*world.written, world.source / "tree")
                for path in (top, *_below(top))
            ]
            if not below:
                continue
            path, what = draw.choice(below), draw.randrange(4)
            if path == world.source / "tree" or (
                path.is_relative_to(world.source) and not path.name.startswith((".", "fastload"))
            ):
                continue
            kind = draw.choice(list(PLANTS))
            if (
                path == world.out and kind in FOLLOWED
            ):  # the user's own path: whoever can change its folder is not withstood
                continue
            os.rename(path, away)
            if what < 3:
                PLANTS[kind](world, path)
                time.sleep(draw.random() / 2000)
            if what < 2 and os.path.lexists(path):
                verbs.remove(path)
                os.rename(away, path)
            verbs.remove(away)


def _below(top: Path) -> list[Path]:
    if top.is_symlink() or not top.is_dir():
        return []
    return [
        Path(folder) / name
        for folder, folders, names in os.walk(top)
        for name in (*folders, *names)
    ]


def run(top: Path, seconds: float, seed: int) -> Counter[str]:
    """Verbs against the stranger for so long: what came of them.

    Raises AssertionError where a victim has changed.
    """
    world, found, draw = World(top / "race"), Counter[str](), random.Random(seed)
    names = [name for name in planted.VERBS if name.startswith(("convert", "index a folder"))]
    world.source.mkdir()
    planted.images(world)
    until = time.monotonic() + seconds
    with planted.environment(world):
        while time.monotonic() < until:
            with untouched(world, world.work, world.cache):
                child = os.fork()
                if child == 0:
                    stranger(world, draw.randrange(1 << 30))
                try:
                    for _ in range(ROUND):
                        name = draw.choice(names)
                        if not name.endswith(("--resume", "--overwrite")):
                            _clear(world)
                        found[_one(world, planted.VERBS[name])] += 1
                        found["verbs"] += 1
                finally:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
            _clean(world)
    return found


def _one(world: World, verb: planted.Verb) -> str:
    """A verb may fail in its own way, since its files go; what counts is that nothing else changes,
    and that it ends.
    """
    try:
        return outcome(lambda: verb.run(world))
    except OSError as error:
        return f"OSError {errno.errorcode.get(error.errno or 0)}"


def _clear(world: World) -> None:
    for path in (*world.written, world.work / "away"):
        with contextlib.suppress(OSError):
            verbs.remove(path)


def _clean(world: World) -> None:
    _clear(world)
    shutil.rmtree(world.source)
    world.source.mkdir()
    planted.images(world)
