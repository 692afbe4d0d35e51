"""The release's check that nothing escapes: generated attacks by names and by what is planted, and a race with a second process.

    python -m tests.hostile.escape_release [ATTACKS] [--seed N]     20,000, in minutes
    python -m tests.hostile.escape_release --race SECONDS

Each of the settings has the same share: as root and as nobody (where this runs as root), on the disk and in memory (/dev/shm). An attack is
one name in one data set that is converted, or one thing planted in one place. Everything around the target is compared before and after.
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
PLANTED = 0.5  # of the attacks, or as many as there are places and kinds


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


def in_child(setting: Setting, work: Callable[[Path], Counter[str]]) -> Counter[str]:
    """`work` as this user, in a new folder there. Raises RuntimeError with what it raised."""
    with tempfile.TemporaryDirectory(dir=setting.folder) as top:
        os.chmod(top, 0o777)
        (reader, writer), child = os.pipe(), os.fork()
        if child == 0:
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
        os.close(writer)
        with open(reader, "rb") as pipe:
            found = pickle.loads(pipe.read())
        os.waitpid(child, 0)
    if isinstance(found, str):
        raise RuntimeError(f"{setting}: {found}")  # noqa: TRY004 - it is the child's traceback
    return found  # type: ignore[no-any-return]


def by_names(top: Path, attacks: int, seed: int) -> Counter[str]:
    """Data sets with hostile names through every reader, writer and verb."""
    draw, found = random.Random(seed), Counter[str]()
    world = World(top / "names")
    world.source.mkdir()
    kinds, number = list(evil.KINDS), 0
    with planted.environment(world):
        while found["names"] < attacks:
            kind, to = kinds[number % len(kinds)], planted.WRITERS[number // len(kinds) % len(planted.WRITERS)]
            names = [evil.name(draw, world) for _ in range(min(1 + draw.randrange(MOST), attacks - found["names"]))]
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
        cases += [(name, place, kind) for place in planted.places(verb, top / "clean") for kind in PLANTS]
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
    """Import all that a user who cannot read this checkout would need: in the child, since a fork keeps no threads."""
    by_names(top, 60, 0)
    for name, verb in planted.VERBS.items():
        planted.places(verb, top / name.replace(" ", "_"))
    shutil.rmtree(top)


def attack(attacks: int, seed: int) -> Counter[str]:
    total, chosen = Counter[str](), settings()
    for number, setting in enumerate(chosen):
        share = attacks // len(chosen) + (number < attacks % len(chosen))
        begin = time.perf_counter()
        found = in_child(setting, lambda top, share=share, number=number: by_plants(top, int(share * PLANTED), seed + number))
        rest = share - found["planted"]
        found += in_child(setting, lambda top, rest=rest, number=number: by_names(top, rest, seed + number))
        print(f"{setting}: {share} attacks in {time.perf_counter() - begin:.0f} s: {dict(sorted(found.items()))}", flush=True)
        total += found
    return total


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("attacks", nargs="?", type=int, default=20_000)
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--race", type=float)
    said = given.parse_args()
    warnings.simplefilter("ignore")
    if said.race is None:
        found = attack(said.attacks, said.seed)
        print(f"{found['names'] + found['planted']} attacks, nothing escaped: {dict(sorted(found.items()))}")
        return
    total, chosen = Counter[str](), settings()
    for number, setting in enumerate(chosen):
        found = in_child(setting, lambda top, number=number: race.run(top, said.race / len(chosen), said.seed + number))
        print(f"{setting}: {dict(sorted(found.items()))}", flush=True)
        total += found
    print(f"raced for {said.race:.0f} s, nothing escaped: {dict(sorted(total.items()))}")


if __name__ == "__main__":
    sys.exit(main())
