"""What failed is tried again, and what comes now is added to the data set as new shards.

The new shards are made as a data set of their own in a hidden folder beside it, which can be
resumed; then they are linked into the data set, whose index is replaced by one rename. Nothing
that was written is written again, and a loader that has the old index open goes on.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastload.conversion import job, seek_writer, subsets, target, workers
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.options import Options
from fastload.conversion.parts import Bad, NothingLeftError, bad_lines
from fastload.conversion.readers import table_files
from fastload.conversion.versions import job as versions
from fastload.conversion.versions import left_out
from fastload.conversion.web import failures, table
from fastload.conversion.web import job as web_job
from fastload.conversion.web.options import Columns, Fetch
from fastload.conversion.workers import Advance
from fastload.errors import SourceError
from fastload.files.below import opened
from fastload.files.names import Inner
from fastload.sources.arrow import PARSE_ERRORS, import_arrow
from fastload.sources.shard_index import BAD
from fastload.sources.shards import TEMPORARY
from fastload.sources.staging import local_only
from fastload.spec import Longs


@dataclass(frozen=True)
class RetrySummary:
    """What came of the rows that were tried again."""

    tried: int
    added: int  # samples
    samples: int  # of the whole data set now
    shards: int
    failed: dict[str, int]  # rows by reason, most frequent first
    table: str  # path of the table of what still fails; empty: nothing does


@dataclass(frozen=True)
class Again:
    """Rows to be tried again. tries: made before, of each."""

    rows: Longs
    tries: dict[int, int]


def run(
    source: str,
    where: str,
    options: Options,
    fetched: tuple[Columns, Fetch],
    failed: str | None = None,
    advance: Advance = workers.ignore,
    committing: Committing = delayed,
) -> RetrySummary:
    """Try the rows of the table `failed` again (None: the one beside the data set `where`).

    source: the table of URLs that the data set was made from. Raises SourceError, ConversionError,
    UsageError.
    """
    web_job.need_aiohttp(source)
    where, path = local_only(where).rstrip("/"), failed or web_job.default_table(where)
    index, whole = subsets.open_index(where), table.load(source, fetched[0])
    again = listed(path, whole)
    have = {key for batch in index.batches for key in batch.column("key").to_pylist()}
    keys = keys_of(whole)
    kept = [row for row in again.rows.tolist() if keys[row] not in have]
    if not kept:
        web_job.write_table(path, (), ())
        return RetrySummary(0, 0, len(index), len(index.shards), {}, "")
    stage = hidden(where)
    step = seek_writer.STEP if options.seek_step is None else options.seek_step
    options = replace(options, seek_step=step if index.sidecars else None, overwrite=True)
    rows = np.array(kept, np.int64)
    prepared = web_job.of_rows(whole, stage, options, *fetched, rows)
    bad, added = _made(prepared, advance)
    bad = [row._replace(sample=int(rows[row.sample])) for row in bad]
    if added:
        with committing():
            index = versions.add(where, stage)
    _tell(where, path, bad, again, keys)
    versions.remove(stage)
    counted = failures.counts(bad)
    shards = len(index.shards)
    return RetrySummary(len(rows), added, len(index), shards, counted, path if bad else "")


def _made(prepared: job.Job, advance: Advance) -> tuple[Sequence[Bad], int]:
    """The hidden data set: what failed, and how many samples it has."""
    with web_job.closing(prepared):
        try:
            done = job.run(prepared, advance)
        except NothingLeftError as error:
            return error.bad, 0
    return (left_out.read(prepared.where) if done.whole else done.bad), done.samples


def keys_of(whole: table.Table) -> Sequence[str]:
    """Of all its rows."""
    from fastload.conversion.web.reader import of_table  # needs aiohttp

    rows = np.arange(whole.count, dtype=np.int64)
    return of_table(whole, Columns(), Fetch(), rows).keys


def hidden(where: str) -> str:
    """The folder beside the data set where the new shards are made."""
    parent, name = os.path.split(os.path.abspath(where))
    return os.path.join(parent, f".fastload-{name}.again")


def listed(path: str, whole: table.Table) -> Again:
    """The rows that a table of failures names. Raises SourceError where it is not of this table."""
    import_arrow(path, SourceError, "a table needs")
    try:
        file = table_files.opened(path)
        keys, urls, tries = (
            [value for group in range(len(file.rows)) for value in file.values(group, name)]
            for name in ("key", "url", "tries")
        )
        rows = sorted({int(key): (url, int(count)) for key, url, count in
                       zip(keys, urls, tries, strict=True)}.items())  # fmt: skip
    except PARSE_ERRORS as error:
        raise SourceError(
            f"{path}: is no table of what failed ({' '.join(str(error).split())}); give the one "
            "that the conversion wrote"
        ) from error
    numbers = [row for row, _ in rows]
    inside = all(0 <= row < whole.count for row in numbers)
    known = whole.rows(numbers) if inside else []
    if not inside or any(one.url != said[0] for one, (_, said) in zip(known, rows, strict=True)):
        raise SourceError(
            f"{path}: lists rows that {whole.where} does not have; give the table of URLs that the "
            "data set was made from"
        )
    return Again(np.array(numbers, np.int64), {row: count for row, (_, count) in rows})


def _tell(where: str, path: str, bad: Sequence[Bad], again: Again, keys: Sequence[str]) -> None:
    """What still fails, in the table and in the data set, with all tries. keys: of all rows."""
    told = []
    for row in bad:
        failure = failures.parsed(row.reason)
        tries = failure.tries + again.tries.get(row.sample, 0)
        told.append(row._replace(reason=str(failure._replace(tries=tries))))
    web_job.write_table(path, told, keys)
    with target.translated(where, 0), opened(where) as folder:
        if told:
            folder.replace(Inner(BAD), bad_lines(told), prefix=TEMPORARY)
        elif folder.has(Inner(BAD)):
            folder.remove(Inner(BAD))
