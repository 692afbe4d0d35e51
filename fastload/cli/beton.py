"""fastload convert SRC DST.beton: one file for FFCV."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from fastload.cli.convert_report import (
    about,
    emit_whole,
    expected_rows,
    log_bad,
    log_transcoding,
    transcoding_text,
)
from fastload.cli.output import emit, interruptible, meter, table
from fastload.errors import misused
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.beton_writer import BetonSummary
    from fastload.conversion.forecast import Forecast
    from fastload.conversion.readers import Choice, Reader

SHOWN = 20  # bad samples on the terminal; all are in the JSON


def refuse(**options: bool) -> None:
    """Raises UsageError for an option that only shards have."""
    if names := [name for name, there in options.items() if there]:
        raise misused(
            f"convert: {', '.join(names)} {'is' if len(names) == 1 else 'are'} for shards, not for "
            "a .beton file; leave out"
        )


def _of_shards(arguments: Json) -> dict[str, bool]:
    """Options that only shards have, and whether they are given."""
    return {
        "--shard-size": arguments["shard_size"] != "256M",
        "--layer": arguments["layer"] != "seek",
        "--no-seek": arguments["no_seek"],
        "--scratch": arguments["scratch"] is not None,
        "--on": arguments["on"] is not None,
    }


def convert(source: str, target: str, choice: "Choice", arguments: Json) -> None:
    """Write `target`. arguments: the command's, by name."""
    # Here, so that `fastload --help` loads no torch
    from fastload.conversion import beton_writer, job, readers
    from fastload.conversion.editing import Edits
    from fastload.conversion.interrupts import absorbed

    refuse(**_of_shards(arguments))
    edits = Edits(
        **{
            name: arguments[name]
            for name in ("max_side", "quality", "strip_metadata", "apply_exif")
        }
    )
    names = (
        "mode",
        "workers",
        "shuffle",
        "on_error",
        "check",
        "overwrite",
        "transcode",
        "extras",
        "resume",
    )
    options = beton_writer.Options(edits=edits, **{name: arguments[name] for name in names})
    job.refuse_nesting(source, target)
    reader = readers.open_reader(source, choice)
    if arguments["dry_run"]:
        emit_forecast(target, reader, beton_writer.forecast(reader, options), arguments["json_to"])
        return
    begin = time.perf_counter()
    with interruptible(), meter("convert", len(reader), int(reader.sizes.sum())) as advance:
        summary = beton_writer.run(reader, target, options, advance, absorbed)
    emit_summary(target, summary, time.perf_counter() - begin, arguments["json_to"])


def emit_forecast(target: str, reader: "Reader", expected: "Forecast", json_to: str | None) -> None:
    from fastload.conversion.readers import readable

    counts = {"samples": len(reader), "classes": len(reader.classes)}
    rows = [
        *((name, f"{count:,}") for name, count in counts.items()),
        ("format", "FFCV, one file"),
        ("about", about(expected)),
        *expected_rows(expected),
    ]
    result = {"path": target, **counts, "dry_run": True, "forecast": asdict(expected)}
    emit(result, json_to, Text(readable(target)), table(("would be written", ""), rows))


def emit_summary(target: str, summary: "BetonSummary", seconds: float, json_to: str | None) -> None:
    from fastload.conversion.readers import readable
    from fastload.conversion.units import human

    if summary.whole:
        emit_whole(target, summary, json_to)
        return
    bad = [
        {"sample": row.sample, "name": readable(row.name), "reason": row.reason}
        for row in summary.bad
    ]
    rows = [
        ("samples", f"{summary.samples:,}"),
        ("classes", f"{summary.classes:,}"),
        ("size", human(summary.bytes)),
        ("kept as JPEG", f"{summary.jpegs:,}"),
        ("stored as pixels", f"{summary.raw:,}"),
        ("left out", f"{sum(not row.mended for row in summary.bad):,}"),
        *[("resumed", f"{summary.resumed:,} samples were there already")] * bool(summary.resumed),
        *[("transcoded", transcoding_text(summary.transcoding))] * summary.transcoding.on,
        ("time", f"{seconds:.1f} s, {summary.samples / seconds:,.0f} images/s"),
    ]
    names = ("samples", "classes", "bytes", "jpegs", "raw", "resumed")
    result = {name: getattr(summary, name) for name in names}
    result |= {
        "path": target,
        "seconds": seconds,
        "bad": bad,
        "transcoding": asdict(summary.transcoding),
    }
    emit(result, json_to, Text(readable(target)), table(("converted for FFCV", ""), rows))
    log_transcoding(summary.transcoding)
    log_bad(summary.bad, "--json lists all")
