"""A work's samples as what DALI's graph takes: encoded bytes and, per picture, the records as
arrays.
"""

import math
import operator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image

from fastload import _native
from fastload.backends import foreign, masks, mending
from fastload.backends.dali import rows as dali_rows
from fastload.backends.dali.tail import Tail
from fastload.backends.native import crop, store
from fastload.errors import SampleError
from fastload.plan.bad_samples import Trouble
from fastload.plan.plan import Plan
from fastload.sources import raw_pixels, read
from fastload.spec import Array, Ints, Pixels, Stage, Work
from fastload.transforms import RandomResizedCrop, pil
from fastload.transforms.kinds import Flip, Region, Window

# dtype and number of dimensions of each input, for one sample
TYPES = {
    "encoded": ("uint8", 1),
    "anchor": ("int32", 1),
    "shape": ("int32", 1),
    "size": ("float32", 1),
    "filter": ("int32", 0),
    "start": ("int32", 1),
    "window": ("int32", 1),
    "flip": ("int32", 0),
}
INT32_MAX = 2**31 - 1


class Input(NamedTuple):
    """One thing that the graph is given for each sample."""

    name: str
    dtype: str
    ndim: int


@dataclass(frozen=True)
class Picture:
    """Which parts the graph of one of a sample's pictures has; the same for all sizes of it."""

    plan: Plan
    rows: tuple[dali_rows.Row, ...]
    own: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """Names in TYPES: what of CROP runs, told by records."""
        if self.own:
            return ("size",)
        ops = [step.op for step in self.plan.stage(Stage.CROP)]
        regions = [op for op in ops if isinstance(op, Region)]
        names = ["anchor", "shape"] if any(op.cuts for op in regions) else []
        if regions:
            names += ["size"] + ["filter"] * (self.filter == "random")
        names += ["start", "window"] if any(isinstance(op, Window) for op in ops) else []
        mirrors = any(isinstance(op, Flip) and op.axis for op in ops)
        return (*names, "flip") if mirrors else tuple(names)

    @property
    def filter(self) -> str:
        """Of the one resize; "random" where each sample has its own."""
        return crop.interpolation(self.plan.stage(Stage.CROP))

    def inputs(self) -> list[Input]:
        inputs = [Input(name, *TYPES[name]) for name in self.parts]
        for number, row in enumerate(self.rows):
            inputs += [
                Input(f"{number}.{name}", dali_rows.TYPES[name][0], len(dali_rows.TYPES[name][1]))
                for name in row.arguments
            ]
        return inputs


@dataclass
class Samples:
    """A batch's encoded samples, which DALI decodes to the pixels that Pillow has; a
    `mending.Batch`.
    """

    encoded: list[Pixels]  # uint8 [bytes] each
    sizes: Ints  # int32 [N, 2], px
    most_height: int  # px; a higher image is handed to DALI reduced by a whole factor
    decoded: set[int] = field(default_factory=set)  # positions that have pixels

    def set_pixels(self, position: int, pixels: Pixels, /) -> None:
        """uint8 [H, W, 3] in place of a sample's bytes: as a PPM file, which is how DALI is handed
        what another decoder made.
        """
        pixels = reduced(pixels, self.most_height)
        self.decoded.add(position)
        self.sizes[position] = pixels.shape[:2]
        self.encoded[position] = np.frombuffer(
            b"P6 %d %d 255\n%b" % (pixels.shape[1], pixels.shape[0], pixels.tobytes()), np.uint8
        )


class HostBatch(NamedTuple):
    """A batch on its way: what the graph is given, and what it is not."""

    work: Work  # with what stands in for bad samples
    samples: Samples
    # In the order of `inputs`; the first is the list of encoded samples
    arrays: tuple[list[Pixels] | Array, ...]
    tails: list[Tail]
    target: torch.Tensor
    trouble: Trouble
    decoded: bool = False  # all samples, by Pillow


def most_height(pictures: tuple[Picture, ...]) -> int:
    """The height, in px, up to which DALI's own random crop is right.

    DALI 2.4 multiplies height * height * ratio in int32. Beyond that its window lies outside the
    image, and the program may be ended by a signal. fastload's crops have no such limit.
    """
    ops = [step.op for one in pictures if one.own for step in one.plan.stage(Stage.CROP)]
    ratios = [op.ratio[1] for op in ops if isinstance(op, RandomResizedCrop)]
    return math.isqrt(int(INT32_MAX / max(ratios))) if ratios else INT32_MAX


