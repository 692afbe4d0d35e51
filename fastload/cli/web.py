"""fastload convert TABLE DST, where TABLE has URLs."""

import time
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from fastload.cli import convert_web_options
from fastload.cli.convert_report import (
    emit_whole,
    log_reasons,
    log_transcoding,
    summary_json,
    summary_rows,
)
from fastload.cli.layers import name_of
from fastload.cli.output import emit, interruptible, log, meter, table
from fastload.errors import UsageError
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.options import Options
    from fastload.conversion.parts_writer import Job
    from fastload.conversion.readers import Choice
    from fastload.conversion.web.job import WebSummary
    from fastload.conversion.web.options import Columns, Fetch

NOT_OF_URLS = ("split", "labels", "root", "masks", "scratch", "on")  # options of other sources


def wanted(source: str, arguments: Json) -> bool:
    """Whether SRC is a table of URLs. Raises UsageError for their options where it is none."""
    from fastload.conversion.web.table import looks_like_one  # loads torch, which --help does not

    web = arguments["web"]
    if web["url_column"] is not None or web["retry_failed"]:
        return True
    if arguments["read_as"] is None and looks_like_one(source):
        return True
    if names := convert_web_options.given(web):
        raise UsageError(
            f"convert: {', '.join(names)} {'is' if len(names) == 1 else 'are'} for tables of URLs "
            f"(got {source}); name its column by --url-column, or leave it out"
        )
    return False


def convert(
    source: str, target: str, options: "Options", choice: "Choice", arguments: Json
) -> None:
    """Fetch and write. arguments: the command's, by name."""
    from fastload.conversion.interrupts import absorbed
    from fastload.conversion.web import job
    from fastload.remote.urls import public

    _refuse(options.to, arguments)
    web, json_to = arguments["web"], arguments["json_to"]
    columns, how = fetched(web)
    if web["retry_failed"]:
        _retry(source, target, options, (columns, how), arguments)
        return
    prepared = job.prepare(source, target, options, columns, how, choice)
    if arguments["dry_run"]:
        _emit_plan(prepared, how, json_to)
        return
    begin = time.perf_counter()
    with interruptible(), meter("fetch", len(prepared.reader)) as advance:
        summary = job.run(prepared, web["failed"], advance, absorbed)
    rows = len(prepared.reader)
    _emit(public(target), summary, rows, time.perf_counter() - begin, json_to, options)


def _refuse(to: str, arguments: Json) -> None:
    """Raises UsageError for options that tables of URLs do not take."""
    names = [name for name in NOT_OF_URLS if arguments[name] is not None]
    names += ["shard_size"] * (arguments["shard_size"] != "256M")
    if to == "beton":
        raise UsageError("convert: URLs go into shards, not into a .beton file; convert them after")
    if names:
        shown = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise UsageError(
            f"convert: a table of URLs takes no {shown}; leave it out (its shards are cut by "
            "--rows-per-shard)"
        )


def fetched(web: Json) -> "tuple[Columns, Fetch]":
    """What the command says of columns and of fetching."""
    from fastload.conversion.units import parse_size
    from fastload.conversion.web.options import AGENT, OPT_OUTS, Columns, Fetch

    names = (
        "connections", "host_connections", "host_rate", "timeout", "retries", "redirects",
        "min_side", "max_area", "max_aspect", "robots_txt",
    )  # fmt: skip
    said = ",".join(OPT_OUTS) if web["opt_out"] is None else web["opt_out"]
    words = [word.strip().lower() for word in said.split(",")]
    try:
        columns = Columns(
            web["url_column"], web["caption_column"], web["checksum_column"],
            tuple(web["field"] or ()),
        )  # fmt: skip
        how = Fetch(
            **{name: web[name] for name in names},
            max_bytes=parse_size(web["max_bytes"]), rows=web["rows_per_shard"],
            opt_outs=() if words == ["none"] else tuple(word for word in words if word),
            agent=web["user_agent"] or AGENT, private=web["allow_private"],
        )  # fmt: skip
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error
    return columns, how


def _emit_plan(prepared: "Job", how: "Fetch", json_to: str | None) -> None:
    from fastload.conversion.readers import readable

    rows, shards = len(prepared.reader), prepared.plan.shards
    result = {"rows": rows, "shards": shards, "rows_per_shard": how.rows, "dry_run": True}
    shown = [("rows", f"{rows:,}"), ("shards", shards), ("rows of each", f"{how.rows:,}")]
    note = "what the files weigh nobody knows before they are fetched"
    emit(
        result, json_to, Text(readable(prepared.where)), table(("would be fetched", ""), shown),
        Text(note),
    )  # fmt: skip


def _emit(
    target: str,
    summary: "WebSummary",
    rows: int,
    seconds: float,
    json_to: str | None,
    options: "Options",
) -> None:
    from fastload.conversion.readers import readable

    to, name, done = options.to, name_of(options.seek_step), summary.conversion
    if done.whole:
        emit_whole(target, done, json_to)
        return
    result = summary_json(target, done, seconds)
    del result["bad"]  # the table has them; there may be millions
    result |= {"rows": rows, "failed": summary.failed, "failed_table": summary.table}
    shown = [("rows", f"{rows:,}"), *summary_rows(done, seconds, to, name)]
    shown = [row for row in shown if row[0] not in ("classes", "left out")]
    emit(
        result, json_to, Text(readable(target)), table(("fetched", ""), shown),
        *_reasons(summary.failed),
    )  # fmt: skip
    if to == "shards":
        log_reasons(done.seek, name)
    log_transcoding(done.transcoding)
    _log_table(summary.table)


def _reasons(failed: dict[str, int]) -> list[object]:
    """A table of what failed, or nothing."""
    if not failed:
        return []
    total = ("failed", f"{sum(failed.values()):,}")
    return [table(total, [(name, f"{count:,}") for name, count in failed.items()])]


def _log_table(path: str) -> None:
    if path:
        log.print(f"each failed URL is listed in {path}; --retry-failed tries them again",
                  markup=False)  # fmt: skip


def _retry(
    source: str,
    target: str,
    options: "Options",
    fetch: "tuple[Columns, Fetch]",
    arguments: Json,
) -> None:
    from dataclasses import asdict

    from fastload.conversion.interrupts import absorbed
    from fastload.conversion.readers import readable
    from fastload.conversion.web import retrying

    with interruptible(), meter("fetch", None) as advance:
        done = retrying.run(
            source, target, options, fetch, arguments["web"]["failed"], advance, absorbed
        )
    shown = [
        ("tried again", f"{done.tried:,}"),
        ("added", f"{done.added:,}"),
        ("samples", f"{done.samples:,}"),
        ("shards", f"{done.shards:,}"),
    ]
    emit(
        {"path": target, **asdict(done)}, arguments["json_to"], Text(readable(target)),
        table(("retried", ""), shown), *_reasons(done.failed),
    )  # fmt: skip
    _log_table(done.table)
