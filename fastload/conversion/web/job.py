"""A conversion of a table of URLs: planned by rows, run as any other; what failed as a table."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np

from fastload import rng
from fastload.conversion import job, plan, seek_writer, store_writer, workers, writers
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.options import Options
from fastload.conversion.parts import Bad, NothingLeftError
from fastload.conversion.readers.base import ANYTHING, Choice
from fastload.conversion.readers.select import DRAW, count_of
from fastload.conversion.versions import left_out
from fastload.conversion.web import failures, table
from fastload.conversion.web.options import Columns, Fetch
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError, UsageError
from fastload.files.below import replace_file
from fastload.remote import urls
from fastload.sources.arrow import import_arrow
from fastload.sources.shard_index import BAD
from fastload.spec import Longs


@dataclass(frozen=True)
class WebSummary:
    """What came of the rows."""

    conversion: job.ConversionSummary
    failed: dict[str, int]  # rows by reason, most frequent first
    table: str  # path of the table of what failed; empty: nothing has


def need_aiohttp(where: str) -> None:
    """Raises ConversionError."""
    if find_spec("aiohttp") is None:
        raise ConversionError(
            f"{where}: a table of URLs needs aiohttp (not installed); pip install "
            "'fastload-torch[urls]'"
        )


def prepare(
    source: str,
    where: str,
    options: Options,
    columns: Columns | None = None,
    how: Fetch | None = None,
    choice: Choice = ANYTHING,
) -> job.Job:
    """Read the table and plan the parts; fetches and writes nothing.

    Of `choice`, subset and seed are used. Raises SourceError, ConversionError, UsageError.
    """
    columns, how = columns or Columns(), how or Fetch()
    need_aiohttp(source)
    job.refuse_nesting(source, where)
    whole = table.load(source, columns)
    rows = np.arange(whole.count, dtype=np.int64)
    if choice.subset:
        count = count_of(choice.subset, whole.count)
        rows = np.sort(rng.permute(rows, whole.count, choice.seed, DRAW)[:count])
    return of_rows(whole, where, options, columns, how, rows)


def of_rows(
    whole: table.Table, where: str, options: Options, columns: Columns, how: Fetch, rows: Longs
) -> job.Job:
    """The same for rows of a table that was read. rows: int64 [N], going up."""
    from fastload.conversion.web import reader as web_reader  # needs aiohttp

    where = urls.local(where)
    url, shown = store_writer.store_url(where, options), urls.public(where)
    import_arrow(shown, ConversionError)
    if options.shuffle is not None:
        raise UsageError("shuffle: the rows of a table of URLs keep their order; leave it out")
    if options.on_error == "substitute":
        raise UsageError("on_error: nothing stands in for a URL; leave 'substitute' out")
    options = replace(options, on_error="skip")
    reader = web_reader.of_table(whole, columns, how, rows)
    writer: writers.Writer
    if url is None:
        writer = writers.open_writer(where, reader, options)
    else:
        writer = store_writer.open_writer(url, reader, options)
    return job.Job(shown, reader, planned(len(rows), how.rows, writer.seek_step), options, writer)


def planned(count: int, each: int, step: int | None) -> plan.Plan:
    """Part number i has the samples from i * each on. What they weigh nobody knows before they are
    there, so all bytes are guesses.
    """
    from fastload.conversion.web.reader import DIGITS, EXPECTED

    cuts = np.append(np.arange(0, count, each, dtype=np.int64), count)
    index = plan.INDEX_BASE + (plan.INDEX_ROW + DIGITS) * count
    sizes = np.full(count, EXPECTED, np.int64)
    return plan.Plan(
        np.arange(count, dtype=np.int64), cuts, np.diff(cuts) * EXPECTED, index,
        seek_writer.expected(sizes, step),
    )  # fmt: skip


def run(
    prepared: job.Job,
    failed: str | None = None,
    advance: Advance = workers.ignore,
    committing: Committing = delayed,
) -> WebSummary:
    """Fetch and convert.

    failed: the path of the table of what failed; None: beside the target. Raises ConversionError
    as job.run does, also where nothing came; the table is written then too.
    """
    path = failed or default_table(prepared.where)
    with closing(prepared):
        try:
            summary = job.run(prepared, advance, committing)
        except NothingLeftError as error:
            write_table(path, error.bad, prepared.reader.keys)
            raise
    bad: Sequence[Bad] = summary.bad
    if summary.whole and not os.path.exists(path):  # an earlier run was killed before it wrote it
        bad = left_out.read(prepared.where)
    elif summary.whole:
        return WebSummary(summary, {}, path)
    write_table(path, bad, prepared.reader.keys)
    return WebSummary(summary, failures.counts(bad), path if bad else "")


@contextlib.contextmanager
def closing(prepared: job.Job) -> Iterator[None]:
    """The connections end with this."""
    from fastload.conversion.web.reader import WebReader

    try:
        yield
    finally:
        assert isinstance(prepared.reader, WebReader)
        prepared.reader.crew.close()


def default_table(where: str) -> str:
    """Beside the target; of a target in a store, in the current folder."""
    name = os.path.basename(where.rstrip("/")) or "data"
    return f"{name}{failures.SUFFIX}" if urls.is_url(where) else where.rstrip("/") + failures.SUFFIX


def write_table(path: str, bad: Sequence[Bad], keys: Sequence[str]) -> None:
    """The table of what failed in its place; none where nothing has. Raises ConversionError."""
    try:
        if bad:
            replace_file(os.path.abspath(path), failures.table(path, bad, keys))
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    except OSError as error:
        raise ConversionError(
            f"{path}: the table of what failed cannot be written ({error.strerror}); the data set "
            f"is whole, and its {BAD} lists the same"
        ) from error
