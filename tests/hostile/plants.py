"""What a stranger puts where a verb is going to write: links, pipes, folders and second names of
files, and journals that lie.
"""

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from fastload.files.below import DirEntry, opened
from fastload.files.names import Inner
from tests.hostile.world import World


def link_to_file(world: World, path: Path) -> None:
    path.symlink_to(world.victim / "file")


def link_to_nothing(world: World, path: Path) -> None:
    path.symlink_to(world.victim / "new")


def link_to_folder(world: World, path: Path) -> None:
    path.symlink_to(world.victim / "deep")


def link_to_empty_folder(world: World, path: Path) -> None:
    path.symlink_to(world.victim / "empty")


def link_that_climbs(world: World, path: Path) -> None:
    path.symlink_to(os.path.relpath(world.victim / "file", path.parent))


def second_name(world: World, path: Path) -> None:
    os.link(world.victim / "file", path)


def pipe(_: World, path: Path) -> None:
    os.mkfifo(path)


def folder(_: World, path: Path) -> None:
    path.mkdir()


def full_folder(world: World, path: Path) -> None:
    path.mkdir()
    (path / "inner").symlink_to(world.victim)


PLANTS: dict[str, Callable[[World, Path], None]] = {
    each.__name__: each
    for each in (
        link_to_file, link_to_nothing, link_to_folder, link_to_empty_folder, link_that_climbs,
        second_name, pipe, folder, full_folder,
    )
}  # fmt: skip


def plant(world: World, kind: str, path: Path) -> bool:
    """Put it there, and the folders above it; False where something is there already, which
    stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(path):
        return False
    PLANTS[kind](world, path)
    return True


LIES = (
    {
        "commit": [
            ["../../../../../x", "../../../../../y"],
            ["/x", "/y"],
            [".fastload-000000.tar", "../../victim/file"],
        ]
    },
    {"commit": [["../victim/file", "shard-000000.tar"], ["a/b", "c"], 3, ["x"], [None, {}], "xy"]},
    {
        "part": 0,
        "path": "../../../../../victim/file",
        "sidecar": ["../../../../../x", 1, 2, {}],
        "names": ["0" * 17 + "../../x", 5, None],
    },
)


def _journal(folder: Path, module: ModuleType) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with opened(str(folder)) as held:
        written = module.Journal(
            DirEntry(held, Inner(".fastload-journal")), {"lie": 1}, resume=False
        )
        for lie in LIES:
            written.append(lie)
        written.close()


def journal_of_shards(world: World, module: ModuleType) -> None:
    _journal(world.out, module)
    (world.out / ".fastload-index.arrow").touch()


def journal_of_stage(world: World, module: ModuleType) -> None:
    for name in ("OUT", "OUT.beton"):
        _journal(world.work / f".fastload-{name}", module)
    (world.work / ".fastload-OUT" / "data").mkdir()
