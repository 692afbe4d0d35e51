"""fastload convert: the data sets people have, in the formats their tools read."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastload.cli import (
    beton,
    convert_append,
    convert_budget,
    convert_on,
    convert_options,
    convert_web_options,
    web,
)
from fastload.cli.convert_options import (
    ApplyExif,
    Check,
    DryRun,
    Extras,
    From,
    Labels,
    Masks,
    MaxSide,
    NoSeek,
    OnError,
    Quality,
    Root,
    SeekStep,
    ShardSize,
    Shuffle,
    Split,
    StripMetadata,
    Subset,
    To,
)  # fmt: skip
from fastload.cli.convert_report import emit_plan, emit_summary
from fastload.cli.layers import name_of, steps_of
from fastload.cli.output import JsonTo, Threads, interruptible, meter
from fastload.cli.verbs import Verb
from fastload.errors import UsageError
from fastload.files import formats
from fastload.spec import Json

if TYPE_CHECKING:
    from fastload.conversion.job import Options
    from fastload.conversion.readers import Choice

SOURCE = f"One of: {formats.known(formats.READERS, formats.SOURCES)}."


def register(app: typer.Typer) -> None:
    more = convert_web_options.added(convert, "more", convert_options.MORE)
    app.command("convert", cls=Verb)(convert_web_options.added(more))


def convert(
    source: Annotated[str, typer.Argument(metavar="SRC", help=SOURCE)],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="DST", help="New or empty folder, NAME.beton, or s3://…, gs://…, az://…."
        ),
    ] = None,
    to: To = None,
    read_as: From = None,
    workers: Threads = None,
    shard_size: ShardSize = "256M",
    shuffle: Shuffle = None,
    subset: Subset = None,
    split: Split = None,
    labels: Labels = None,
    root: Root = None,
    masks: Masks = None,
    extras: Extras = "keep",
    on_error: OnError = "raise",
    check: Check = "decode",
    max_side: MaxSide = None,
    quality: Quality = None,
    strip_metadata: StripMetadata = False,
    apply_exif: ApplyExif = False,
    seek_step: SeekStep = 8,
    no_seek: NoSeek = False,
    dry_run: DryRun = False,
    json_to: JsonTo = None,
    more: Any = None,
    web: Any = None,
) -> None:
    """Convert a data set: to WebDataset tar shards with an index, or with --to to what other tools
    read.

    Image bytes are kept as they are, unless an option that changes them is given.
    """
    arguments = {**locals(), **more}
    if more["delete"] and not more["append"]:
        convert_append.delete(source, arguments)
        return
    if target is None:
        raise typer.BadParameter("DST is missing; say where the data set goes")
    named = formats.of_target(target)
    _convert(source, target, to or (named.name if named else formats.SHARDS), arguments)


def _convert(source: str, target: str, to: str, arguments: Json) -> None:
    """arguments: the command's, by name."""
    from fastload.conversion.store_writer import check_url  # loads torch, which --help does not

    convert_budget.check(arguments)
    choice = _choice(arguments)
    if convert_append.wanted(arguments):
        convert_budget.refuse(arguments, "--append")
        to = convert_append.check_format(arguments["to"])
        convert_append.append(source, target, _options(to, arguments), choice, arguments)
        return
    check_url(target, to)
    if web.wanted(source, arguments):
        convert_budget.refuse(arguments, "a table of URLs")
        web.convert(source, target, _options(to, arguments), choice, arguments)
        return
    if to == "beton":
        convert_budget.refuse(arguments, "a .beton file")
        beton.convert(source, target, choice, arguments)
        return
    _planned(source, target, _options(to, arguments), choice, arguments)


def _planned(
    source: str, target: str, options: "Options", choice: "Choice", arguments: Json
) -> None:
    """What is planned by samples, shown or run."""
    from fastload.conversion import boxed, job  # here, so that `fastload --help` loads no torch
    from fastload.conversion.interrupts import absorbed
    from fastload.remote.urls import public

    on, tasks = convert_on.engine(arguments["on"], arguments["workers"])
    foreseen = None
    prepared = job.prepare(source, target, options, choice)
    if arguments["budget"]:
        if options.extras == "keep":
            boxed.refuse(prepared.where, prepared.reader, f"--budget {arguments['budget']}")
        fits = convert_budget.chosen(prepared, arguments)
        if fits is None:
            return
        options, foreseen = fits
        prepared = job.prepare(source, target, options, choice)
    if arguments["dry_run"]:
        emit_plan(prepared, arguments["json_to"])
        return
    if tasks is not None:
        convert_on.emit_script(prepared, tasks, arguments["json_to"])
        return
    begin = time.perf_counter()
    with (
        interruptible(),
        meter("convert", len(prepared.reader), int(prepared.reader.sizes.sum())) as advance,
    ):
        summary = job.run(prepared, advance, absorbed, on)
    seconds, more = time.perf_counter() - begin, convert_budget.came(target, foreseen)
    name = name_of(options.seek_step)
    emit_summary(public(target), summary, seconds, arguments["json_to"], options.to, more, name)
    convert_budget.tell(public(target), more, arguments["json_to"])


def _choice(arguments: Json) -> "Choice":
    from fastload.conversion.readers import Choice

    names = ("split", "labels", "root", "masks", "boxes", "subset")
    chosen = {name: arguments[name] for name in names}
    return Choice(**chosen, seed=arguments["shuffle"] or 0, format=arguments["read_as"])


def _options(to: str, arguments: Json) -> "Options":
    """The options as the job takes them; what makes no sense is a usage error (exit 2)."""
    from fastload.conversion import job, units
    from fastload.conversion.editing import Edits

    names = (
        "workers",
        "shuffle",
        "on_error",
        "check",
        "overwrite",
        "transcode",
        "extras",
        "split",
        "mode",
        "resume",
        "scratch",
    )
    edits = ("max_side", "quality", "strip_metadata", "apply_exif")
    try:
        return job.Options(
            shard_bytes=units.parse_size(arguments["shard_size"]),
            seek_step=steps_of(
                arguments["layer"], arguments["seek_step"], no_seek=arguments["no_seek"]
            ),
            to=to,
            edits=Edits(**{name: arguments[name] for name in edits}),
            **{name: arguments[name] for name in names},
        )  # fmt: skip
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error
