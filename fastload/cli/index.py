"""fastload index: seek indexes, or coefficient layers, for data that stays as it is."""

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from fastload.cli import convert_on
from fastload.cli.convert_options import Layer, SeekStep
from fastload.cli.convert_report import log_reasons, seek_json, seek_text
from fastload.cli.layers import name_of, step_of
from fastload.cli.output import AS_IT_WAS, JsonTo, Threads, emit, interruptible, meter, table
from fastload.cli.verbs import Verb
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.indexing import IndexingSummary


def register(app: typer.Typer) -> None:
    app.command("index", cls=Verb)(index)


def index(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="Folder of classes (ROOT/CLASS/IMAGE), tars (a folder, one, or a pattern), "
            "MosaicML's or fastload's shards, or an FFCV file.",
        ),
    ],
    seek_step: SeekStep = 8,
    layer: Layer = "seek",
    workers: Threads = None,
    on: convert_on.ByOthers = None,
    json_to: JsonTo = None,
) -> None:
    """Index where decoding can begin within each JPEG, so that a crop decodes only its own part.

    The images are not changed. With --layer coefficients each JPEG's coefficients are stored once
    more, in a form that decodes faster.
    """
    from fastload.conversion import indexing  # here, so that `fastload --help` loads no torch
    from fastload.conversion.interrupts import absorbed
    from fastload.conversion.spread.index import Workers

    step = step_of(layer, seek_step)
    with convert_on.others("index", on, workers) as by:
        makers = Workers(by, source) if by else None
        prepared = indexing.prepare(source)
        begin = time.perf_counter()
        with interruptible(AS_IT_WAS), meter("index", len(prepared.sizes)) as advance:
            summary = indexing.run(prepared, step, workers, advance, absorbed, makers)
    seconds = time.perf_counter() - begin
    rate = summary.samples / seconds
    result: Json = {
        "path": source, "kind": summary.kind, "written_to": summary.where,
        "samples": summary.samples, "bytes": summary.bytes, "layer": layer,
        "seconds": seconds, "images_per_s": rate, **seek_json(summary.seek, summary.bytes),
    }  # fmt: skip
    _emit(result, summary, step, json_to)
    convert_on.emit_workers(by.spread if by else None, json_to)
    log_reasons(summary.seek, name_of(step))


def _emit(result: Json, summary: "IndexingSummary", step: int, json_to: str | None) -> None:
    from fastload.conversion.readers import readable

    time_taken = f"{result['seconds']:.1f} s, {result['images_per_s']:,.0f} images/s"
    rows = [
        ("samples", f"{summary.samples:,}"),
        (name_of(step), seek_text(summary.seek, summary.bytes)),
        ("time", time_taken),
    ]
    emit(result, json_to, Text(readable(summary.where)), table(("indexed", ""), rows))
