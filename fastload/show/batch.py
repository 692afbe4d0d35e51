"""Batches that a DataLoader would give, made alone, each sample with what was drawn for it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from fastload import lowering
from fastload.errors import SampleError, UsageError
from fastload.loader import DataLoader
from fastload.plan import Plan, records
from fastload.recipes import Recipe
from fastload.show import log
from fastload.show.pixels import denormalised, picture
from fastload.sources import read
from fastload.spec import Work
from fastload.transforms import RandomResizedCrop, pil

ORIGINAL = 176  # px, longer side of the small originals
BOX = (230, 30, 30)  # colour of the crop's outline


@dataclass(frozen=True)
class Run:
    """One epoch of DataLoader(open(data, recipe), batch_size, shuffle=True, seed=seed)."""

    data: str
    recipe: Recipe
    seed: int = 0
    epoch: int = 0
    batch_size: int = 16
    backend: str = "auto"


@dataclass(frozen=True)
class Shown:
    """One sample of a batch."""

    sample: int
    name: str
    label: int
    class_name: str
    size: tuple[int, int]  # of the original: height, width; px
    original: Image.Image  # small, with the crop's outline
    image: Image.Image  # what the model gets, de-normalised
    log: tuple[log.Line, ...]

    def as_dict(self) -> dict[str, Any]:
        facts = {"sample": self.sample, "name": self.name, "label": self.label, "class": self.class_name, "size_px": list(self.size)}
        return {**facts, "log": [line.as_dict() for line in self.log]}


class Epoch:
    """The loader of a run, and its batches in any order. Raises FastloadError."""

    def __init__(self, run: Run) -> None:
        dataset = lowering.open(run.data, list(run.recipe.ops()))
        self.run = run
        # "use": looking at pictures does not write to the user's cache.
        self.loader = DataLoader(dataset, run.batch_size, shuffle=True, seed=run.seed, backend=run.backend, seek_index="use")
        route = self.loader._route
        assert route.plan is not None  # a fastload data set is never left to PyTorch's own engine
        self.plan: Plan = route.plan
        self.backend = str(route.backend)

    def works(self) -> Iterator[Work]:
        self.loader.set_epoch(self.run.epoch)
        works = self.loader._works(self.plan, self.run.seed, self.run.epoch)
        return (work for work in works if isinstance(work, Work))

    def step(self, step: int) -> Work:
        """Batch number `step`. Raises UsageError."""
        count = len(self.loader)
        if not 0 <= step < count:
            images = f"{len(self.plan.source)} images in batches of {self.run.batch_size}"
            raise UsageError(f"show: --step is {step}, want 0 to {count - 1} ({images})")
        return next(islice(self.works(), step, None))

    def sample(self, sample: int) -> Work:
        """The batch that holds `sample`, cut to it: draws depend on the step, not on the batch's other samples. Raises UsageError."""
        count = len(self.plan.source)
        if not 0 <= sample < count:
            raise UsageError(f"replay: --sample is {sample}, want 0 to {count - 1} ({self.run.data} has {count} images)")
        for work in self.works():
            found = np.flatnonzero(work.samples == sample)
            if len(found):
                return cut(work, slice(int(found[0]), int(found[0]) + 1))
        raise AssertionError  # a shuffle is a permutation

    def show(self, work: Work) -> list[Shown]:
        """The samples of `work` as its batch has them. Raises SampleError."""
        images, _ = next(iter(self.loader._make_engine(self.loader._route).epoch(iter([work]))))
        pixels = denormalised(images, self.plan)
        small, sizes = [], []
        for sample in work.samples:
            image = self.original(int(sample))
            sizes.append(pil.size(image))
            image.thumbnail((ORIGINAL, ORIGINAL))
            small.append(image)
        drawn = self.records(work, sizes)
        out = []
        for place in range(len(work)):
            mine = [record[place] for record in drawn]
            self._outline(small[place], sizes[place], mine)
            out.append(self._one(int(work.samples[place]), sizes[place], small[place], picture(pixels[place]), mine))
        return out

    def _one(self, sample: int, size: tuple[int, int], small: Image.Image, image: Image.Image, mine: list[Any]) -> Shown:
        source = self.plan.source
        label = int(source.labels[sample])
        return Shown(sample, source.name(sample), label, source.classes[label], size, small, image, log.lines(self.plan.steps, mine))

    def records(self, work: Work, sizes: list[tuple[int, int]]) -> list[Any]:
        """Each step's records [N, …]; sizes: height and width of each original, px."""
        return records(self.plan.steps, work, np.array(sizes, np.int32))

    def original(self, sample: int) -> Image.Image:
        """The decoded image. Raises SampleError."""
        source = self.plan.source
        try:
            return pil.decode(read(source, sample))
        except pil.DECODE_ERRORS as error:
            raise SampleError(source.name(sample), sample, f"cannot be decoded ({error}); mend or remove the file") from error

    def _outline(self, small: Image.Image, size: tuple[int, int], mine: list[Any]) -> None:
        """Mark the box that RandomResizedCrop keeps, where it comes first."""
        if not self.plan.steps or not isinstance(self.plan.steps[0].op, RandomResizedCrop):
            return
        top, left, height, width = (int(v) for v in mine[0])
        y, x = small.height / size[0], small.width / size[1]
        corners = (left * x, top * y, max(left * x, (left + width) * x - 1), max(top * y, (top + height) * y - 1))
        ImageDraw.Draw(small).rectangle(corners, outline=BOX, width=2)


def cut(work: Work, places: slice) -> Work:
    """Some samples of a batch, with the same draws."""
    return replace(work, samples=work.samples[places], occurrences=work.occurrences[places])
