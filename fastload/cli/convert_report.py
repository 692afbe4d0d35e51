"""What fastload convert says: the forecast, and what it wrote."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from fastload.cli.convert_on import emit_workers, workers_json
from fastload.cli.output import emit, log, table
from fastload.errors import grouped
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.beton_writer import BetonSummary
    from fastload.conversion.forecast import Forecast
    from fastload.conversion.job import ConversionSummary
    from fastload.conversion.parts import Bad
    from fastload.conversion.parts_writer import Job
    from fastload.conversion.seek_writer import Totals
    from fastload.conversion.transcoding import Totals as Transcoding

SHOWN = 20  # bad samples on the terminal; all are in the file and in the JSON


def emit_plan(prepared: "Job", json_to: str | None) -> None:
    """What would be written, how much that is, and how long it takes."""
    from fastload.conversion.forecast import forecast
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    plan, reader, expected = prepared.plan, prepared.reader, forecast(prepared)
    result = {
        "samples": len(reader), "classes": len(reader.classes), "shards": plan.shards,
        "bytes_at_most": plan.bytes, "dry_run": True,
        "forecast": asdict(expected),
    }  # fmt: skip
    rows = [
        ("samples", f"{len(reader):,}"),
        ("classes", f"{len(reader.classes):,}"),
        ("shards", plan.shards),
        ("about", about(expected)),
        ("at most", human(plan.bytes)),
        *layer_rows(prepared.options.seek_step),
        *expected_rows(expected),
    ]
    emit(result, json_to, Text(readable(prepared.where)), table(("would be written", ""), rows))


def layer_rows(step: int | None) -> list[tuple[str, str]]:
    """What coefficient layers, if there are to be some, take and give (docs/layers.md)."""
    from fastload.conversion import seek_writer

    if step != seek_writer.COEFFICIENTS:
        return []
    what = "1.3 times the JPEGs' bytes, counted above; crops decode about 1.5 times as fast"
    return [("coefficient layers", f"{what} as by seek indexes")]


def about(expected: "Forecast") -> str:
    """Bytes, with their range where it is one."""
    from fastload.conversion.units import human

    low, high = human(expected.low), human(expected.high)
    return human(expected.bytes) + (f" ({low} to {high})" if low != high else "")


def expected_rows(expected: "Forecast") -> list[tuple[str, str]]:
    speed = f"{duration(expected.seconds)}, {expected.images_per_s:,.0f} images/s"
    return [
        ("time", f"{speed}, and what the disk takes to write"),
        ("looked at", f"{expected.looked_at:,} samples, {expected.bad:,} of them bad"),
    ]


def duration(seconds: float) -> str:
    """ "41 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def emit_summary(
    target: str,
    summary: "ConversionSummary",
    seconds: float,
    json_to: str | None,
    to: str = "shards",
    more: Json | None = None,
    index: str = "seek index",
) -> None:
    """more: goes into the JSON too; index: what it is called."""
    from fastload.conversion.readers import readable
    from fastload.sources.shard_index import BAD

    if summary.whole:
        emit_whole(target, summary, json_to)
        return
    rows = summary_rows(summary, seconds, to, index)
    result = {**summary_json(target, summary, seconds), **(more or {})}
    emit(result, json_to, Text(readable(target)), table(("converted", ""), rows))
    if to == "shards":
        log_reasons(summary.seek, index)
    log_transcoding(summary.transcoding)
    for note in summary.notes:
        log.print(note, markup=False)
    log_bad(summary.bad, f"all are listed in {target}/{BAD}")
    if summary.spread:
        emit_workers(summary.spread, json_to)


def summary_json(target: str, summary: "ConversionSummary", seconds: float) -> dict[str, object]:
    from fastload.conversion.readers import readable

    bad = [
        {"sample": row.sample, "name": readable(row.name), "reason": row.reason}
        for row in summary.bad
    ]
    return {
        "path": target, "samples": summary.samples, "classes": summary.classes,
        "shards": summary.shards, "bytes": summary.bytes,
        "seconds": seconds, "images_per_s": summary.samples / seconds, "bad": bad,
        **seek_json(summary.seek, summary.bytes),
        "transcoding": asdict(summary.transcoding), "resumed": summary.resumed,
        "notes": summary.notes,
        **(workers_json(summary.spread) if summary.spread else {}),
    }  # fmt: skip


