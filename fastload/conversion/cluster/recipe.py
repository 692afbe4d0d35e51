"""What a process needs to know to make units of a conversion: plain values, which any engine can
send.
"""

import json
import os
import threading
from dataclasses import asdict, dataclass, replace

from fastload.conversion import preparing, store_writer, writers
from fastload.conversion.cluster.work import Work, once
from fastload.conversion.editing import Edits
from fastload.conversion.options import Options
from fastload.conversion.parts_writer import Job
from fastload.conversion.readers import Choice, boxes
from fastload.conversion.readers.base import stamp_of
from fastload.conversion.target import Hold
from fastload.errors import ConversionError, UsageError
from fastload.remote.urls import is_url, parse

KIND = "convert"  # of works.KINDS


@dataclass(frozen=True)
class Recipe:
    """A conversion whose units other processes make.

    Args:
        source: Path or URL of what is read.
        target: Path or URL of what is written.
        choice: What of the source is read.
        options: How it is converted.
        units: How many there are: one for each shard or table.
        job: What decides the bytes of the result; a worker that would make others is refused.
        drop: The folder that units are put into; empty where they go to a store.
        owner: What the mark in a store says while this conversion goes on.

    Example:
        >>> from fastload.conversion import distributed
        >>> recipe = distributed.begin("train", "spread", shard_bytes=2000)
        >>> recipe.units
        8
    """

    source: str
    target: str
    choice: Choice
    options: Options
    units: int
    job: str
    drop: str = ""
    owner: str = ""

    def text(self) -> str:
        """As JSON. Raises UsageError for options that are no plain values."""
        try:
            return json.dumps({**vars(self), "choice": asdict(self.choice), "options": asdict(
                self.options)})  # fmt: skip
        except TypeError as error:
            raise UsageError(
                f"storage_options: hold what another process cannot be given ({error}); give "
                "plain texts and numbers"
            ) from error

    def work(self) -> Work:
        """What a fleet makes its units by. Raises UsageError as above."""
        return Work(KIND, self.text(), "go on with --resume")


def parse_recipe(text: str) -> Recipe:
    """What `text` made. Raises LookupError, TypeError, ValueError for anything else."""
    said = json.loads(text)
    how = dict(said.pop("options"))
    options = Options(edits=Edits(**how.pop("edits")), **how)
    choice = dict(said.pop("choice"))
    return Recipe(
        choice=Choice(renewed=tuple(choice.pop("renewed")), **choice), options=options, **said
    )


def recipe_of(job: Job) -> Recipe:
    """Of a job that is prepared. Raises UsageError where its samples are no path."""
    if job.origin is None:
        raise UsageError(
            "source: its samples come from this program (want a path or URL that other processes "
            "can open); convert without --on"
        )
    source, target, choice = job.origin
    return Recipe(
        _absolute(source) or "", _absolute(target) or "", absolute(choice),
        replace(job.options, resume=False, overwrite=False, workers=1), job.plan.shards,
        digest(job),
    )  # fmt: skip


def absolute(choice: Choice) -> Choice:
    """The same for a process with another working directory."""
    labels = _absolute(choice.labels) if choice.labelled else choice.labels
    return replace(
        choice, labels=labels, root=_absolute(choice.root), masks=_absolute(choice.masks),
        boxes=boxes.absolute(choice.boxes),
    )  # fmt: skip


def _absolute(path: str | None) -> str | None:
    return path if path is None or is_url(path) else os.path.abspath(path)


def digest(job: Job) -> str:
    """Another one if the result would have other bytes."""
    return f"{stamp_of(preparing.identity(job)):016x}"


def opened(recipe: Recipe) -> Job:
    """The job, as this process sees it; opened once by each.

    Raises ConversionError where the source is another one here, SourceError, UsageError.
    """
    return _opened(recipe.text())


@once
def _opened(text: str) -> Job:
    recipe = parse_recipe(text)
    job = preparing.prepare(recipe.source, recipe.target, recipe.options, recipe.choice)
    if job.plan.shards != recipe.units or digest(job) != recipe.job:
        raise ConversionError(
            f"{recipe.source}: is not what the conversion began with, as this process sees it; "
            "give all machines the same files, fastload and Pillow, and leave SRC unchanged"
        )
    return job


_mine = threading.local()  # a writer holds one folder at a time


def writer_of(recipe: Recipe, job: Job) -> writers.Writer:
    """A writer of this thread's own."""
    text = recipe.text()
    if getattr(_mine, "text", None) != text:
        if is_url(recipe.target):
            _mine.writer = store_writer.open_writer(
                parse(recipe.target), job.reader, recipe.options
            )
        else:
            _mine.writer = writers.open_writer(recipe.target, job.reader, recipe.options)
        _mine.text = text
    writer: writers.Writer = _mine.writer
    return writer


def hold_of(job: Job, writer: writers.Writer) -> Hold:
    """What it writes into. Raises ConversionError for a writer that only one process can use."""
    hold = getattr(writer, "hold", None)
    if not isinstance(hold, Hold):
        raise ConversionError(
            f"{job.where}: format {job.options.to!r} is written by one process only; convert "
            "without --on"
        )
    return hold
