"""Versions of converted shards: what there was when, and where the index of each lies.

The newest has index.arrow. When samples are added or deleted, the index that was is kept beside it
under a name of its own, so that whoever has it open goes on with it. docs/formats.md has the files.
"""

import json
import os
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from fastload import _native
from fastload.errors import SourceError
from fastload.files.opening import no_wait
from fastload.sources.shard_index import INDEX
from fastload.spec import Json
from fastload.system import limits

HISTORY = "versions.jsonl"
# What lies beside an index because there were others before
NAMES = re.compile(r"versions\.jsonl|version-[0-9]{6,9}\.arrow(?:\.xxh3)?|deleted-[0-9]{6,9}\.txt")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


class Version(NamedTuple):
    """What was committed once.

    number: from 1 on; at: UTC, as ISO 8601 has it, or empty for the first one in a store; index:
    XXH3-64 of its index; keys: of the file with the keys that were deleted, XXH3-64; None: none
    were.
    """

    number: int
    at: str
    checksum: int
    samples: int
    added: int
    deleted: int
    keys: int | None = None

    def line(self) -> bytes:
        said: Json = {
            "version": self.number, "at": self.at, "index": f"{self.checksum:016x}",
            "samples": self.samples, "added": self.added, "deleted": self.deleted,
        }  # fmt: skip
        if self.keys is not None:
            said["keys"] = f"{self.keys:016x}"
        return json.dumps(said).encode() + b"\n"


def index_name(number: int) -> str:
    """Of a version that is not the newest."""
    return f"version-{number:06d}.arrow"


def deleted_name(number: int) -> str:
    """Of the keys that a version lacks and the one before it has, one per line."""
    return f"deleted-{number:06d}.txt"


def time_of(seconds: float) -> str:
    """seconds: since 1970."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(path: str, text: bytes) -> tuple[Version, ...]:
    """What a HISTORY says. Raises SourceError. path: for messages."""
    try:
        said = tuple(map(_parsed, text.splitlines()))
        if [one.number for one in said] != list(range(1, len(said) + 1)):
            raise ValueError("its numbers do not go 1, 2, 3, …")
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise SourceError(
            f"{path}: is damaged ({' '.join(str(error).split())}); restore it, or remove it and "
            "lose the older versions"
        ) from error
    return said


def _parsed(line: bytes) -> Version:
    said = json.loads(line)
    numbers = [said[name] for name in ("version", "samples", "added", "deleted")]
    if not all(type(each) is int and each >= 0 for each in numbers) or type(said["at"]) is not str:
        raise TypeError("a number or a time is none")
    if said["at"] and not TIME.fullmatch(said["at"]):
        raise ValueError(f"a time is {said['at'][:30]!r}")
    number, samples, added, deleted = numbers
    keys = int(said["keys"], 16) if "keys" in said else None
    return Version(number, said["at"], int(said["index"], 16), samples, added, deleted, keys)


def listed(where: str) -> tuple[Version, ...]:
    """All that HISTORY lists, also what a killed process was about to commit; nothing without one.

    Raises SourceError.
    """
    path = os.path.join(where, HISTORY)
    try:
        with open(path, "rb", opener=no_wait) as file:
            return parse(path, limits.small(file, limits.VERSIONS))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: cannot be read ({error}); restore it") from error


def until(said: Sequence[Version], index: int) -> tuple[Version, ...]:
    """Up to the version that has this index; nothing where none has it."""
    numbers = [one.number for one in said if one.checksum == index]
    return tuple(said[: numbers[-1]]) if numbers else ()


def of(where: str, samples: int, index: int) -> tuple[Version, ...]:
    """All versions, the newest last, whose index has this checksum and so many samples.

    Raises SourceError.
    """
    said = listed(where)
    if known := until(said, index):
        return known
    # Nobody has added anything yet, or the index was made anew by who keeps no history
    before = [one for one in said if os.path.exists(os.path.join(where, index_name(one.number)))]
    before = before[: next((n for n, one in enumerate(before) if one.number != n + 1), len(before))]
    had = before[-1].samples if before else 0
    at = time_of(os.stat(os.path.join(where, INDEX)).st_mtime)
    added, deleted = max(samples - had, 0), max(had - samples, 0)
    return (*before, Version(len(before) + 1, at, index, samples, added, deleted))


def name_of(where: str, index: int) -> str:
    """The file whose XXH3-64 this is: INDEX, or an older version's."""
    try:
        said = listed(where)
    except SourceError:
        said = ()
    names = [index_name(one.number) for one in said if one.checksum == index]
    return next((name for name in names if os.path.exists(os.path.join(where, name))), INDEX)


def deleted_keys(where: str, said: Sequence[Version]) -> set[str]:
    """What was ever deleted, as the files of these versions say. Raises SourceError."""
    keys = set[str]()
    for one in said:
        if one.keys is None:
            continue
        path = os.path.join(where, deleted_name(one.number))
        try:
            with open(path, "rb", opener=no_wait) as file:
                text = limits.small(file, limits.INDEX)
        except (OSError, ValueError) as error:
            raise SourceError(f"{path}: cannot be read ({error}); restore it") from error
        keys |= keys_of(path, text, one)
    return keys


def keys_of(path: str, text: bytes, version: Version) -> set[str]:
    """What the file of a version's deleted keys says. Raises SourceError. path: for messages."""
    if (got := _native.xxh3(text)) != version.keys:
        raise SourceError(
            f"{path}: is damaged (checksum got {got:016x}, want {version.keys or 0:016x}); restore "
            "it"
        )
    return set(text.decode("utf-8", "surrogateescape").split("\n")[:-1])


def check_number(version: object) -> None:
    """Raises SourceError for what is no number of a version."""
    if type(version) is not int:
        raise SourceError(
            f"version is {version!r}, want a whole number from 1 on; fastload inspect PATH "
            "--versions lists them"
        )


def lacking(where: str, version: int, count: int) -> SourceError:
    """The error of a version that is not there. count: how many there are."""
    has = f"1 to {count}" if count > 1 else "1 only"
    if 1 <= version <= count:
        return SourceError(
            f"{where}: the index of version {version} is not as it was ({index_name(version)}); "
            "restore it, or open another version"
        )
    return SourceError(
        f"{where}: has no version {version} (has {has}); fastload inspect {where} --versions lists "
        "them"
    )
