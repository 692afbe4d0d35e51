"""Samples into one shard: read, check, lay out, write."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.conversion import samples, seek_writer, tar, target, transcoding
from fastload.conversion.readers import Reader
from fastload.conversion.workers import Stop
from fastload.sources.shards import TEMPORARY
from fastload.spec import Longs


class Bad(NamedTuple):
    """A sample that was left out, or that makes the conversion fail."""

    sample: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Written:
    """One shard under its temporary name; rows are in the order of the payloads."""

    path: str
    bytes: int
    checksum: int
    samples: Longs  # [K]
    offset: Longs  # [K], bytes
    size: Longs
    height: Longs  # px
    width: Longs
    checksums: NDArray[np.uint64]
    formats: tuple[str, ...]
    bad: tuple[Bad, ...]
    sidecar: seek_writer.Sidecar
    transcoding: transcoding.Tally


class _Row(NamedTuple):
    sample: int
    offset: int
    size: int
    height: int
    width: int
    checksum: int
    format: str


class _Making(NamedTuple):
    buffer: tar.Buffer
    seek: seek_writer.Builder
    tally: transcoding.Tally


def temporary(where: str, shard: int) -> str:
    return os.path.join(where, f"{TEMPORARY}{shard:06d}.tar")


class How(NamedTuple):
    """What is done to each sample."""

    check: bool  # decode it
    seek_step: int | None  # None: no seek index
    transcode: bool


class Hooks(NamedTuple):
    """How a shard in the making talks to the job."""

    step: Callable[[int], None]  # told the bytes of each sample that was read
    wanted: Callable[[bool], bool]  # (were there bad samples): whether to write; false if the conversion fails anyway
    stop: Stop


def write_shard(reader: Reader, chosen: Longs, capacity: int, path: str, hooks: Hooks, how: How) -> Written:
    """Write the `chosen` samples to `path`, their seek indexes beside it.

    Bad samples are left out and named. Raises OSError, workers.StoppedError.
    """
    making = _Making(tar.Buffer(capacity), seek_writer.Builder(how.seek_step), transcoding.Tally(how.transcode))
    rows: list[_Row] = []
    bad: list[Bad] = []
    for sample in chosen.tolist():
        hooks.stop.check()
        try:
            rows.append(_add(reader, sample, making, check=how.check))
            hooks.step(rows[-1].size)
        except samples.BadSampleError as error:
            bad.append(Bad(sample, reader.source.name(sample), str(error)))
            hooks.step(0)
    whole = making.buffer.finish()
    wanted = bool(rows) and hooks.wanted(bool(bad))
    if wanted:
        target.write(path, whole)
    return _written(path, whole, rows, bad, making.seek.finish(seek_writer.beside(path), write=wanted), making.tally)


def _add(reader: Reader, sample: int, making: _Making, *, check: bool) -> _Row:
    """Read, rewrite, check and append one sample. Raises BadSampleError."""
    image = transcoding.rewrite(reader.read(sample), on=making.tally.on)
    data = image.data
    facts = samples.examine(data, check=check)
    label = int(reader.source.labels[sample])
    offset = making.buffer.add(reader.keys[sample], samples.extension(facts.format), label, data)
    making.seek.add(data)
    making.tally.add(image)
    return _Row(sample, offset, len(data), facts.height, facts.width, _native.xxh3(data), facts.format)


def _written(
    path: str, whole: memoryview, rows: list[_Row], bad: list[Bad], sidecar: seek_writer.Sidecar, tally: transcoding.Tally
) -> Written:
    def column(name: str) -> Longs:
        return np.array([getattr(row, name) for row in rows], np.int64)

    return Written(
        path, len(whole), _native.xxh3(whole),
        column("sample"), column("offset"), column("size"), column("height"), column("width"),
        np.array([row.checksum for row in rows], np.uint64), tuple(row.format for row in rows), tuple(bad), sidecar, tally,
    )  # fmt: skip
