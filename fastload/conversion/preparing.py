"""What a conversion will read and write, and which job it is: known before a byte is written."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import PIL

from fastload.conversion import boxed, plan, readers, store_writer, transcoding, writers
from fastload.conversion.options import Options
from fastload.conversion.parts_writer import Job, Origin
from fastload.conversion.readers import ANYTHING, Choice, Reader
from fastload.conversion.readers.base import samples_stamp
from fastload.conversion.readers.spans import spooled
from fastload.errors import ConversionError, UsageError
from fastload.files.names import check_keys, readable
from fastload.remote import urls
from fastload.sources.arrow import import_arrow
from fastload.spec import Json


def prepare(source: str, where: str, options: Options, choice: Choice = ANYTHING) -> Job:
    """Read the source's names and sizes and plan the parts; writes nothing.

    Raises SourceError, ConversionError, UsageError.
    """
    where = urls.local(where)
    store_writer.store_url(where, options)
    import_arrow(urls.public(where), ConversionError)
    refuse_nesting(source, where)
    prepared = prepare_reader(readers.open_reader(source, choice), where, options)
    return replace(prepared, origin=Origin(source, where, choice))


def prepare_reader(reader: Reader, where: str, options: Options) -> Job:
    """The same for samples that are no path: `readers.from_iterable`."""
    where = urls.local(where)
    url, shown = store_writer.store_url(where, options), urls.public(where)
    import_arrow(shown, ConversionError)
    if not len(reader):
        raise ConversionError(f"{shown}: the source holds no samples; give some")
    check_keys(reader.where, reader.keys)
    _check_classes(shown, reader.classes)
    if options.shuffle is not None and reader.in_order:
        reader = spooled(reader)
    if options.extras == "keep":
        boxed.refuse_edits(shown, reader, options.edits)
    sizes = (
        transcoding.room(reader.sizes)
        if options.transcode or not options.edits.none
        else reader.sizes
    )
    if options.extras == "keep":
        sizes = np.where(sizes > 0, sizes + reader.beside, sizes)
    writer: writers.Writer
    if url is None:
        writer = writers.open_writer(where, reader, options)
    else:
        writer = store_writer.open_writer(url, reader, options)
    parts = plan.make(reader.keys, sizes, options.shard_bytes, options.shuffle, writer.seek_step)
    return Job(shown, reader, parts, options, writer)


def _check_classes(where: str, classes: Sequence[str]) -> None:
    """Raise ConversionError where two become one: bytes that are no UTF-8 are not kept."""
    names = Counter(map(readable, set(classes)))
    if len(names) < len(set(classes)):
        raise ConversionError(
            f"{where}: two classes would be called {names.most_common(1)[0][0]!r}; give other "
            "names with --labels"
        )


def refuse_nesting(source: str, where: str) -> None:
    """A target inside the source would become one of its classes."""
    for name, path in (("SRC", source), ("DST", where)):
        if not path:
            raise UsageError(f"convert: {name} is empty (got '', want a path); give one")
    where, source = urls.local(where), urls.local(source)
    if urls.is_url(where) or urls.is_url(source):
        where, source = urls.public(where), urls.public(source)
        nested = f"{where}/".startswith(f"{source}/")
    else:
        inner, outer = os.path.realpath(where), os.path.realpath(source)
        nested = os.path.commonpath([inner, outer]) == outer
    if nested:
        raise ConversionError(f"{where}: lies in the source {source}; give a folder outside of it")


def identity(job: Job) -> Json:
    """What must be the same for a job to go on: everything that decides a byte of the result."""
    options = job.options
    return {
        "target": options.to,
        "source": f"{samples_stamp(job.reader):016x}",
        "shard size": options.shard_bytes, "shuffle": options.shuffle, "check": options.check,
        "seek step": options.seek_step,
        "transcode": options.transcode, "edits": asdict(options.edits), "extras": options.extras,
        "substitute": options.on_error == "substitute", "mode": options.mode,
        "parts": job.plan.shards,
        "Pillow": None if options.edits.none else PIL.__version__,
    }  # fmt: skip
