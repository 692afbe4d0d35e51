"""`fastload.show`: what the model will see, as a picture in a notebook."""

import copy
import io
import os
from collections.abc import Iterable
from typing import Any

import torch
from PIL import Image

from fastload.errors import UsageError
from fastload.loader import DataLoader
from fastload.order.buckets import BucketSampler
from fastload.order.groups import whole
from fastload.order.ranks import plain
from fastload.order.tokens import TokenSampler
from fastload.sheets import files, joint, sheet
from fastload.sheets.batch import ORIGINAL, Batches, Shown
from fastload.sheets.layout import Card, Sheet, fitted

LARGEST = 256  # px, longer side of an image on the sheet
LETTERS = 80  # of a caption
MOST_IMAGES = 256
SIZED = (BucketSampler, TokenSampler)  # whose images differ in size


class Picture:
    """What `fastload.show` gives: a notebook draws it where it is the last value of a cell.

    Args:
        contents: The cards.
    """

    def __init__(self, contents: Sheet) -> None:
        self.contents = contents

    @property
    def image(self) -> Image.Image:
        """The whole sheet as one RGB image."""
        return sheet.draw(self.contents)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to NAME.png, or to NAME.html with every picture inside. Raises UsageError."""
        where = os.fspath(path)
        if wrong := files.problems(where):
            raise UsageError("\n".join(wrong).replace("--output", "save"))
        files.save(self.contents, where)

    def __repr__(self) -> str:
        count = len(self.contents.cards)
        return f"{self.contents.title}: {count} image{'s' * (count != 1)}"

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.image.save(out, "PNG")
        return out.getvalue()


def show(
    data: "DataLoader[Any] | torch.utils.data.Dataset[Any]", n: int = 16, *, epoch: int = 0
) -> Picture:
    """Draw images as the model will see them, each beside its original, with every draw in words.

    The order is shuffled. Of a loader with a seed and `shuffle=True`, a `BucketSampler` or a
    `TokenSampler`, these are the first images of the epoch. Nothing of the loader changes, and its
    next epoch is the same as without it.

    Args:
        data: A `fastload.DataLoader`; or a data set that it runs natively, such as what
            `fastload.open` gives.
        n: How many images, 1 to 256; fewer where the data set is smaller.
        epoch: Which epoch's draws, from 0.

    Returns:
        A picture that a notebook shows; `.image` is it for Pillow, and `.save(path)` writes it.

    Raises:
        UsageError: `n` or `epoch` makes no sense, or PyTorch's own engine runs the data set.
        SampleError: An image cannot be read or decoded.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> train = fastload.open("train", [T.RandomResizedCrop(64), T.ToImage()])
        >>> picture = fastload.show(train, n=4)
        >>> picture
        fastload.show: 4 images
        >>> picture.save("batch.png")
    """
    n, epoch = plain(n), plain(epoch)
    if not (whole(n) and n <= MOST_IMAGES):
        raise UsageError(f"show: n is {n!r}, want 1 to {MOST_IMAGES}")
    if not (isinstance(epoch, int) and 0 <= epoch < 1 << 32):
        raise UsageError(f"show: epoch is {epoch!r}, want 0 to 2**32 - 1")
    if not isinstance(data, (torch.utils.data.DataLoader, torch.utils.data.Dataset)):
        raise UsageError(f"show: got a {type(data).__name__}, want a loader or a data set")
    if isinstance(data, DataLoader):
        dataset, seed, mix = data.dataset, data.seed or 0, data.mix
    else:
        dataset, seed, mix = data, 0, None
    order: dict[str, Any] = {"batch_size": n, "shuffle": True}
    if isinstance(data, DataLoader) and type(data.batch_sampler) in SIZED:
        order = {"batch_sampler": copy.copy(data.batch_sampler)}
    loader: DataLoader[Any] = DataLoader(dataset, **order, seed=seed, seek_index="use", mix=mix)
    if loader._route.plan is None:
        raise UsageError(
            "show: PyTorch's own engine runs this data set, and nobody can tell what it draws; "
            "print(loader.explain()) says why"
        )
    batches = Batches(loader, seed, epoch)
    drawn = _drawn(batches, n)
    notes = (
        f"epoch {epoch}, seed {seed}, {batches.backend} backend",
        "Left the original, right what the model gets, de-normalised.",
    )
    return Picture(Sheet("fastload.show", notes, drawn))


def _drawn(batches: Batches, count: int) -> tuple[Card, ...]:
    """The cards of the first samples. Raises SampleError."""
    if batches.plan.joint is None:
        return cards(batches.first(count))
    return tuple(joint.cards(batches.plan, batches.works(), count, LARGEST, ORIGINAL))


def short(text: str) -> str:
    """In one line, of so many letters."""
    line = " ".join(text.split())
    return line if len(line) <= LETTERS else f"{line[: LETTERS - 1]}…"


def cards(shown: Iterable[Shown]) -> tuple[Card, ...]:
    """One for each sample: its original, its views, what was drawn."""
    out = []
    for one in shown:
        height, width = one.size
        what = short(one.target) if one.target else f"{one.class_name} (label {one.label})"
        about = f"{what}, sample {one.sample}, {height}x{width} px"
        pictures = (one.original, *(fitted(view.image, LARGEST) for view in one.views))
        out.append(Card(os.path.basename(one.name), about, pictures, one.lines))
    return tuple(out)
