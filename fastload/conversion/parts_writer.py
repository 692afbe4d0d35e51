"""Writing the parts of a conversion, several at once, each noted when it is whole."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image

from fastload.conversion import (
    parts,
    plan,
    workers,
)
from fastload.conversion.journal import Journal
from fastload.conversion.making import How, Maker
from fastload.conversion.options import Options
from fastload.conversion.parts import Bad, Written
from fastload.conversion.readers import Choice, Reader
from fastload.conversion.readers.base import Ahead, ahead
from fastload.conversion.target import Hold
from fastload.conversion.workers import Advance, Stop
from fastload.conversion.writers import Samples, Writer
from fastload.system.machine import usable_cores

WAITING = 2  # parts more than threads that work, of readers that fetch: they wait for their ends


class Origin(NamedTuple):
    """Paths and URLs as the user gave them: what another process opens."""

    source: str
    target: str
    choice: Choice


@dataclass(frozen=True)
class Job:
    """A conversion that can begin: what is read, and what goes where.

    origin: None for samples that are no path.
    """

    where: str
    reader: Reader
    plan: plan.Plan
    options: Options
    writer: Writer
    origin: Origin | None = None


@dataclass(frozen=True)
class Noted:
    """Where finished parts are noted."""

    journal: Journal
    hold: Hold

    def __call__(self, number: int, part: Written, stop: Stop) -> None:
        def note(part: Written) -> None:
            self.journal.append({"part": number, **parts.pack(part)})
            self.hold.keep = True

        self.hold.whole(number, part, note, stop.check)

    def made(self, number: int, part: Written, worker: str) -> None:
        """The part of another process, which lies where it stays."""
        self.journal.append({"part": number, "worker": worker, **parts.pack(part)})
        self.hold.keep = True


def write_parts(job: Job, note: Noted, done: dict[int, Written], advance: Advance) -> list[Written]:
    """All planned parts under temporary names.

    Once a sample is bad and that is an error, the rest is only checked.
    """
    Image.init()  # Pillow loads its plugins at first use, which is not safe in several threads
    options, failing = job.options, threading.Event()
    how = how_of(options, job.writer.seek_step)
    if fails(job, [bad for part in done.values() for bad in part.bad]):
        failing.set()

    def work(number: int, stop: Stop) -> Written:
        if number in done:
            advance(len(done[number].samples), int(done[number].size.sum()))
            return done[number]
        chosen = job.plan.samples(number).tolist()
        maker = Maker(job.reader, how, chosen, lambda size: advance(1, size), stop)
        with ahead(job.reader, chosen, stop.check):
            part = job.writer.write(number, maker, wanted)
        if wanted(maker):
            note(number, part, stop)
        return part

    def wanted(samples: Samples) -> bool:
        if fails(job, samples.bad):
            failing.set()
        return not failing.is_set()

    return workers.run(range(job.plan.shards), work, threads(job))


def threads(job: Job) -> int:
    """How many parts are made at once."""
    part = job.writer.copies * int(job.plan.capacity.max())
    count = job.options.workers or usable_cores()
    count += WAITING * isinstance(job.reader, Ahead)
    return workers.fitting(count, max(part, int(job.reader.sizes.max())))


def how_of(options: Options, step: int | None) -> How:
    """What is done to each sample. step: MCUs per entry of its seek index; None: it gets none."""
    substitute = options.on_error == "substitute"
    return How(
        options.check, options.transcode, options.edits, options.extras == "keep", step, substitute
    )


def fails(job: Job, bad: Sequence[Bad]) -> bool:
    """Whether these make the conversion fail."""
    return job.options.on_error != "skip" and not all(row.mended for row in bad)
