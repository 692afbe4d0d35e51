"""Batches that a DataLoader would give, made alone, each sample with what was drawn for it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from fastload import lowering
from fastload.engine import parts
from fastload.errors import UsageError
from fastload.loader import DataLoader
from fastload.plan import forms
from fastload.plan.batch import mix_records
from fastload.plan.per_sample import records_of
from fastload.plan.plan import Plan
from fastload.recipes import Recipe
from fastload.remote.urls import public
from fastload.sheets import log
from fastload.sheets.pixels import denormalised, picture
from fastload.sources import raw_pixels, read
from fastload.spec import Array, Json, Work
from fastload.transforms import RandomResizedCrop, pil

ORIGINAL = 176  # px, longer side of the small originals
BOX = (230, 30, 30)  # colour of the crop's outline
EVERY = slice(None)


@dataclass(frozen=True)
class Run:
    """One epoch of DataLoader(open(data, recipe), batch_size, shuffle=True, seed=seed).

    recipe: None: the data set is a program's, with transforms of its own.
    """

    data: str
    recipe: Recipe | None
    seed: int = 0
    epoch: int = 0
    batch_size: int = 16
    backend: str = "auto"
    dataset: Any = None  # the program's


@dataclass(frozen=True)
class View:
    """One of the pictures that a sample becomes; mostly there is one."""

    plan: Plan
    image: Image.Image  # what the model gets, de-normalised
    log: tuple[log.Line, ...]


@dataclass(frozen=True)
class Shown:
    """One sample of a batch."""

    sample: int
    name: str
    label: int
    class_name: str
    size: tuple[int, int]  # of the original: height, width; px
    original: Image.Image  # small, with the crops' outlines
    views: tuple[View, ...]
    target: str = ""  # what comes in place of the label, such as a caption

    @property
    def image(self) -> Image.Image:
        """Of the first view."""
        return self.views[0].image

    @property
    def log(self) -> tuple[log.Line, ...]:
        """Of the first view."""
        return self.views[0].log

    @property
    def lines(self) -> tuple[str, ...]:
        """What was drawn, for each view."""
        return tuple(f"{view.plan.where}{line}" for view in self.views for line in view.log)

    def as_dict(self) -> Json:
        facts = {
            "sample": self.sample,
            "name": self.name,
            "label": self.label,
            "class": self.class_name,
            "size_px": list(self.size),
            **({"target": self.target} if self.target else {}),
        }
        logs = [[line.as_dict() for line in view.log] for view in self.views]
        return {**facts, "log": logs[0]} if len(logs) == 1 else {**facts, "views": logs}


class Batches:
    """A loader's batches in any order. Raises FastloadError."""

    def __init__(self, loader: DataLoader[Any], seed: int, epoch: int) -> None:
        self.loader, self.seed, self.epoch = loader, seed, epoch
        route = loader._route
        assert route.plan is not None  # a fastload data set is never left to PyTorch's own engine
        self.plan: Plan = replace(route.plan, patch=0)  # patches show images
        self.backend = str(route.backend)

    def works(self) -> Iterator[Work]:
        self.loader.set_epoch(self.epoch)
        works = self.loader._works(self.plan, self.seed, self.epoch)
        return (part for work in works if isinstance(work, Work) for part in parts.images(work))

    def first(self, count: int) -> list[Shown]:
        """So many samples of the epoch, or all of a shorter one. Raises SampleError."""
        shown: list[Shown] = []
        for work in self.works():
            shown += self.show(work, slice(0, count - len(shown)))
            if len(shown) == count:
                break
        return shown

    def show(self, work: Work, window: slice = EVERY) -> list[Shown]:
        """The samples in `window` of the batch `work`. Raises SampleError."""
        sized = self.plan if work.size is None else self.plan.at(work.size)
        how, few = mix_records(sized, work), cut(work, window)
        # Draws depend on the step, not on the batch's other samples; but these may be partners.
        engine = self.loader._make_engine(replace(self.loader._route, plan=self.plan))
        images, _ = next(iter(engine.epoch(iter([few if how is None else work]))))
        batches = images if self.plan.views else [images if how is None else images[window]]
        pixels = [
            denormalised(batch, plan) for batch, plan in zip(batches, sized.pictures, strict=True)
        ]
        small, sizes = self._thumbnails(few)
        drawn = [records_of(plan, few, np.array(sizes, np.int32)) for plan in sized.pictures]
        mixing = (
            [()] * len(few)
            if how is None
            else [log.mixing(sized, how, work, n) for n in range(len(work))[window]]
        )
        out = []
        for n, sample in enumerate(few.samples.tolist()):
            views = []
            for batch, each in zip(pixels, drawn, strict=True):
                plan, mine = each[n]
                _outline(small[n], sizes[n], plan, mine)
                lines = log.lines(plan.steps, mine) + mixing[n]
                views.append(View(plan, picture(batch[n]), lines))
            out.append(self._one(sample, sizes[n], small[n], views))
        return out

    def _thumbnails(self, work: Work) -> tuple[list[Image.Image], list[tuple[int, int]]]:
        """Of a batch's originals, and the originals' sizes. Raises SampleError."""
        small, sizes = [], []
        for sample in work.samples.tolist():
            image = self.original(sample)
            sizes.append(pil.size(image))
            image.thumbnail((ORIGINAL, ORIGINAL))
            small.append(image)
        return small, sizes

    def _one(
        self, sample: int, size: tuple[int, int], small: Image.Image, views: list[View]
    ) -> Shown:
        source = self.plan.source
        label = int(source.labels[sample])
        return Shown(
            sample,
            source.name(sample),
            label,
            log.class_name(source, label),
            size,
            small,
            tuple(views),
            self._target(sample),
        )

    def _target(self, sample: int) -> str:
        """Raises SampleError."""
        if self.plan.target is None:
            label = int(self.plan.source.labels[sample])
            return ", ".join(map(str, forms.beside(self.plan.form, label)))
        value = self.plan.target.of_one(self.plan.source, sample)
        return value if isinstance(value, str) else repr(value)

    def records(self, work: Work, sizes: list[tuple[int, int]]) -> list[Array]:
        """Each step's records [N, …] in the first view; sizes: height and width of each original,
        px.
        """
        return self.plan.records(work, np.array(sizes, np.int32))

    def original(self, sample: int) -> Image.Image:
        """The decoded image. Raises SampleError."""
        source = self.plan.source
        try:
            pixels = raw_pixels(source, sample)
            return pil.decode(read(source, sample)) if pixels is None else Image.fromarray(pixels)
        except pil.DECODE_ERRORS as error:
            raise pil.undecodable(source.name(sample), sample, error) from error


