"""fastload convert: a folder of classes, or shards, into new shards."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fastload.cli import beton
from fastload.cli.output import JsonTo, emit, log, meter, table
from fastload.errors import UsageError

if TYPE_CHECKING:
    from fastload.conversion.job import Job, Options, Summary
    from fastload.conversion.seek_writer import Totals
    from fastload.conversion.transcoding import Totals as Transcoding

SeekStep = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="MCUs per entry of the seek index; 0: rows only.")]
TRANSCODE = "Rewrite progressive, arithmetic, multi-scan and restart-marked JPEGs losslessly as baseline, so that they load fast."
SHOWN = 20  # bad samples on the terminal; all are in the file and in the JSON


def register(app: typer.Typer) -> None:
    app.command("convert")(convert)


def convert(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of classes (ROOT/CLASS/IMAGE), shards, or an FFCV file.")],
    target: Annotated[str, typer.Argument(metavar="DST", help="New or empty folder for the shards, or NAME.beton.")],
    workers: Annotated[int | None, typer.Option(min=1, help="Threads; default: one per processor.")] = None,
    shard_size: Annotated[str, typer.Option(metavar="BYTES", help="Largest shard, like 256M or 1G.")] = "256M",
    shuffle: Annotated[int | None, typer.Option(metavar="SEED", help="Shuffle the samples once; good for sequential readers.")] = None,
    on_error: Annotated[str, typer.Option(metavar="raise|skip", help="Bad images: fail and list them, or leave them out.")] = "raise",
    check: Annotated[bool, typer.Option("--check/--no-check", help="Decode every image.")] = True,
    seek_step: SeekStep = 8,
    no_seek: Annotated[bool, typer.Option("--no-seek", help="Build no seek index: smaller, but crops decode more.")] = False,
    transcode: Annotated[bool, typer.Option("--transcode", help=TRANSCODE)] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the data set in DST.")] = False,
    mode: Annotated[str, typer.Option(metavar="keep|raw", help="For DST.beton: keep JPEGs' bytes, or store all as pixels.")] = "keep",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")] = False,
    json_to: JsonTo = None,
) -> None:
    """Convert a data set to WebDataset tar shards with an index, or to one file for FFCV if DST ends with .beton.

    Image bytes are kept as they are, unless --transcode is given.
    """
    if target.lower().endswith(".beton"):
        beton.refuse(**{"--shard-size": shard_size != "256M", "--shuffle": shuffle is not None, "--transcode": transcode})
        how: dict[str, Any] = {"workers": workers, "on_error": on_error, "check": check, "overwrite": overwrite}
        beton.convert(source, target, mode=mode, dry_run=dry_run, json_to=json_to, **how)
        return
    from fastload.conversion import job  # here, so that `fastload --help` loads no torch

    options = _options(
        workers=workers, shard_bytes=shard_size, shuffle=shuffle, on_error=on_error, check=check, overwrite=overwrite,
        seek_step=None if no_seek else seek_step, transcode=transcode,
    )  # fmt: skip
    prepared = job.prepare(source, target, options)
    if dry_run:
        _emit_plan(prepared, json_to)
        return
    begin = time.perf_counter()
    with meter("convert", len(prepared.reader)) as advance:
        summary = job.run(prepared, advance)
    _emit_summary(target, summary, time.perf_counter() - begin, json_to)


def _options(*, shard_bytes: str, **rest: Any) -> "Options":
    """The options as the job takes them; what makes no sense is a usage error (exit 2)."""
    from fastload.conversion import job, units

    try:
        return job.Options(shard_bytes=units.parse_size(shard_bytes), **rest)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error


def _emit_plan(prepared: "Job", json_to: str | None) -> None:
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    plan, source = prepared.plan, prepared.reader.source
    result = {"samples": len(source), "classes": len(source.classes), "shards": plan.shards, "bytes_at_most": plan.bytes, "dry_run": True}
    rows = [
        ("samples", f"{len(source):,}"),
        ("classes", f"{len(source.classes):,}"),
        ("shards", plan.shards),
        ("at most", human(plan.bytes)),
    ]
    emit(result, json_to, Text(readable(prepared.where)), table(("would be written", ""), rows))


def _emit_summary(target: str, summary: "Summary", seconds: float, json_to: str | None) -> None:
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human
    from fastload.sources.shards import BAD

    bad = [{"sample": row.sample, "name": readable(row.name), "reason": row.reason} for row in summary.bad]
    result: dict[str, Any] = {
        "path": target, "samples": summary.samples, "classes": summary.classes, "shards": summary.shards, "bytes": summary.bytes,
        "seconds": seconds, "images_per_s": summary.samples / seconds, "bad": bad, **seek_json(summary.seek, summary.bytes),
        "transcoding": asdict(summary.transcoding),
    }  # fmt: skip
    rows = [
        ("samples", f"{summary.samples:,}"), ("classes", f"{summary.classes:,}"), ("shards", f"{summary.shards:,}"),
        ("size", human(summary.bytes)), ("seek index", seek_text(summary.seek, summary.bytes)), ("left out", f"{len(bad):,}"),
        *[("transcoded", transcoding_text(summary.transcoding))] * summary.transcoding.on,
        ("time", f"{seconds:.1f} s, {summary.samples / seconds:,.0f} images/s"),
    ]  # fmt: skip
    emit(result, json_to, Text(readable(target)), table(("converted", ""), rows))
    log_reasons(summary.seek)
    log_transcoding(summary.transcoding)
    for row in bad[:SHOWN]:
        log.print(f"left out: {row['name']}: {row['reason']}", markup=False)
    if len(bad) > SHOWN:
        log.print(f"left out: {len(bad) - SHOWN} more; all are listed in {target}/{BAD}", markup=False)


def seek_json(totals: "Totals", size: int) -> dict[str, Any]:
    """size: bytes of the data."""
    return {
        "indexed": totals.indexed, "seek_bytes": totals.bytes, "seek_share": totals.bytes / max(size, 1), "not_indexed": totals.reasons,
    }  # fmt: skip


def seek_text(totals: "Totals", size: int) -> str:
    from fastload.conversion.units import human

    return f"{totals.indexed:,} images, {human(totals.bytes)} ({totals.bytes / max(size, 1):.2%} of the data)" if totals.bytes else "none"


def log_reasons(totals: "Totals") -> None:
    """Why samples have no seek index: one line per reason. They load all the same."""
    for reason, count in totals.reasons.items():
        log.print(f"no seek index: {count:,} images: {reason}", markup=False)


def transcoding_text(totals: "Transcoding") -> str:
    from fastload.conversion.units import human

    if not totals.images:
        return "none"
    codings = ", ".join(f"{count:,} {coding}" for coding, count in totals.images.items())
    change = totals.after - totals.before
    return f"{codings}; {human(abs(change))} {'larger' if change > 0 else 'saved'} ({change / totals.before:+.1%})"


def log_transcoding(totals: "Transcoding") -> None:
    """What was not rewritten: why, or, without the option, how many images would gain."""
    for reason, count in totals.left.items():
        log.print(f"not transcoded: {count:,} images: {reason}", markup=False)
    if not totals.on:
        for coding, count in totals.slow.items():
            log.print(f"{count:,} {coding} images decode slowly; --transcode rewrites them losslessly", markup=False)
