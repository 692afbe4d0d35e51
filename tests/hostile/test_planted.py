"""Links, pipes, folders and second names of files in the place of every name that a verb gives: no
victim changes, nothing hangs.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile import planted, verbs
from tests.hostile.plants import PLANTS
from tests.hostile.world import World, outcome

KINDS = list(PLANTS)
STRIDE = 3  # of the places one is taken


@pytest.mark.filterwarnings(
    "ignore:.*(cannot be written|cannot be listed|nothing is kept there|belongs to).*:UserWarning"
)
@pytest.mark.parametrize("name", list(planted.VERBS))
def test_planted_in_every_place(tmp_path: Path, name: str) -> None:
    """Each place with a kind of its own; `python -m tests.hostile.escape_release` takes every
    kind.
    """
    verb, found = planted.VERBS[name], Counter[str]()
    places = planted.places(verb, tmp_path / "clean")
    assert places
    for number, place in list(enumerate(places))[len(name) % STRIDE :: STRIDE]:
        kind = KINDS[(number + len(name)) % len(KINDS)]
        try:
            found[planted.attack(verb, tmp_path / "world", place, kind)] += 1
        except AssertionError as error:
            raise AssertionError(f"{kind} at {place}: {error}") from error
        shutil.rmtree(tmp_path / "world")
    assert set(found) <= {"done", "there", "ConversionError", "SourceError", "UsageError"}, found


READS = {"inspect": verbs.look, "verify": verbs.check, "index": verbs.index, "load": verbs.load}


def small_folder(world: World) -> str:
    source = planted.images(world)
    verbs.index(source)
    return source


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("make", [planted.own, small_folder])
def test_a_pipe_in_the_place_of_a_file_that_is_read_is_not_waited_for(
    tmp_path: Path, make: Callable[[World], str]
) -> None:
    world = World(tmp_path / "world")
    world.source.mkdir()
    with planted.environment(world):
        source = make(world)
        for path in sorted(Path(source).rglob("*.*")):
            held = path.read_bytes()
            path.unlink()
            os.mkfifo(path)
            for read in (*READS.values(), lambda where: verbs.link(where, world.out, "filter")):
                came = outcome(lambda read=read: read(source))
                assert came in (
                    "done",
                    "SourceError",
                    "ConversionError",
                    "SampleError",
                    "BadSamplesError",
                ), (path, came)
                verbs.remove(*world.written)
            path.unlink()
            path.write_bytes(held)