def summary_rows(
    summary: "ConversionSummary", seconds: float, to: str, index: str = "seek index"
) -> list[tuple[str, str]]:
    from fastload.conversion.units import human

    files = "shards" if to == "shards" else "files"
    rows = [
        ("samples", f"{summary.samples:,}"),
        ("classes", f"{summary.classes:,}"),
        (files, f"{summary.shards:,}"),
        ("size", human(summary.bytes)),
    ]
    if to == "shards":
        rows.append((index, seek_text(summary.seek, summary.bytes)))
    rows.append(("left out", f"{sum(not row.mended for row in summary.bad):,}"))
    if summary.resumed:
        rows.append(("resumed", f"{summary.resumed:,} samples were there already"))
    if summary.transcoding.on:
        rows.append(("transcoded", transcoding_text(summary.transcoding)))
    rate = summary.samples / seconds
    return [*rows, ("time", f"{seconds:.1f} s, {rate:,.0f} images/s")]


def log_bad(bad: "Sequence[Bad]", all_are: str) -> None:
    """all_are: where all of them are listed."""
    from fastload.conversion.readers import readable

    for mended, done in ((False, "left out"), (True, "substituted")):
        lines = grouped((row.name, row.reason) for row in bad if row.mended is mended)
        for line in lines[:SHOWN]:
            log.print(f"{done}: {readable(line)}", markup=False)
        if len(lines) > SHOWN:
            log.print(f"{done}: {len(lines) - SHOWN} lines more; {all_are}", markup=False)


def emit_whole(
    target: str, summary: "ConversionSummary | BetonSummary", json_to: str | None
) -> None:
    """Of a target that --resume finds finished."""
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    result = {
        "path": target,
        "samples": summary.samples,
        "classes": summary.classes,
        "bytes": summary.bytes,
        "already_whole": True,
    }
    text = (
        f"already whole: {summary.samples:,} samples, {human(summary.bytes)}; nothing was written"
    )
    emit(result, json_to, Text(f"{readable(target)}: {text}"))


def seek_json(totals: "Totals", size: int) -> dict[str, object]:
    """size: bytes of the data."""
    return {
        "indexed": totals.indexed, "seek_bytes": totals.bytes,
        "seek_share": totals.bytes / max(size, 1), "not_indexed": totals.reasons,
    }  # fmt: skip


def seek_text(totals: "Totals", size: int) -> str:
    from fastload.conversion.units import human

    return (
        f"{totals.indexed:,} images, {human(totals.bytes)} ({totals.bytes / max(size, 1):.2%} of "
        "the data)"
        if totals.bytes
        else "none"
    )


def log_reasons(totals: "Totals", name: str = "seek index") -> None:
    """Why samples have none: one line per reason. They load all the same."""
    for reason, count in totals.reasons.items():
        log.print(f"no {name}: {count:,} images: {reason}", markup=False)


def transcoding_text(totals: "Transcoding") -> str:
    from fastload.conversion.units import human

    if not totals.images:
        return "none"
    codings = ", ".join(f"{count:,} {coding}" for coding, count in totals.images.items())
    change = totals.after - totals.before
    return (
        f"{codings}; {human(abs(change))} {'larger' if change > 0 else 'saved'} "
        f"({change / totals.before:+.1%})"
    )


def log_transcoding(totals: "Transcoding") -> None:
    """What was not rewritten: why, or, without the option, how many images would gain."""
    for reason, count in totals.left.items():
        log.print(f"not transcoded: {count:,} images: {reason}", markup=False)
    if not totals.on:
        for coding, count in totals.slow.items():
            log.print(
                f"{count:,} {coding} images decode slowly; --transcode rewrites them losslessly",
                markup=False,
            )
