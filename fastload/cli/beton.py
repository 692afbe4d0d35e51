"""fastload convert SRC DST.beton: one file for FFCV."""

import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fastload.cli.output import emit, interruptible, log, meter, table
from fastload.errors import UsageError

if TYPE_CHECKING:
    from fastload.conversion.readers import Choice

SHOWN = 20  # bad samples on the terminal; all are in the JSON


def refuse(**given: bool) -> None:
    """Raises UsageError for options that only shards have."""
    if names := [name for name, there in given.items() if there]:
        raise UsageError(f"convert: {', '.join(names)} {'is' if len(names) == 1 else 'are'} for shards, not for a .beton file; leave out")


def convert(source: str, target: str, choice: "Choice", given: dict[str, Any]) -> None:
    """Write `target`. given: the command's arguments by name."""
    from fastload.conversion import beton_writer, job, readers  # here, so that `fastload --help` loads no torch
    from fastload.conversion.editing import Edits
    from fastload.conversion.units import human

    refuse(**{"--shard-size": given["shard_size"] != "256M", "--shuffle": given["shuffle"] is not None, "--transcode": given["transcode"]})
    edits = Edits(**{name: given[name] for name in ("max_side", "quality", "strip_metadata", "apply_exif")})
    names = ("mode", "workers", "on_error", "check", "overwrite", "extras", "resume")
    options = beton_writer.Options(edits=edits, **{name: given[name] for name in names})
    json_to = given["json_to"]
    job.refuse_nesting(source, target)
    reader = readers.open_reader(source, choice)
    shown = Text(readers.readable(target))
    if given["dry_run"]:
        result = {"path": target, "samples": len(reader), "classes": len(reader.classes), "dry_run": True}
        emit(result, json_to, shown, table(("would be written", ""), [("samples", f"{len(reader):,}"), ("format", "FFCV, one file")]))
        return
    begin = time.perf_counter()
    with interruptible(), meter("convert", len(reader), int(reader.sizes.sum())) as advance:
        summary = beton_writer.run(reader, target, options, advance)
    seconds = time.perf_counter() - begin
    bad = [{"sample": row.sample, "name": readers.readable(row.name), "reason": row.reason} for row in summary.bad]
    rows = [
        ("samples", f"{summary.samples:,}"), ("classes", f"{summary.classes:,}"), ("size", human(summary.bytes)),
        ("kept as JPEG", f"{summary.jpegs:,}"), ("stored as pixels", f"{summary.raw:,}"), ("left out", f"{len(bad):,}"),
        *[("resumed", f"{summary.resumed:,} samples were there already")] * bool(summary.resumed),
        ("time", f"{seconds:.1f} s, {summary.samples / seconds:,.0f} images/s"),
    ]  # fmt: skip
    counts = {name: getattr(summary, name) for name in ("samples", "classes", "bytes", "jpegs", "raw")}
    emit(
        {"path": target, **counts, "seconds": seconds, "bad": bad, "resumed": summary.resumed},
        json_to,
        shown,
        table(("converted for FFCV", ""), rows),
    )
    for row in bad[:SHOWN]:
        log.print(f"left out: {row['name']}: {row['reason']}", markup=False)
    if len(bad) > SHOWN:
        log.print(f"left out: {len(bad) - SHOWN} more; --json lists all", markup=False)
