"""The same data in other formats: some of the images are converted, and take turns with the data as
they are.
"""

import os
import shlex
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fastload.conversion import beton_writer, job, readers, seek_writer
from fastload.conversion.readers import Reader, select
from fastload.errors import FastloadError, UsageError
from fastload.forecast import model
from fastload.forecast.bands import Range
from fastload.forecast.findings import Forecast
from fastload.forecast.job import Bench
from fastload.forecast.options import Option
from fastload.forecast.rates import spread
from fastload.plan.pipeline import Pipeline
from fastload.profiler import job as profiling
from fastload.profiler.batches import Feed, Twice, begun, few
from fastload.profiler.indexed import NATIVE, folder_of
from fastload.profiler.remedies import Alternative, Priced, in_turns
from fastload.sources import Source
from fastload.sources.layered import sizes_as_loaded
from fastload.spec import Longs

SECONDS = 1.0  # of a replicate
BLOCK = 512  # bytes, of st_blocks


@dataclass(frozen=True)
class Format:
    """One way to store the data."""

    name: str
    write: Callable[[Reader, str], object]  # to a path
    suffix: str  # of that path
    convert: str  # what `fastload convert` takes for it
    index: str | None  # what `fastload index` takes to make it beside a folder; None: it cannot

    def command(self, data: str, folder: str | None) -> str:
        """What makes it of all data; folder: of the images, if they lie in one."""
        if folder is not None and self.index is not None:
            return f"fastload index {shlex.quote(folder)}{self.index}"
        return f"fastload convert {shlex.quote(data)} DST{self.suffix}{self.convert}"


def _shards(reader: Reader, where: str, step: int) -> None:
    options = job.Options(seek_step=step, on_error="skip")
    job.run(job.prepare_reader(reader, where, options))


def _pixels(reader: Reader, where: str) -> None:
    beton_writer.run(reader, where, beton_writer.Options(mode="raw", on_error="skip"))


LAYERS = " --layer coefficients"
FORMATS = (
    Format("with seek indexes", partial(_shards, step=seek_writer.STEP), "", "", ""),
    Format(
        "with coefficient layers", partial(_shards, step=seek_writer.COEFFICIENTS), "", LAYERS,
        LAYERS,
    ),
    Format("as pixels", _pixels, ".beton", " --mode raw", None),
)  # fmt: skip


def options(found: Forecast, bench: Bench) -> Iterator[Option]:
    """The data as they are, and in each of FORMATS."""
    whole = found.asked.images * found.asked.image_bytes
    yield Option(
        "as the data are", found.run, price=found.price, stored=whole, price_disk=found.price_disk
    )
    if found.backend != NATIVE:
        yield Option("in other formats", note=f"needs backend native (got {found.backend})")
        return
    with tempfile.TemporaryDirectory(prefix="fastload-plan-") as scratch:
        trial = None
        for one in FORMATS:
            try:
                trial = trial or Trial.of(found, bench)
                yield trial.stored(one, os.path.join(scratch, f"{len(os.listdir(scratch))}"))
            except FastloadError as error:
                yield Option(one.name, note=str(error))


@dataclass(frozen=True)
class Trial:
    """Some of the images, as the data are."""

    found: Forecast
    bench: Bench
    reader: Reader  # of these images
    source: Source  # of all data
    picked: Longs  # these images of it
    now: Feed

    @classmethod
    def of(cls, found: Forecast, bench: Bench) -> "Trial":
        """Raises FastloadError."""
        pipeline = bench.pipeline(found.asked.recipe)
        picked = np.sort(few(len(pipeline.source)))
        whole = readers.open_reader(bench.job.data)
        if len(whole) != len(pipeline.source):
            raise UsageError(
                f"{bench.job.data}: conversions read {len(whole)} images, and loaders "
                f"{len(pipeline.source)}; convert some yourself, and plan with those"
            )
        reader = select.rows(whole, picked)
        now = _feed(found, bench, pipeline, picked)
        return cls(found, bench, reader, pipeline.source, picked, now)

    def stored(self, one: Format, where: str) -> Option:
        """What the run would take with all data in that format. Raises FastloadError."""
        found, data, where = self.found, self.bench.job.data, where + one.suffix
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bad images, which are left out
            one.write(self.reader, where)
        bench = Bench(replace(self.bench.job, data=where), self.bench.on_done)
        pipeline = bench.pipeline(found.asked.recipe)
        everything = np.arange(len(pipeline.source))
        if one.index is not None and not _any_seek(pipeline.source, everything):
            return Option(one.name, note="none of the images that were tried can have one")
        how = one.command(data, folder_of(self.source))
        feed = _feed(found, bench, pipeline, everything)
        priced = in_turns(
            Alternative(one.name, "", NATIVE, (), how=how), self.now, feed, SECONDS, bench.on_done
        )
        before = float(sizes_as_loaded(self.source, self.picked).mean())
        read = float(sizes_as_loaded(pipeline.source, everything).mean()) / before
        disk = _bytes_at(where) / len(everything) / before
        return _option(found, priced, read, disk)


def _option(found: Forecast, priced: Priced, read: float, disk: float) -> Option:
    """read, disk: bytes that are read and stored of an image, by what is read of it now."""
    asked, gain = found.asked, priced.speedup.value
    half = spread((priced.loader, priced.now))
    by = Range(1 / gain, 1 / (gain * (1 + half)), (1 + half) / gain)
    run = model.run(replace(asked, image_bytes=read * asked.image_bytes), found.measured)
    run = replace(run, loader=run.loader.times(by), together=None)
    return Option(
        priced.alternative.name, run, price=found.price,
        stored=disk * asked.images * asked.image_bytes, price_disk=found.price_disk,
        note=f"loader {gain:.2f} times as fast; {priced.alternative.how}",
    )  # fmt: skip


def _feed(found: Forecast, bench: Bench, pipeline: Pipeline, picked: Longs) -> Feed:
    made = bench.profile(found.asked.recipe, found.asked.gpu, bench.workers)
    return begun(profiling.loader(made, pipeline, NATIVE, sampler=Twice(picked)))


def _any_seek(source: Source, samples: Longs) -> bool:
    """Whether an image has a seek index or a layer."""
    seek = source.locate(samples).seek
    return seek is not None and bool((seek.size > 0).any())


def _bytes_at(path: str) -> int:
    """That a file, or all files below a folder, take of the disk: holes take none."""
    if os.path.isfile(path):
        return os.stat(path).st_blocks * BLOCK
    return sum(
        os.stat(os.path.join(folder, name)).st_blocks * BLOCK
        for folder, _, names in os.walk(path)
        for name in names
    )
