"""A conversion that has to fit into so many bytes: the longest side and the quality that its images
can keep, found by converting some of them, as often as it takes.
"""

import io
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps

from fastload.conversion import editing, forecast, samples, workers
from fastload.conversion.making import Maker
from fastload.conversion.parts_writer import Job, how_of, threads
from fastload.conversion.readers.base import Extra, Listing
from fastload.conversion.readers.select import rows
from fastload.conversion.samples import BadSampleError
from fastload.conversion.sizing import Range, known, whole
from fastload.conversion.units import human, parse_size
from fastload.conversion.workers import Stop
from fastload.errors import ConversionError, UsageError
from fastload.spec import Longs

# px, and what JPEGs are encoded with: what is tried, the least change first
SIDES = (
    4096, 3072, 2560, 2048, 1792, 1536, 1280, 1152, 1024, 896, 800, 720, 640, 576, 512, 480, 448,
    416, 384, 352, 320, 288, 256, 224, 192, 160, 128, 96, 64,
)  # fmt: skip
QUALITIES = (95, 90, 85, 80, 75)
MOST, LEAST = 64, 12  # samples that are tried
SECONDS = 20.0  # that trying them may take, about
TRIES = 30  # of the whole sample
JUDGED = 12  # samples whose pictures are compared with what they were
BEST = 99.0  # dB: no difference


class Way(NamedTuple):
    """A longest side, px, and a quality; None: images keep theirs."""

    max_side: int | None
    quality: int | None


@dataclass(frozen=True)
class Tried:
    """What a way gives.

    Args:
        way: The options.
        of_all: Bytes of the whole conversion.
        psnr: dB, the median over some pictures that are made as large again as they were.
    """

    way: Way
    of_all: Range
    psnr: float


@dataclass(frozen=True)
class Plan:
    """Ways that fit, the best first.

    Args:
        budget: Bytes.
        unchanged: Of the conversion without a change to images.
        ways: At least one.
        looked_at: How many samples were tried.
        pictures: Some encoded images.
    """

    budget: int
    unchanged: Range
    ways: tuple[Tried, ...]
    looked_at: int
    pictures: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def best(self) -> Tried:
        return self.ways[0]


def plan(job: Job, budget: str, seconds: float = SECONDS) -> Plan:
    """The ways in which the conversion fits, in about so many seconds.

    budget: "100G", or "80%" of what it takes without a change. The sides and qualities of the job's
    own edits are the most that is tried. Raises UsageError, ConversionError where none fits.
    """
    held = Held(job, seconds)
    own = Way(job.options.edits.max_side, job.options.edits.quality)
    unchanged = held.tried(Way(None, None))
    limit = bytes_of(budget, unchanged.bytes)
    if held.tried(own).high <= limit:
        ways = [own]
    else:
        ways = [way for quality in qualities(own) if (way := largest(held, own, quality, limit))]
    if not ways:
        least = Way(held.sides(own)[-1], qualities(own)[-1])
        raise ConversionError(
            f"{job.where}: does not fit into {human(limit)} (with a side of {least.max_side} px "
            f"and quality {least.quality} it is {human(held.tried(least).bytes)}); give a larger "
            "--budget, or convert fewer images by --subset"
        )
    judged = [Tried(way, held.tried(way), held.psnr(way)) for way in ways]
    judged.sort(key=lambda one: (-one.psnr, one.of_all.bytes))
    return Plan(limit, unchanged, tuple(judged), len(held), held.pictures())


def bytes_of(budget: str, unchanged: int) -> int:
    """ "100G", "80%". Raises UsageError."""
    if not budget.strip().endswith("%"):
        return parse_size(budget)
    share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", budget.strip())
    if share is None or not 0 < float(share[1]) <= 100:
        raise UsageError(f"budget: {budget!r} is no share; write it like 80%, or 100G")
    return int(unchanged * float(share[1]) / 100)


def qualities(own: Way) -> Sequence[int]:
    """What is tried, the highest first."""
    return QUALITIES if own.quality is None else (own.quality,)


def largest(held: "Held", own: Way, quality: int, limit: int) -> Way | None:
    """The way of this quality with the longest side that fits; what a side takes grows with it."""
    sides = [own.max_side, *held.sides(own)]
    low, high = 0, len(sides)  # the first that fits is one of these
    while low < high:
        middle = (low + high) // 2
        if held.tried(Way(sides[middle], quality)).high <= limit:
            high = middle
        else:
            low = middle + 1
    return Way(sides[low], quality) if low < len(sides) else None