def reduced(pixels: Pixels, most: int) -> Pixels:
    """uint8 [H, W, 3] of at most `most` rows: means of k x k px, or the pixels themselves."""
    factor = -(-len(pixels) // most)
    return pixels if factor <= 1 else np.asarray(Image.fromarray(pixels).reduce(factor))


def pictures_of(plan: Plan, *, own: bool) -> tuple[Picture, ...]:
    return tuple(Picture(one, () if own else dali_rows.rows(one), own) for one in plan.pictures)


def inputs(pictures: tuple[Picture, ...]) -> list[Input]:
    """Of the whole graph, in the order of `HostBatch.arrays`."""
    return [Input("encoded", *TYPES["encoded"])] + [
        Input(f"{number}.{one.name}", one.dtype, one.ndim)
        for number, picture in enumerate(pictures)
        for one in picture.inputs()
    ]


def make(plan: Plan, pictures: tuple[Picture, ...], work: Work, job: _native.Job) -> HostBatch:
    """plan: of the work's size; job: of its files.

    Raises SampleError for a sample that nobody can read or decode, where bad ones raise.
    """
    job.wait_fetched()
    status, is_raw, bad = job.status, plan.source.locate(work.samples).is_raw, []
    unread = np.empty(0, np.uint8)  # until it is read, or other pixels stand in for it
    samples = Samples([unread] * len(work), job.sizes.copy(), most_height(pictures))
    for position in range(len(work)):
        if status[position] == _native.FAILED:
            bad.append((position, mending.failed(job, plan, work, position)))
            continue
        data = (
            b""
            if is_raw[position]
            else job.payload(position) or read(plan.source, int(work.samples[position]))
        )
        samples.encoded[position] = np.frombuffer(data, np.uint8)
        too_high = job.sizes[position, 0] > samples.most_height
        if is_raw[position] or too_high or not certain(int(status[position]), data):
            bad += _through_pillow(samples, plan, work, position)
    asked = np.array([position not in samples.decoded for position in range(len(work))]) & (
        status == _native.OK
    )
    bad += foreign.too_large(plan.source, work, job.sizes, asked)
    bad.sort(key=operator.itemgetter(0))
    return _mended(samples, plan, pictures, work, bad, Trouble(plan.on_error, work))


def certain(status: int, data: bytes) -> bool:
    """Whether Pillow takes a sample for certain.

    DALI cannot say: it reads no further than it needs.
    """
    return status == _native.OK and _native.jpeg_coding(data) != "other"


def through_pillow(plan: Plan, pictures: tuple[Picture, ...], batch: HostBatch) -> HostBatch:
    """The same batch without an encoded sample. Raises SampleError as `make`."""
    bad = [
        problem
        for position in range(len(batch.work))
        for problem in _through_pillow(batch.samples, plan, batch.work, position)
    ]
    return _mended(batch.samples, plan, pictures, batch.work, bad, batch.trouble)._replace(
        decoded=True
    )


def _through_pillow(
    samples: Samples, plan: Plan, work: Work, position: int
) -> list[tuple[int, SampleError]]:
    """Pixels in place of a sample's bytes; the place and an error if Pillow cannot decode it."""
    if position in samples.decoded:
        return []
    try:
        pixels = raw_pixels(plan.source, int(work.samples[position]))
        samples.set_pixels(
            position,
            pil.decode_pixels(samples.encoded[position].tobytes()) if pixels is None else pixels,
        )
    except pil.DECODE_ERRORS as error:
        sample = int(work.samples[position])
        return [(position, pil.undecodable(plan.source.name(sample), sample, error))]
    return []


def _mended(
    samples: Samples,
    plan: Plan,
    pictures: tuple[Picture, ...],
    work: Work,
    bad: list[tuple[int, SampleError]],
    trouble: Trouble,
) -> HostBatch:
    """The batch with its records, and with others in place of what is bad; samples that are not bad
    keep theirs.
    """
    work, _ = mending.mended(samples, plan, work, bad, trouble)
    arrays, tails = [], []
    for one, picture in zip(plan.pictures, pictures, strict=True):
        parts, tail = _records(one, picture, work, samples.sizes)
        arrays += parts
        tails.append(tail)
    target = (
        torch.from_numpy(plan.source.labels[work.samples])
        if plan.masks is None
        else masks.batch(plan, work, samples.sizes)
    )
    return HostBatch(work, samples, (samples.encoded, *arrays), tails, target, trouble)


def _records(plan: Plan, picture: Picture, work: Work, sizes: Ints) -> tuple[list[Array], Tail]:
    of: dict[Stage, list[Array]] = {Stage.CROP: [], Stage.AUGMENT: [], Stage.STORE: []}
    for step, record in zip(plan.steps, plan.records(work, sizes), strict=True):
        of[step.stage].append(record)
    last = plan.stage(Stage.STORE)
    tail = Tail(plan, *store.kept(last, of[Stage.STORE]), store.boxes(last, of[Stage.STORE])[0])
    height_width = np.tile(np.array(crop.final_size(plan.cropped), np.int32), (len(work), 1))
    if picture.own:
        return [height_width.astype(np.float32)], tail
    crops, after = crop.fold(plan.stage(Stage.CROP), of[Stage.CROP], sizes)
    parts = {"anchor": crops[:, :2], "shape": crops[:, 2:4], "size": crops[:,
        crop.RESIZED].astype(np.float32),
             "start": crops[:, crop.WINDOW], "window": height_width, "flip": crops[:, crop.FLIP],
             "filter": crop.filters(plan.stage(Stage.CROP), of[Stage.CROP])}  # fmt: skip
    arrays = [np.ascontiguousarray(parts[name]) for name in picture.parts]
    if picture.rows:
        programs = dali_rows.programs(plan, picture.rows, after, of[Stage.AUGMENT], height_width)
        arrays += dali_rows.arguments(picture.rows, programs)
    return arrays, tail
