"""The rows of an index of converted shards, some at a time: an index of a thousand million samples
does not fit into memory.

What is read of the file is compared with the checksums of its blocks, block by block.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.files.opening import no_wait
from fastload.sources import arrow, arrow_blocks, sums
from fastload.sources.checked_file import Checked
from fastload.sources.shard_index import INDEX, METADATA, REMEDY, Index, Said, said_by
from fastload.sources.span_index import Stamp
from fastload.spec import Array
from fastload.system import limits

BATCHES = 16  # record batches in a group: 65,536 rows


@dataclass(frozen=True)
class Groups:
    """An index that is gone over once.

    Args:
        where: The folder.
        checksum: XXH3-64 of the index.
        text: Its metadata, JSON, and what they say.
        stamp: The file as it was opened.
        batches: Lists of record batches, in their order; they may raise what `streamed` does.
    """

    where: str
    checksum: int
    text: bytes
    said: Said
    stamp: Stamp
    batches: Iterator[list[Any]]


def streamed(where: str, name: str = INDEX, begin: int = 0, end: int | None = None) -> Groups:
    """The index in a folder, which is read as the groups are asked for.

    name: of its file; begin, end: which of its record batches. Raises SourceError; and others, of
    arrow.PARSE_ERRORS and Arrow's own, where it cannot be read like that: whoever reads it whole
    tells why, or reads it.
    """
    path, pa = os.path.join(where, name), arrow.import_arrow(where)
    with open(path + arrow.SUFFIX, "rb", opener=no_wait) as file:
        said = sums.parse(file.read(sums.MOST))
    if said is None or not said.blocks:
        raise ValueError("its blocks have no checksums")
    with open(path, "rb", opener=no_wait) as file:
        facts = os.fstat(file.fileno())
        if problem := limits.hollow(file.fileno(), 0, facts.st_size):
            raise ValueError(problem)
        checked = Checked(os.dup(file.fileno()), said.blocks)
    arrow_blocks.check(checked, compressed=False)
    reader = pa.ipc.open_file(pa.PythonFile(checked, mode="r"))
    found = said_by(pa, path, reader.schema)
    if reader.num_record_batches != -(-found.rows // arrow.BATCH):
        raise ValueError("other record batches")
    text = reader.schema.metadata[METADATA]
    batches = _groups(path, reader, found.rows, range(reader.num_record_batches)[begin:end])
    return Groups(where, said.whole[0], text, found, Stamp.of(facts), batches)


def _groups(path: str, reader: Any, rows: int, wanted: range) -> Iterator[list[Any]]:
    for first in range(0, len(wanted), BATCHES):
        yield [
            arrow.whole_batch(path, reader, number, rows, REMEDY)
            for number in wanted[first : first + BATCHES]
        ]


def of_index(index: Index, stamp: Stamp, begin: int = 0, end: int | None = None) -> Groups:
    """One that is in memory. begin, end: which of its record batches."""
    every, text = index.batches[begin:end], index.batches[0].schema.metadata[METADATA]
    said = Said(len(index), index.classes, index.shards, index.sidecars, index.transcoded)
    groups = (list(every[at : at + BATCHES]) for at in range(0, len(every), BATCHES))
    return Groups(index.where, index.checksum, text, said, stamp, groups)


def numbers(batches: list[Any], name: str) -> Array:
    """A column of numbers: array [K]."""
    return np.concatenate([batch.column(name).to_numpy() for batch in batches])


def keys(batches: list[Any]) -> bytes:
    """A line for each; what no conversion writes into one does not begin another."""
    pa = arrow.import_arrow(INDEX)
    import pyarrow.compute as pc

    lines = list[bytes]()
    for batch in batches:
        one = pc.replace_substring(batch.column("key"), "\n", "_")
        every = pc.binary_join(pa.ListArray.from_arrays([0, len(one)], one), "\n")
        lines.append(bytes(every[0].as_buffer()))
    return b"\n".join(lines)
