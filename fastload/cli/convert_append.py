"""fastload convert --append and --delete."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fastload.cli import convert_on, web
from fastload.cli.convert_report import emit_plan, log_bad, log_reasons
from fastload.cli.output import AS_IT_WAS, emit, interruptible, log, meter, table
from fastload.errors import UsageError, misused
from fastload.files import formats
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.options import Options
    from fastload.conversion.parts_writer import Job
    from fastload.conversion.readers import Choice
    from fastload.conversion.versions.job import AppendSummary
    from fastload.conversion.workers import Advance


def wanted(arguments: Json) -> bool:
    """Whether a data set that is there is to be changed."""
    return bool(arguments["append"] or arguments["delete"])


def delete(where: str, arguments: Json) -> None:
    """Take samples out. arguments: the command's, by name."""
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion.interrupts import absorbed
    from fastload.conversion.options import Options
    from fastload.conversion.versions import job
    from fastload.remote.urls import public

    if arguments["target"] is not None or arguments["dry_run"]:
        what = "--dry-run" if arguments["dry_run"] else f"{where} and {arguments['target']}"
        raise misused(
            f"convert: --delete without --append takes one data set alone (got {what}); write "
            "fastload convert DATA --delete KEY|FILE, or add --append"
        )
    begin = time.perf_counter()
    options = Options(resume=arguments["resume"], scratch=arguments["scratch"])
    with interruptible(AS_IT_WAS):
        done = job.delete(where, job.keys_in(arguments["delete"]), absorbed, options)
    _emit(public(where), done, time.perf_counter() - begin, arguments["json_to"])


def append(source: str, target: str, options: "Options", choice: "Choice", arguments: Json) -> None:
    """Add what the target lacks. arguments: the command's, by name."""
    from fastload.conversion.interrupts import absorbed
    from fastload.conversion.versions import job
    from fastload.remote.urls import public

    if web.wanted(source, arguments):
        raise UsageError(
            f"convert: --append takes images (got a table of URLs: {source}); convert it to a data "
            "set of its own, and mix the two by fastload.mix"
        )
    keys = job.keys_in(arguments["delete"] or ())
    if arguments["dry_run"]:
        looked = job.look(source, target, options, choice, keys)
        if looked.prepared is not None:
            emit_plan(looked.prepared, arguments["json_to"])
            return
        emit({"path": public(target), "samples": 0, "dry_run": True}, arguments["json_to"],
             Text(f"{public(target)}: has all samples of {public(source)}"))  # fmt: skip
        return
    on, tasks = convert_on.engine(arguments["on"], arguments["workers"])
    if tasks is not None:
        raise misused("convert: --on slurm does not append; take --on processes or --on ray")
    begin = time.perf_counter()
    with interruptible():
        done = job.append(source, target, options, choice, keys, _metered, absorbed, on)
    _emit(public(target), done, time.perf_counter() - begin, arguments["json_to"])


@contextmanager
def _metered(prepared: "Job") -> "Iterator[Advance]":
    with meter("convert", len(prepared.reader), int(prepared.reader.sizes.sum())) as advance:
        yield advance


def _emit(target: str, done: "AppendSummary", seconds: float, json_to: str | None) -> None:
    from fastload.conversion.readers import readable
    from fastload.sources.shard_index import BAD

    numbers: Json = {
        name: getattr(done, name)
        for name in ("version", "added", "deleted", "there", "changed", "gone", "samples",
                     "classes", "shards")
    }  # fmt: skip
    bad = [{"name": readable(row.name), "reason": row.reason} for row in done.bad]
    emit(
        {"path": target, **numbers, "bad": bad, "seconds": seconds}, json_to,
        Text(readable(target)), table((f"version {done.version}", ""), _rows(done)),
    )  # fmt: skip
    if done.changed:
        log.print(
            f"of another size in the source, and stayed as they are: {done.changed:,}; --append "
            "with --delete KEYS replaces them",
            markup=False,
        )
    if done.conversion is not None:
        log_reasons(done.conversion.seek)
    log_bad(done.bad, f"all are listed in {target}/{BAD}")


def _rows(done: "AppendSummary") -> Sequence[tuple[str, Any]]:
    rows = [("added", done.added), ("deleted", done.deleted)]
    rows += [("there already", done.there)] * bool(done.there)
    rows += [("deleted before", done.gone)] * bool(done.gone)
    rows += [("left out", len(done.bad))] * bool(done.bad)
    rows += [("samples", done.samples), ("classes", done.classes), ("shards", done.shards)]
    return [(name, f"{count:,}") for name, count in rows]


def check_format(to: str | None) -> str:
    """The format that is added to. Raises UsageError for another one."""
    if to not in (None, formats.SHARDS):
        raise misused(
            f"convert: only {formats.SHARDS} are added to (got --to {to}); leave --to out"
        )
    return formats.SHARDS
