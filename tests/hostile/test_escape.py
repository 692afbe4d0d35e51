"""Data sets from strangers, with names that lead out, through every reader and writer: nothing
around the target changes.
"""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from fastload.conversion import staging
from fastload.conversion.readers import Choice, open_reader
from fastload.errors import ConversionError, SourceError
from fastload.files import names as outer
from tests.hostile import evil, verbs
from tests.hostile.world import World, outcome, untouched

WRITERS = ("shards", "webdataset", "parquet", "folder", "beton")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path / "world")
    made.source.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(made.cache))
    return made


@pytest.mark.parametrize("to", WRITERS)
@pytest.mark.parametrize(
    "name",
    ["m./../../../../x", "{root}/victim/file", "m./../../../../../victim/new", "a/b", ".bashrc"],
)
def test_a_column_with_a_hostile_name_writes_nothing_outside(
    world: World, to: str, name: str
) -> None:
    """A table's second column of images: its name was joined into a path."""
    text = name.format(root=world.root)
    source = evil.parquet(world, [text])
    with untouched(world, *world.written):
        assert outcome(lambda: verbs.convert(source, world.out, to)) == "done"
    if to in ("shards", "webdataset"):
        assert not [member for member in evil.members(world.out) if evil.leads_out(member)]
    if to == "folder":
        suffix = next(iter(outer.unique_suffixes([text])))
        kind, _, rest = suffix.partition(".")
        below = [str(path.relative_to(world.out)) for path in sorted(world.out.rglob("*.jpg"))]
        assert len(below) == 2 * evil.SAMPLES
        assert (
            sum(path.startswith(f"{kind}s/") and (not rest or rest in path) for path in below)
            == evil.SAMPLES
        )


@pytest.mark.parametrize(
    "name",
    [
        "x/../../../../../.bashrc",
        "/../../../../../.bashrc",
        "m.{root}/victim/new",
        "a\nb",
        "y" * 400,
        "",
    ],
)
def test_own_shards_with_a_forged_name_and_a_new_seal_are_refused(world: World, name: str) -> None:
    text = name.format(root=world.root)
    source = evil.shards(world, [text], "extras")
    with pytest.raises(SourceError) as refused:
        open_reader(source)
    line = str(refused.value)
    assert line.startswith(
        f"{source}/index.arrow: name of a file beside an image {outer.shown(text)} "
    )
    assert line.endswith("; convert again")
    assert len(line.splitlines()) == 1


def test_forged_keys_are_refused_before_anything_is_written(world: World) -> None:
    source = evil.shards(world, ["../../k"], "key")
    for to in WRITERS:
        with untouched(world, *world.written):
            outcome(lambda to=to: verbs.convert(source, world.out, to))
        if to != "beton":  # whose files have no names
            assert not world.out.exists()
    with pytest.raises(SourceError) as refused:
        verbs.convert(source, world.out, "shards")
    assert (
        str(refused.value) == f"{source}, sample 0: key '../../k0' has a path with '..'; rename it"
    )


def test_an_extension_in_a_tar_is_a_suffix(world: World) -> None:
    for text, why in (
        ("a\nb", "has a control character"),
        ("e" * 200, "is too long (got 200 bytes, want at most 128)"),
    ):
        source = str(world.source / "x.tar")
        with evil.tarfile.open(source, "w") as archive:
            evil.member(archive, "k.jpg", evil.an_image())
            evil.member(archive, "k.cls", b"0")
            evil.member(archive, f"k.{text}", b"beside")
        with pytest.raises(SourceError) as refused:
            open_reader(source, Choice())
        assert (
            str(refused.value)
            == f"{source}: sample 'k' has a file whose extension {outer.shown(text)} {why}; rename "
            "it"
        )


def test_two_files_of_one_name_are_an_error_and_neither_is_lost_silently(world: World) -> None:
    """Extras `mask` and `mask.mask` would both be masks/CLASS/KEY.mask."""
    records = [
        evil.Record(
            "k", evil.an_image(), 0, (evil.Extra("mask", b"1"), evil.Extra("mask.mask", b"2"))
        )
    ]
    reader = evil.from_iterable(records, ["a"])
    assert outcome(lambda: verbs.convert_reader(reader, world.out, "folder")) == "ConversionError"
    assert not world.out.exists()
    assert outcome(lambda: verbs.convert_reader(reader, world.out, "shards")) == "done"


def test_a_planted_journal_moves_nothing(world: World) -> None:
    """With --resume a journal says what was renamed, and which files are parts."""
    from fastload.conversion import journal
    from tests.hostile import plants

    source = evil.folder(world, ["a"])
    for to in WRITERS:
        for make in (plants.journal_of_shards, plants.journal_of_stage):
            make(world, journal)
            with untouched(world, *world.written):
                outcome(lambda to=to: verbs.convert(source, world.out, to, resume=True))
            verbs.remove(*world.written)


@pytest.mark.parametrize("to", ["webdataset", "parquet", "folder", "beton"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_was_put_in_the_place_of_what_was_written_does_not_become_the_target(
    world: World, monkeypatch: pytest.MonkeyPatch, to: str, overwrite: bool
) -> None:
    """Found by the race: a link in the hidden folder was renamed to the target, where the next
    conversion followed it.
    """
    source = evil.folder(world, ["a"])
    final = world.work / ("OUT.beton" if to == "beton" else "OUT")
    if overwrite and to != "folder":
        verbs.convert(source, world.out, to)
    before = world.seen() if not overwrite else {}
    real = staging.Stage.commit

    def replaced(stage: staging.Stage) -> None:
        os.rename(stage.data, f"{stage.data}.away")
        os.symlink(world.victim / "empty", stage.data)
        real(stage)

    monkeypatch.setattr(staging.Stage, "commit", replaced)
    with pytest.raises(ConversionError) as refused:
        verbs.convert(source, world.out, to, overwrite=overwrite)
    what = (
        "cannot be written (Was replaced while it was written); check the folder's permissions "
        "and its disk"
    )
    assert str(refused.value).startswith(f"{final}: {what}; ")
    assert not final.is_symlink()
    assert os.path.exists(final) == (overwrite and to != "folder")
    assert not before or world.seen(*world.written) == {
        path: entry for path, entry in before.items() if ".fastload-" not in path
    }


@pytest.mark.parametrize("kind", list(evil.KINDS))
def test_generated_names(world: World, kind: str) -> None:
    """A small part of `python -m tests.hostile.escape_release`."""
    draw, found = random.Random(kind), Counter[str]()
    for number in range(6):
        names = [evil.name(draw, world) for _ in range(1 + number)]
        found += verbs.attack(world, kind, names, WRITERS[number % len(WRITERS)])
    assert set(found) <= {"done", "SourceError", "ConversionError"}, found
    assert os.path.exists(world.victim / "file")
