"""A table of URLs as a reader: what a conversion reads, fetched while it is made."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from PIL import Image

from fastload.conversion import samples
from fastload.conversion.readers.base import Extra, Listing, stamp_of
from fastload.conversion.samples import BadSampleError
from fastload.conversion.web.crew import Crew, Unit
from fastload.conversion.web.failures import Failure
from fastload.conversion.web.options import Columns, Fetch
from fastload.conversion.web.table import Row, Table
from fastload.sources import labels as labelling
from fastload.spec import Json, Longs

EXPECTED = 64 << 10  # bytes of a file, about: what is not known before it is fetched
DIGITS = 9  # of a key, at least
HASHES = {32: "md5", 64: "sha256"}  # by their hex digits


class Keys(Sequence[str]):
    """A sample's key is the number of its row, so that it depends on nothing else."""

    def __init__(self, rows: Longs, digits: int) -> None:
        self.rows, self.digits = rows, digits

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, sample: int) -> str: ...
    @overload
    def __getitem__(self, sample: slice) -> list[str]: ...
    def __getitem__(self, sample: int | slice) -> str | list[str]:
        if isinstance(sample, slice):
            return [f"{row:0{self.digits}d}" for row in self.rows[sample].tolist()]
        return f"{int(self.rows[sample]):0{self.digits}d}"


@dataclass
class Sample:
    """What is known of a sample between its image and the files beside it."""

    row: Row
    more: Json = field(default_factory=dict)


@dataclass
class Active:
    """A unit under way."""

    unit: Unit
    rows: dict[int, Sample]  # by sample
    check: Callable[[], None]


@dataclass(frozen=True, eq=False)
class WebReader(Listing):
    """Rows of a table. Inside `ahead`, their files are fetched and can be read."""

    table: Table
    rows: Longs  # [N]: numbers in the table
    how: Fetch
    crew: Crew
    active: dict[int, Active] = field(default_factory=dict)  # by sample
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def ahead(self, chosen: Sequence[int], check: Callable[[], None]) -> Iterator[None]:
        """Fetch these samples, which go up, while they are read inside.

        check: raises to give up; asked while one is waited for.
        """
        rows = self.table.rows(self.rows[np.array(chosen, np.int64)].tolist())
        known = {sample: Sample(row) for sample, row in zip(chosen, rows, strict=True)}
        urls = [(sample, one.row.url) for sample, one in known.items()]
        one = Active(self.crew.begin(self.where, urls), known, check)
        with self.lock:
            self.active.update(dict.fromkeys(chosen, one))
        try:
            yield
        finally:
            one.unit.drop()
            with self.lock:
                for sample in chosen:
                    del self.active[sample]

    def name(self, sample: int) -> str:
        with self.lock:
            known = self.active.get(sample)
        if known is not None:
            return known.rows[sample].row.url
        return self.table.rows([int(self.rows[sample])])[0].url

    def read(self, sample: int) -> bytes:
        """The file as it was served. Raises BadSampleError, whose text is a Failure's."""
        with self.lock:
            active = self.active[sample]
        got = active.unit.take(sample, active.check)
        if isinstance(got, Failure):
            raise BadSampleError(str(got))
        known, digest = active.rows[sample], hashlib.sha256(got).hexdigest()
        facts = samples.headers(got)
        if wrong := self._wrong(facts) or mismatch(known.row.checksum, got, digest):
            raise BadSampleError(str(wrong))
        known.more = {"sha256": digest, "height": facts.height, "width": facts.width}
        return got

    def _wrong(self, facts: samples.Facts) -> Failure | None:
        """Why the image is not taken, by its header."""
        if facts.format == "unknown":
            return Failure("wrong_type", "is no image that Pillow knows", 200)
        short, long = sorted((facts.height, facts.width))
        size = f"{facts.height} x {facts.width} px"
        bomb = 2 * (Image.MAX_IMAGE_PIXELS or 1 << 62)  # from where on Pillow refuses
        most = min(self.how.max_area or bomb, bomb)
        if short * long > most:
            return Failure("too_many_pixels", f"{size}, want at most {most} in all", 200)
        if short < self.how.min_side:
            return Failure("too_small", f"{size}, want at least {self.how.min_side} a side", 200)
        if self.how.max_aspect is not None and long > self.how.max_aspect * short:
            return Failure("too_long", f"{size}, want at most {self.how.max_aspect:g} to 1", 200)
        return None

    def extras(self, sample: int) -> tuple[Extra, ...]:
        """The caption, and what the table and the answer say, as JSON."""
        with self.lock:
            known = self.active[sample].rows[sample]
        row = known.row
        said = {"key": self.keys[sample], "url": row.url, **known.more, **row.fields}
        if row.caption is None:
            return (Extra("json", _json(said)),)
        caption = row.caption.encode("utf-8", "replace")
        return (Extra("json", _json({**said, "caption": row.caption})), Extra("txt", caption))


def _json(said: Json) -> bytes:
    return json.dumps(said, sort_keys=True).encode()


def mismatch(said: str, data: bytes, sha256: str) -> Failure | None:
    """Whether the table's checksum is another one than the file's."""
    if not said:
        return None
    kind = HASHES.get(len(said))
    if kind is None:
        return Failure("checksum", "the table's checksum is neither MD5 nor SHA-256 in hex", 200)
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest() if kind == "md5" else ""
    if said != (sha256 if kind == "sha256" else md5):
        return Failure("checksum", f"the file has another {kind} than the table says", 200)
    return None


def of_table(table: Table, columns: Columns, how: Fetch, rows: Longs) -> WebReader:
    """The reader of these rows, int64 [N], which go up."""
    count = len(rows)
    labels, classes = labelling.none(count)
    stamp = stamp_of([table.stamp, how.deciding, list(columns.fields)], rows)
    keys = Keys(rows, max(DIGITS, len(str(table.count - 1))))
    sizes = np.full(count, EXPECTED, np.int64)
    return WebReader(table.where, keys, sizes, labels, classes, stamp, table, rows, how, Crew(how))
