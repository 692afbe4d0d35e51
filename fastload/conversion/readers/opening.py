"""Which reader is for what lies at a path: one of fastload's, or of another distribution."""

import os
from collections.abc import Sized
from dataclasses import replace
from typing import NamedTuple

from fastload.conversion.readers import boxes, fresh, select
from fastload.conversion.readers.base import ANYTHING, Choice, Reader
from fastload.conversion.readers.manifest import IMAGES, MASKED
from fastload.conversion.readers.source import source_reader
from fastload.errors import SourceError, UsageError, mistyped
from fastload.files import formats
from fastload.files.formats import READERS, SOURCES, Format
from fastload.files.patterns import expanded, is_pattern
from fastload.sources import load
from fastload.sources.staging import at_hand


class Match(NamedTuple):
    """What lies at a path."""

    format: Format
    where: str  # with the folder of the split
    paths: tuple[str, ...]  # of the files that make it up; of a folder, or of one file, `where`


def open_reader(path: str, choice: Choice = ANYTHING) -> Reader:
    """What lies at `path`, ready to be converted. Raises SourceError, UsageError."""
    reader = _opened(at_hand(os.fspath(path)), choice)
    if not choice.labelled:
        reader = select.unlabelled(reader)
    elif choice.labels:
        reader = select.relabelled(reader, choice.labels)
    if choice.subset:
        reader = select.subset(reader, choice.subset, choice.seed)
    return fresh.of_choice(reader, choice)


def _opened(path: str, choice: Choice) -> Reader:
    """All that lies there."""
    if choice.boxes is not None:
        return boxes.open_reader(path, choice)
    where, choice = _of_split(path, choice)
    found = match(where, choice)
    _check_used(found, choice)
    return open_match(found, choice)


def _check_used(found: Match, choice: Choice) -> None:
    """Raise UsageError for what only one of fastload's formats reads."""
    name = found.format.name
    own = name in READERS.own or name in SOURCES.own
    if own and choice.root is not None and name != "list":
        raise UsageError(
            f"root: does not go with {found.format.summary} (got {found.where}, want a list of "
            "files); leave --root out"
        )
    if own and choice.masks is not None and name != formats.PAIRS:
        raise UsageError(
            f"masks: do not go with {found.format.summary} (got {found.where}); leave --masks or "
            "--from out"
        )


def open_match(match: Match, choice: Choice) -> Reader:
    """The reader; of a format that has a source only, one that reads through it.

    Raises SourceError.
    """
    name = match.format.name
    reader: Reader
    if name in READERS:
        reader = READERS.function(name, "open_reader")(match.where, match.paths, choice)
        if name not in READERS.own:
            _check(reader, name)
    else:
        reader = source_reader(load(name, match.where), choice)
    if not len(reader):
        raise SourceError(f"{match.where}: holds no samples; give another source")
    return reader


def _check(reader: Reader, name: str) -> None:
    """Raises SourceError for a reader of another distribution whose columns do not fit."""
    count, labels = len(reader), reader.labels
    columns: dict[str, Sized] = {"keys": reader.keys, "sizes": reader.sizes, "labels": labels}
    wrong = [f"{len(each)} {what}" for what, each in columns.items() if len(each) != count]
    if len(set(reader.keys)) < len(reader.keys):
        wrong.append("keys that are there twice")
    if count and not 0 <= int(labels.min()) <= int(labels.max()) < len(reader.classes):
        wrong.append(f"labels {labels.min()} to {labels.max()} of {len(reader.classes)} classes")
    if wrong:
        raise SourceError(
            f"{reader.where}: its reader {name!r} of {READERS.distribution(name)} has "
            f"{', '.join(wrong)} for {count} samples; update that package"
        )


def match(where: str, choice: Choice = ANYTHING) -> Match:
    """What lies there, whose folder of the split is known. Raises SourceError, UsageError."""
    if not os.path.exists(where):
        if is_pattern(where) and choice.format in (None, formats.WEBDATASET):
            one = formats.source_at(where)
            if one and one.name not in READERS:
                return _whole(one, where)
            return Match(READERS[formats.WEBDATASET], where, tuple(expanded(where)))
        raise SourceError(f"{where}: does not exist; check the path")
    if choice.format is not None:
        return _asked(where, choice)
    if choice.masks is not None:
        return _whole(READERS[formats.PAIRS], where)
    return _of_file(where, choice) if os.path.isfile(where) else _of_folder(where, choice)


def _of_file(where: str, choice: Choice) -> Match:
    if choice.split is not None:
        raise UsageError(f"split: {where} is one file, which has no splits; leave --split out")
    if one := formats.recognize(where, READERS, SOURCES):
        return _whole(one, where)
    known = formats.known(READERS, SOURCES)
    unknown = f"{where}: is of no known kind (want {known}); give one of these"
    raise SourceError("\n".join([unknown, *formats.broken(READERS, SOURCES)]))


def _of_folder(where: str, choice: Choice) -> Match:
    one = formats.recognize(where, READERS, SOURCES)
    if one is None:
        if match := _of_files(where, choice):
            return match
        if sorted(_folders(where)) == [IMAGES, MASKED]:
            return _whole(READERS[formats.PAIRS], where)
    if choice.split is not None:
        raise _no_split(where, choice.split)
    return _whole(one or READERS[formats.FOLDER], where)


def _whole(one: Format, where: str) -> Match:
    return Match(one, where, (where,))


def _asked(where: str, choice: Choice) -> Match:
    """Of the format that the user names."""
    name = choice.format or ""
    table = READERS if name in READERS else SOURCES
    if name not in table:
        raise mistyped(
            UsageError(
                f"format: {name!r} is unknown (want {', '.join({**READERS.own, **SOURCES.own})}, "
                "or one of another distribution); choose one of them"
            ),
            name,
            [*READERS, *SOURCES],
        )
    one = table[name]
    if one.many and os.path.isdir(where):
        if match := _files_of(one, where, choice):
            return match
        raise SourceError(f"{where}: holds no files of {one.summary}; give another folder")
    return _whole(one, where)


def _of_split(where: str, choice: Choice) -> tuple[str, Choice]:
    """Where a split that has a folder lies, and what is then left to choose."""
    if choice.split is None or not os.path.isdir(os.path.join(where, choice.split)):
        return where, choice
    return os.path.join(where, choice.split), replace(choice, split=None)


def _of_files(where: str, choice: Choice) -> Match | None:
    """A folder of files of one format; None if it is none."""
    matches = (_files_of(one, where, choice) for one in formats.in_order(READERS) if one.many)
    return next(filter(None, matches), None)


def _files_of(one: Format, where: str, choice: Choice) -> Match | None:
    """The files of this format in the folder, or only those of the split."""
    paths = formats.files_in(one, where)
    if paths and choice.split is not None:
        begins = tuple(f"{choice.split}{mark}" for mark in "-_.")
        paths = tuple(path for path in paths if os.path.basename(path).startswith(begins))
        if not paths:
            raise _no_split(where, choice.split)
    return Match(one, where, paths) if paths else None


def _no_split(where: str, split: str) -> SourceError:
    return SourceError(
        f"{where}: has no split {split!r} (no folder and no files of that name); leave --split out "
        "or give another"
    )


def _folders(where: str) -> list[str]:
    try:
        with os.scandir(where) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []
