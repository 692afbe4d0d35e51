"""Every verb that writes, the names that it gives, and a run of it where a stranger has put
something in one of their places.
"""

import contextlib
import itertools
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import fastload
from fastload import transforms as T
from fastload.cli import attached
from fastload.conversion import beton_writer, index_folder, indexing, job, target
from fastload.files import cache
from tests.hostile import evil, plants, verbs
from tests.hostile.world import World, outcome, untouched

IMAGES = 4
# The user's own paths, in which links are followed: the cache, which they may put elsewhere, and
# the target.
USERS = ("cache", "cache/fastload", "a/b/c/d", "a/b/c/d/OUT")
OLD = (
    ".fastload-000000.tar",
    ".fastload-000000.seek",
    ".fastload-index.arrow.xxh3",
    ".fastload.seek.new",
    ".fastload.seek.arrow.new",
)


class Verb(NamedTuple):
    """prepare: what lies there before; run: the verb; resumes: it goes on with what lies under its
    temporary names.
    """

    prepare: Callable[[World], object]
    run: Callable[[World], object]


def images(world: World, broken: bool = False) -> str:
    root = world.source / "tree"
    for number in range(IMAGES):
        path = root / f"c{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\xff\xd8\xff" if broken and number == 1 else evil.an_image(number))
    return str(root)


def own(world: World) -> str:
    """Converted shards with files beside the images."""
    records = [
        evil.Record(f"k{n}", evil.an_image(n), n % 2, (evil.Extra("mask.png", b"m"),))
        for n in range(IMAGES)
    ]
    where = str(world.source / "shards")
    job.run(
        job.prepare_reader(
            evil.from_iterable(records, ["a", "b"]), where, job.Options(workers=1, shard_bytes=4096)
        )
    )
    return where


def started(world: World, to: str) -> None:
    """A conversion that was interrupted."""
    source = images(world)
    count = itertools.count()

    def interrupt(images_: int, _: int) -> None:
        if images_ and next(count) >= 2:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        if to == "beton":
            with mock.patch.multiple(beton_writer, TASK=1, ROUND=1):
                how = beton_writer.Options(workers=1, extras="drop", on_error="skip")
                beton_writer.run(
                    evil.reader(source), str(world.out.with_name("OUT.beton")), how, interrupt
                )
        else:
            how_ = job.Options(workers=1, to=to, on_error="skip", shard_bytes=4096)
            job.run(job.prepare(source, str(world.out), how_), interrupt)


def damaged(world: World) -> None:
    path = next(Path(own(world)).glob("*.tar"))
    content = bytearray(path.read_bytes())
    content[600] ^= 1
    path.write_bytes(content)


def mended(world: World) -> None:
    records = [
        evil.Record(f"k{n}", evil.an_image(n), n % 2, (evil.Extra("mask.png", b"m"),))
        for n in range(IMAGES)
    ]
    verbs.repair.run(str(world.source / "shards"), evil.from_iterable(records, ["a", "b"]), count=1)


def indexed_file(world: World) -> None:
    beton_writer.run(
        evil.reader(images(world)), str(world.source / "x.beton"), beton_writer.Options(workers=1)
    )


def epochs(world: World, **how: Any) -> None:
    data = fastload.open(str(world.source / "tree"), [T.Resize((8, 8)), T.ToImage()])
    loader = fastload.DataLoader(data, 2, **how)
    for _ in range(2):
        for _ in loader:
            pass


def substituted(world: World) -> None:
    epochs(world, on_error="substitute", seek_index="off")


def cached_index(world: World) -> None:
    """As `fastload index` does where the data cannot be written."""
    reader = indexing.prepare(str(world.source / "tree"))
    folder = cache.path("seek", "0123456789abcdef")
    if cache.trouble(folder):
        return
    with target.translated(folder, 0):
        cache.make(folder).close()
        with target.locked(folder) as held:
            build = index_folder.by_threads(reader, 8, 1, lambda *_: None)
            index_folder.write(reader, [str(number) for number in range(IMAGES)], held, 8, build)


def _convert(to: str, **more: object) -> Callable[[World], None]:
    def run(world: World) -> None:
        with mock.patch.multiple(beton_writer, TASK=1, ROUND=1):
            verbs.convert(str(world.source / "tree"), world.out, to, **more)

    return run


def _replaced(to: str) -> Verb:
    def prepare(world: World) -> None:
        verbs.convert(images(world), world.out, to)

    return Verb(prepare, _convert(to, overwrite=True))


