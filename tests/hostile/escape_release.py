"""The release's check that nothing escapes: generated attacks by names and by what is planted, and
a race with a second process.

    python -m tests.hostile.escape_release [ATTACKS] [--seed N]     20,000, in minutes
    python -m tests.hostile.escape_release --race SECONDS

All settings at once, each with the same share: as root and as nobody (where this runs as root), on
the disk and in memory (/dev/shm).
An attack is one name in one data set that is converted, or one thing planted in one place.
Everything around the target is compared before and after.
"""

import argparse
import os
import pickle
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.hostile import evil, planted, race, verbs
from tests.hostile.plants import PLANTS
from tests.hostile.world import World

NOBODY = 65534
MOST = 12  # names of one data set
PLANTED = 0.25  # of the attacks, or as many as there are places and kinds


class Setting(NamedTuple):
    """Who attacks where."""

    user: int
    folder: str

    def __str__(self) -> str:
        return f"{'root' if self.user == 0 else f'user {self.user}'}, {self.folder}"


def settings() -> list[Setting]:
    users = [0, NOBODY] if os.getuid() == 0 else [os.getuid()]
    folders = [tempfile.gettempdir(), *(["/dev/shm"] if os.path.isdir("/dev/shm") else [])]
    return [Setting(user, folder) for folder in folders for user in users]


class Child(NamedTuple):
    """One that attacks in a setting."""

    setting: Setting
    top: str
    pipe: int
    pid: int

    def end(self) -> Counter[str]:
        """What it found. Raises RuntimeError with what it raised."""
        with open(self.pipe, "rb") as pipe:
            found = pickle.loads(pipe.read())
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.top)
        if isinstance(found, str):
            # - it is the child's traceback
            raise RuntimeError(f"{self.setting}: {found}")  # noqa: TRY004
        return found  # type: ignore[no-any-return]


def begin(setting: Setting, work: Callable[[Path], Counter[str]]) -> Child:
    """`work` as this user, in a new folder there."""
    top = tempfile.mkdtemp(dir=setting.folder)
    os.chmod(top, 0o777)
    (reader, writer), child = os.pipe(), os.fork()
    if child:
        os.close(writer)
        return Child(setting, top, reader, child)
    said: object = "died"
    try:
        warm(Path(top) / "warm")
        if os.getuid() == 0 and setting.user:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(setting.user)
        os.environ["HOME"] = top
        said = work(Path(top))
    except BaseException:
        said = traceback.format_exc()
    finally:
        os.write(writer, pickle.dumps(said))
        os._exit(0)


def by_names(top: Path, attacks: int, seed: int) -> Counter[str]:
    """Data sets with hostile names through every reader, writer and verb."""
    draw, found = random.Random(seed), Counter[str]()
    world = World(top / "names")
    world.source.mkdir()
    kinds, number = list(evil.KINDS), 0
    with planted.environment(world):
        while found["names"] < attacks:
            kind, to = (
                kinds[number % len(kinds)],
                planted.WRITERS[number // len(kinds) % len(planted.WRITERS)],
            )
            names = [
                evil.name(draw, world)
                for _ in range(min(1 + draw.randrange(MOST), attacks - found["names"]))
            ]
            for what, count in verbs.attack(world, kind, names, to, more=number % 3 == 0).items():
                found[f"names: {what}"] += count
            found["names"] += len(names)
            found["data sets"] += 1
            number += 1
    marks = [path for above in world.root.parents for path in above.glob(".fl-escape-*")]
    assert not marks, marks
    return found


def by_plants(top: Path, attacks: int, seed: int) -> Counter[str]:
    """Something planted in each place that each verb names."""
    draw, found = random.Random(seed), Counter[str]()
    cases = []
    for name, verb in planted.VERBS.items():
        cases += [
            (name, place, kind) for place in planted.places(verb, top / "clean") for kind in PLANTS
        ]
        shutil.rmtree(top / "clean")
    draw.shuffle(cases)
    for name, place, kind in cases[:attacks]:
        try:
            came = planted.attack(planted.VERBS[name], top / "world", place, kind)
        except BaseException as error:
            raise AssertionError(f"{name}, {kind} at {place}: {error!r}") from error
        found[f"planted: {came}"] += 1
        found["planted"] += 1
        shutil.rmtree(top / "world")
    return found


def warm(top: Path) -> None:
    """Import all that a user who cannot read this checkout would need: in the child, since a fork
    keeps no threads.
    """
    by_names(top, 60, 0)
    for name, verb in planted.VERBS.items():
        planted.places(verb, top / name.replace(" ", "_"))
    shutil.rmtree(top)


def attack(top: Path, attacks: int, seed: int) -> Counter[str]:
    found = by_plants(top, int(attacks * PLANTED), seed)
    return found + by_names(top, attacks - found["planted"], seed)


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("attacks", nargs="?", type=int, default=20_000)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--race", type=float)
    said = given.parse_args()
    warnings.simplefilter("ignore")
    total, chosen, start = Counter[str](), settings(), time.perf_counter()

    def work(top: Path, number: int) -> Counter[str]:
        if said.race is not None:
            return race.run(top, said.race, said.seed + number)
        share = said.attacks // len(chosen) + (number < said.attacks % len(chosen))
        return attack(top, share, said.seed + number)

    for child in [
        begin(setting, lambda top, number=number: work(top, number))
        for number, setting in enumerate(chosen)
    ]:
        found = child.end()
        print(f"{child.setting}: {dict(sorted(found.items()))}", flush=True)
        total += found
    what = (
        f"{total['names'] + total['planted']} attacks"
        if said.race is None
        else f"{total['verbs']} verbs in races of {said.race:.0f} s"
    )
    print(
        f"{what} in {time.perf_counter() - start:.0f} s, nothing escaped: "
        f"{dict(sorted(total.items()))}"
    )


if __name__ == "__main__":
    sys.exit(main())