class Epoch(Batches):
    """The loader of a run, and its batches in any order. Raises FastloadError."""

    def __init__(self, run: Run) -> None:
        self.run, recipe = run, run.recipe
        data = run.dataset if recipe is None else lowering.open(run.data, recipe.transform())
        # "use": looking at pictures does not write to the user's cache.
        loader: DataLoader[Any] = DataLoader(
            data, run.batch_size, shuffle=True, seed=run.seed, backend=run.backend,
            seek_index="use", mix=None if recipe is None else recipe.mix(),
        )  # fmt: skip
        if loader._route.plan is None:
            raise UsageError(
                f"{run.data}: PyTorch's own engine runs this data set, and nobody can tell what it "
                f"draws: {loader._route.reasons[0]}"
            )
        super().__init__(loader, run.seed, run.epoch)

    def step(self, step: int) -> Work:
        """Batch number `step`. Raises UsageError."""
        count = len(self.loader)
        if not 0 <= step < count:
            images = f"{len(self.plan.source)} images in batches of {self.run.batch_size}"
            raise UsageError(f"show: --step is {step}, want 0 to {count - 1} ({images})")
        return next(islice(self.works(), step, None))

    def sample(self, sample: int) -> tuple[Work, slice]:
        """The batch that holds `sample`, and its position there. Raises UsageError."""
        count = len(self.plan.source)
        if not 0 <= sample < count:
            raise UsageError(
                f"replay: --sample is {sample}, want 0 to {count - 1} ({public(self.run.data)} has "
                f"{count} images)"
            )
        for work in self.works():
            positions = np.flatnonzero(work.samples == sample)
            if len(positions):
                return work, slice(int(positions[0]), int(positions[0]) + 1)
        raise AssertionError  # a shuffle is a permutation


def _outline(small: Image.Image, size: tuple[int, int], plan: Plan, mine: list[Array]) -> None:
    """Mark the box that RandomResizedCrop keeps, where it comes first."""
    if not plan.steps or not isinstance(plan.steps[0].op, RandomResizedCrop):
        return
    top, left, height, width = (int(v) for v in mine[0][:4])
    y, x = small.height / size[0], small.width / size[1]
    corners = (
        left * x,
        top * y,
        max(left * x, (left + width) * x - 1),
        max(top * y, (top + height) * y - 1),
    )
    ImageDraw.Draw(small).rectangle(corners, outline=BOX, width=2)


def cut(work: Work, window: slice) -> Work:
    """Some samples of a batch, with the same draws."""
    return replace(work, samples=work.samples[window], occurrences=work.occurrences[window])
