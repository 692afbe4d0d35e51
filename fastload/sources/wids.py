"""WebDataset's index of tars, as its library wids reads it: JSON that lists tars, in the order in
which their samples count, and how many samples each has.

The tars are opened in place, as those that a pattern names. The list says which, and is compared
with what lies there.
"""

import os
from collections.abc import Iterator
from reprlib import repr as short
from typing import Any, NamedTuple

from fastload.errors import SourceError, listed
from fastload.files.names import outside, whole_problem
from fastload.remote.urls import is_url
from fastload.sources import tar_fields, tars
from fastload.sources.span_files import json_of
from fastload.sources.tars import TarSource

VERSION = 1
OUT = "leads out of the index's folder"
REMEDY = "make the index anew with widsindex"
WHAT = 'want an index of wids: {"wids_version": 1, "shardlist": [...]}'

with_fields, looks = tar_fields.with_fields, tar_fields.looks  # fastload.sources asks for them


class Listed(NamedTuple):
    """One tar of the list."""

    path: str
    samples: int
    bytes: int | None  # None: the list does not say


def load(where: str) -> TarSource:
    """The samples of the tars that an index lists. Raises SourceError with every problem found."""
    shards = list(shards_of(where))
    if not shards:
        raise SourceError(f"{where}: lists no shards; {REMEDY}")
    if problems := [problem for shard in shards if (problem := _file_problem(shard))]:
        raise SourceError(listed(problems))
    paths = [shard.path for shard in shards]
    source = tars.of_archives(where, paths, os.path.dirname(os.path.abspath(where)))
    counts = source.counts().tolist()
    problems = [
        f"{shard.path}: holds {count} samples ({where} says {shard.samples}); restore it, or "
        f"{REMEDY}"
        for shard, count in zip(shards, counts, strict=True)
        if count != shard.samples
    ]
    if problems:
        raise SourceError(listed(problems))
    return source


def _file_problem(shard: Listed) -> str:
    try:
        size = os.stat(shard.path).st_size
    except OSError as error:
        return f"{shard.path}: cannot be opened ({error.strerror}); restore it, or {REMEDY}"
    if shard.bytes in (None, size):
        return ""
    want = shard.bytes
    return f"{shard.path}: size differs (got {size} bytes, want {want}); restore it, or {REMEDY}"


def shards_of(where: str) -> Iterator[Listed]:
    """In their order. Raises SourceError."""
    said = json_of(where, REMEDY, "check the path")
    if not isinstance(said, dict) or "wids_version" not in said:
        raise SourceError(f"{where}: is JSON of something else ({WHAT}); give a folder of data")
    if said["wids_version"] != VERSION:
        raise SourceError(
            f"{where}: wids_version is {short(said['wids_version'])}, this fastload reads "
            f"{VERSION}; {REMEDY}"
        )
    yield from _of_part(where, "", said | {"base": ""})  # wids takes no such one from here
    for number, part in enumerate(_list_in(where, said, "datasets")):
        at = f"data set {number}"
        if not isinstance(part, dict):
            raise SourceError(f"{where}: {at} is {short(part)}, want an object; {REMEDY}")
        if "source_url" in part:
            raise SourceError(
                f"{where}: {at} is another index ({short(part['source_url'])}); open that one, and "
                "mix or join them"
            )
        yield from _of_part(where, f"{at}, ", part)


def _of_part(where: str, within: str, part: dict[str, Any]) -> Iterator[Listed]:
    """within: where in the index, for messages. Raises SourceError."""
    for number, one in enumerate(_list_in(where, part, "shardlist")):
        yield _listed(where, f"{where}: {within}shard {number}", part.get("base", ""), one)


def _list_in(where: str, said: dict[str, Any], name: str) -> list[Any]:
    found = said.get(name, [])
    if not isinstance(found, list):
        raise SourceError(f"{where}: {name} is {short(found)}, want a list; {REMEDY}")
    return found


def _listed(where: str, at: str, base: Any, one: Any) -> Listed:
    """Raises SourceError."""
    if not isinstance(one, dict):
        raise SourceError(f"{at} is {short(one)}, want an object; {REMEDY}")
    url, samples, size = one.get("url"), one.get("nsamples"), one.get("filesize")
    if type(samples) is not int or samples < 0:
        raise SourceError(f"{at}: nsamples is {short(samples)}, want a number; {REMEDY}")
    if size is not None and (type(size) is not int or size < 0):
        raise SourceError(f"{at}: filesize is {short(size)}, want a number; {REMEDY}")
    return Listed(_path(where, at, base, url), samples, size)


def _path(where: str, at: str, base: Any, url: Any) -> str:
    """Of a tar below the index's folder: a list from elsewhere is not to reach others."""
    if not isinstance(url, str) or not isinstance(base, str):
        raise SourceError(f"{at}: url is {short(url)}, want text; {REMEDY}")
    folder = os.path.dirname(os.path.abspath(where))
    if is_url(base) or is_url(url):
        raise SourceError(
            f"{at}: {short(url)} lies in a store; copy the tars beside the index, and list their "
            "names"
        )
    inner = os.path.relpath(os.path.join(folder, base, url), folder)
    wrong = whole_problem(url) or (whole_problem(base) if base else "")
    if wrong or outside(inner):
        raise SourceError(f"{at}: {short(url)} {wrong or OUT}; list tars below it")
    if not url.lower().endswith(".tar"):
        raise SourceError(f"{at}: {short(url)} is no plain tar (.tar); list plain ones")
    return os.path.join(os.path.dirname(where), inner)