@dataclass(frozen=True, eq=False)
class InMemory(Listing):
    """Some samples of another reader."""

    images: Sequence[bytes]
    others: Sequence[tuple[Extra, ...]]

    def read(self, sample: int) -> bytes:
        return self.images[sample]

    def extras(self, sample: int) -> tuple[Extra, ...]:
        return self.others[sample]


class Held:
    """Some samples of a job, spread evenly, and what was tried with them."""

    def __init__(self, job: Job, seconds: float) -> None:
        """Raises ConversionError where all are bad."""
        self.job, self.known = job, dict[Way, Range]()
        self.before = known(job.reader.sizes)
        total = len(job.reader)
        chosen = np.unique(np.linspace(0, total - 1, min(MOST, total)).astype(np.int64))
        order = np.random.Generator(np.random.Philox(0)).permutation(len(chosen))
        self.reader, self.samples = self._read(chosen[order], seconds)
        self.count = threads(job)

    def __len__(self) -> int:
        return len(self.reader)

    def _read(self, chosen: Longs, seconds: float) -> tuple[InMemory, Longs]:
        """As many as can be tried in time, without the bad ones."""
        reader, good = self.job.reader, list[int]()
        images, others = list[bytes](), list[tuple[Extra, ...]]()
        begin = time.perf_counter()
        for sample in chosen.tolist():
            try:
                image = reader.read(sample)
                decoded(editing.edit(image, editing.Edits(quality=QUALITIES[0])))
                others.append(reader.extras(sample) if self.job.options.extras == "keep" else ())
            except (BadSampleError, *samples.PILLOW_ERRORS):
                continue
            good.append(sample)
            images.append(image)
            late = time.perf_counter() - begin > seconds / TRIES
            if late and len(good) >= LEAST:
                break
        if not good:
            raise ConversionError(
                f"{self.job.where}: {len(chosen)} samples are all bad; run fastload verify on the "
                "source"
            )
        some = rows(reader, np.array(good, np.int64))
        kept = InMemory(
            some.where, some.keys, some.sizes, some.labels, some.classes, 0, images, others
        )
        return kept, some.rows

    def sides(self, own: Way) -> list[int]:
        """What is tried, the longest first: not longer than images are."""
        longest = max(max(size) for size in self.sizes())
        most = longest if own.max_side is None else min(longest, own.max_side)
        return [side for side in SIDES if side < most] or [SIDES[-1]]

    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of each sample, px."""
        facts = [samples.headers(image) for image in self.reader.images]
        return [(one.height, one.width) for one in facts]

    def tried(self, way: Way) -> Range:
        """Bytes of the whole conversion."""
        if way not in self.known:
            self.known[way] = self._tried(way)
        return self.known[way]

    def _tried(self, way: Way) -> Range:
        how = how_of(self.job.options, self.job.writer.seek_step)
        how = replace(how, edits=self.edits(way), substitute=False)

        def work(sample: int, stop: Stop) -> int:
            return sum(map(forecast.weight, Maker(self.reader, how, [sample], _nothing, stop)))

        sizes = workers.run(range(len(self)), work, min(self.count, len(self)))
        before, total = self.before[self.samples], int(self.before.sum())
        of_all = whole(np.array(sizes, np.int64), before, total, len(self.job.reader))
        return of_all.more(*forecast.index_bytes(self.job))

    def edits(self, way: Way) -> editing.Edits:
        return replace(self.job.options.edits, **way._asdict())

    def psnr(self, way: Way) -> float:
        """dB: see Tried."""
        edits = self.edits(way)
        return float(np.median([psnr(image, editing.edit(image, edits), turned=edits.apply_exif)
                                for image in self.pictures()]))  # fmt: skip

    def pictures(self) -> tuple[bytes, ...]:
        return tuple(self.reader.images[:JUDGED])


def _nothing(size: int) -> None:
    """No progress is shown."""


def psnr(before: bytes, after: bytes, *, turned: bool = False) -> float:
    """dB between two encoded pictures, the second of which is made as large as the first (bicubic).

    turned: the second was turned as the first one's EXIF says.
    """
    first, second = decoded(before, turned=turned), decoded(after)
    if first.size != second.size:
        second = second.resize(first.size, Image.Resampling.BICUBIC)
    left = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    error = float((left**2).mean())
    return BEST if error == 0 else min(BEST, float(10 * np.log10(255**2 / error)))


def decoded(data: bytes, *, turned: bool = False) -> Image.Image:
    """RGB."""
    with Image.open(io.BytesIO(data)) as image:
        return (ImageOps.exif_transpose(image) if turned else image).convert("RGB")