WRITERS = ("shards", "webdataset", "parquet", "folder", "beton")
VERBS: dict[str, Verb] = {
    **{f"convert --to {to}": Verb(images, _convert(to)) for to in WRITERS},
    **{f"convert --to {to} --overwrite": _replaced(to) for to in WRITERS if to != "folder"},
    **{f"convert --to {to} --resume": Verb(lambda world, to=to: started(world, to), _convert(to,
    resume=True)) for to in WRITERS},
    "index a folder": Verb(images, lambda world: verbs.index(str(world.source / "tree"))),
    "index shards": Verb(own, lambda world: verbs.index(str(world.source / "shards"))),
    "index a file": Verb(indexed_file, lambda world: verbs.index(str(world.source / "x.beton"))),
    "index into the cache": Verb(images, cached_index),
    "collect": Verb(images, lambda world: epochs(world, seek_index="auto", backend="native")),
    "filter": Verb(own, lambda world: verbs.link(str(world.source / "shards"), world.out,
    "filter")),
    "split": Verb(own, lambda world: verbs.link(str(world.source / "shards"), world.out, "split")),
    "merge": Verb(own, lambda world: verbs.link(str(world.source / "shards"), world.out, "merge")),
    "repair": Verb(damaged, mended),
    "list bad samples": Verb(lambda world: images(world, broken=True), substituted),
    "keep a measurement": Verb(lambda _: None, lambda _: cache.keep(cache.path("backends",
    "x.json"), b"{}")),
    "save a report": Verb(lambda _: None,
    lambda world: attached.save(str(world.work / "report.html"), "text", "html")),
}  # fmt: skip


@contextlib.contextmanager
def predictable() -> Iterator[None]:
    """Random names are the same in every run, as if a stranger could guess them."""
    count = itertools.count()
    with mock.patch.object(secrets, "token_hex", lambda size=32: f"{next(count):0{2 * size}x}"):
        yield


@contextlib.contextmanager
def seen() -> Iterator[list[str]]:
    """Paths that are made or renamed to inside the block, in their order."""
    found = list[str]()

    def note(path: Any, folder: int | None) -> None:
        base = os.readlink(f"/proc/self/fd/{folder}") if folder is not None else os.getcwd()
        found.append(os.path.normpath(os.path.join(base, os.fspath(path))))

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if name == "mkdir" or (name == "open" and given[1] & os.O_CREAT):
                note(given[0], named.get("dir_fd"))
            if name in ("rename", "link"):
                note(given[1], named.get("dst_dir_fd"))
            return real(*given, **named)

        return call

    with contextlib.ExitStack() as stack:
        for name in ("open", "mkdir", "rename", "link"):
            stack.enter_context(mock.patch.object(os, name, wrapped(name, getattr(os, name))))
        yield found


@contextlib.contextmanager
def environment(world: World) -> Iterator[None]:
    """The world's cache; nothing waits for the disk."""
    with (
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(world.cache)}),
        mock.patch.object(os, "fsync"),
    ):
        yield


def places(verb: Verb, root: Path) -> list[str]:
    """Every name that a clean run gives below the root, relative to it, and those that earlier
    versions gave.
    """
    world = World(root)
    world.source.mkdir()
    with environment(world), predictable():
        verb.prepare(world)
    with environment(world), predictable(), seen() as found:
        verb.run(world)
    more = [
        f"{os.path.dirname(path)}/{name}"
        for path in found
        for name in OLD
        if os.path.basename(path).startswith((".fastload", "shard"))
    ]
    inside = [
        os.path.relpath(path, root)
        for path in dict.fromkeys([*found, *more])
        if path.startswith(f"{root}/")
    ]
    return [path for path in inside if path not in USERS]


def attack(verb: Verb, root: Path, place: str, kind: str) -> str:
    """What came of the verb where this was planted in that place; "there" where something is there
    already.

    Raises AssertionError where a victim has changed, or the verb hangs; everything else that is no
    typed error.
    """
    world = World(root)
    world.source.mkdir()
    with environment(world):
        with predictable():
            verb.prepare(world)
        if os.path.lexists(root / place):
            verbs.remove(root / place) if not (root / place).is_dir() else None
        try:
            if not plants.plant(world, kind, root / place):
                return "there"
        except (FileExistsError, NotADirectoryError):
            return "there"
        with untouched(world, world.work, world.cache), predictable(), np.errstate(all="raise"):
            return outcome(lambda: verb.run(world))
