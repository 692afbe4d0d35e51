"""What fastload does with a data set from a stranger, verb by verb."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fastload
from fastload import transforms as T
from fastload.conversion import (
    beton_writer,
    indexing,
    inspect,
    job,
    repair,
    subset_columns,
    subsets,
    verify,
)
from fastload.conversion.readers import open_reader
from fastload.conversion.readers.base import Reader
from tests.hostile import evil
from tests.hostile.world import World, outcome, untouched


def convert(source: str, out: Path, to: str, **more: object) -> None:
    convert_reader(evil.reader(source), out, to, **more)


def convert_reader(reader: Reader, out: Path, to: str, **more: Any) -> None:
    """extras are dropped where the format cannot hold them."""
    if to == "beton":
        how = beton_writer.Options(workers=1, extras="drop", on_error="skip", **more)
        beton_writer.run(reader, str(out.with_name(f"{out.name}.beton")), how)
        return
    how_ = job.Options(workers=1, to=to, on_error="skip", shard_bytes=4096, **more)
    job.run(job.prepare_reader(reader, str(out), how_))


def look(source: str) -> None:
    inspect.inspect(source)


def check(source: str) -> None:
    prepared = verify.prepare(source)
    if not isinstance(prepared, verify.Damaged):
        verify.verify(prepared, 1)


def index(source: str) -> None:
    indexing.run(indexing.prepare(source), 8, 1)


def mend(source: str, good: str) -> None:
    repair.run(source, open_reader(good), count=1)


def link(source: str, out: Path, verb: str) -> None:
    """filter, split or merge."""
    held = subsets.open_index(source)
    parts = {
        "filter": [np.arange(len(held) - 1)],
        "split": subsets.drawn(held, (0.5, 0.5), 1),
        "merge": [np.arange(len(held))],
    }[verb]
    inside = verb == "split"
    wanted = [
        (str(out / str(number)) if inside else str(out), [subset_columns.Part(held, rows)])
        for number, rows in enumerate(parts)
    ]
    subsets.write_all(wanted, inside=inside)


def load(source: str) -> None:
    data = fastload.open(source, [T.Resize((8, 8)), T.ToImage()])
    for _ in fastload.DataLoader(data, 2, on_error="skip"):
        pass


def remove(*paths: Path) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.is_symlink() or path.exists():
            path.unlink()


def attack(
    world: World, kind: str, names: Sequence[str], to: str, *, more: bool = False
) -> Counter[str]:
    """One data set with these names through a writer, and with `more` through the other verbs: what
    came of it.

    Raises AssertionError where anything around the target has changed, or a written archive has a
    name that leads out.
    """
    remove(*world.written, world.source)
    world.source.mkdir()
    source, found = evil.KINDS[kind](world, names), Counter[str]()
    with untouched(world, *world.written):
        found[outcome(lambda: convert(source, world.out, to))] += 1
    if (
        wrong := [name for name in evil.members(world.out) if evil.leads_out(name)]
        if world.out.is_dir()
        else []
    ):
        raise AssertionError(f"{to} has members {wrong}")
    if more and "shards" in kind:
        with untouched(world, *world.written, world.source):
            for work in (look, check, index, load):
                found[outcome(lambda work=work: work(source))] += 1
            with tempfile.TemporaryDirectory(dir=world.work) as parts:
                for verb in ("filter", "split", "merge"):
                    found[
                        outcome(
                            lambda verb=verb, parts=parts: link(source, Path(parts) / "out", verb)
                        )
                    ] += 1
    return found
