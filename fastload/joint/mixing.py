"""Joint transforms that mix a sample with others of its data set: fastload.detection's.

What they draw and what they do to targets is the transforms' own; the pixels are made here.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload.joint.picture import Fill, Picture, Size
from fastload.joint.steps import Draw, JointStep, Params, Target
from fastload.spec import Pixels, Singles

EACH = 3  # uniforms of a partner: which one, and two of the seed of its own draws
WORD = 1 << 32
RUNS = 16  # of true values in a row of a mask, mean, up to which each is copied for itself


@dataclass(frozen=True)
class Partner:
    """Another sample, as the steps before a mix have made it.

    Args:
        number: Among those that may be partners.
    """

    number: int
    picture: Picture
    target: Target


# A partner by the number of the mix's step, where it lies among all of them, from 0 to 1, and the
# seed of its draws.
Fetch = Callable[[int, float, int], Partner]


@dataclass(frozen=True)
class Mixing(JointStep):
    """One of them. `others` are of one sample; none where that is not mixed."""

    others: tuple[Partner, ...] = ()

    def among(self, draw: Draw, fetch: Callable[[float, int], Partner]) -> "Mixing":
        """The step of one sample, with its partners."""
        u = draw(1 + EACH * self.of.partners)
        if u[0] >= self.of.p:
            return self
        each = u[1:].reshape(-1, EACH).tolist()
        return replace(
            self,
            others=tuple(
                fetch(at, int(high * WORD) << 32 | int(low * WORD)) for at, high, low in each
            ),
        )

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        if not self.others:
            return None
        states = [(picture.size, target), *((one.picture.size, one.target) for one in self.others)]
        first = 1 + EACH * self.of.partners
        params = self.of.drawn(draw(first + self.of.draws(states))[first:], states)
        if params is None:
            return None
        partners = [one.number for one in self.others]
        return {"partners": partners, "sizes": [size for size, _ in states], **params}

    def move(self, picture: Picture, params: Params) -> None:
        pictures = [copy(picture), *(copy(one.picture) for one in self.others)]
        picture.become(self.pixels(pictures, params))

    def targets(self, target: Target, params: Params) -> Target:
        all_targets = [target, *(one.target for one in self.others)]
        moved: Target = self.of.target(list(zip(params["sizes"], all_targets, strict=True)), params)
        return moved

    @abstractmethod
    def pixels(self, pictures: Sequence[Picture], params: Params) -> Pixels:
        """uint8 [H, W, 3] of the sample's picture and its partners', which may be changed."""


@dataclass(frozen=True)
class Mosaic(Mixing):
    """Four images around a point."""

    def pixels(self, pictures: Sequence[Picture], params: Params) -> Pixels:
        out = _canvas(self.of.made, self.of.fill)
        places = self.of.places([picture.size for picture in pictures], params)
        for picture, place in zip(pictures, places, strict=True):
            top, left, bottom, right = place.seen(self.of.made)
            if bottom <= top or right <= left:
                continue
            picture.resize(place.height, place.width, "bilinear")
            picture.cut(top - place.top, left - place.left, bottom - top, right - left)
            out[top:bottom, left:right] = picture.made()
        return out


@dataclass(frozen=True)
class MixUp(Mixing):
    """Two images laid over each other."""

    def pixels(self, pictures: Sequence[Picture], params: Params) -> Pixels:
        size = self.of.holding([picture.size for picture in pictures])
        parts: list[Singles] = []
        for picture, share in zip(pictures, self.of.shares(params), strict=True):
            pixels, (height, width) = picture.made(), picture.size
            if (height, width) != size:
                on = _canvas(size, self.of.fill)
                on[:height, :width] = pixels
                pixels = on
            parts.append(np.multiply(pixels, share, dtype=np.float32))
        total = np.add(parts[0], parts[1], out=parts[0])
        out: Pixels = np.rint(total, out=total).astype(np.uint8)
        return out


@dataclass(frozen=True)
class CopyPaste(Mixing):
    """Objects of another image."""

    def pixels(self, pictures: Sequence[Picture], params: Params) -> Pixels:
        picture, other = pictures
        out: Pixels = picture.made().copy()
        other.resize(*picture.size, "bilinear")
        _paste(out, other.made(), params["mask"].numpy())
        return out


def _paste(out: Pixels, other: Pixels, mask: NDArray[np.bool_]) -> None:
    """Put the px of `other` where the mask is true, run by run: NumPy's own way looks at each value
    of each px.
    """
    ends = np.flatnonzero(np.diff(mask.ravel(), prepend=False, append=False)).reshape(-1, 2)
    if len(ends) > RUNS * len(mask):
        np.copyto(out, other, where=mask[..., None])
        return
    to, of = out.reshape(-1, 3), other.reshape(-1, 3)
    for begin, end in ends.tolist():
        to[begin:end] = of[begin:end]


def _canvas(size: Size, fill: Fill) -> Pixels:
    out: Pixels = np.empty((*size, 3), np.uint8)
    out.reshape(size[0], -1)[:] = np.tile(np.array(fill, np.uint8), size[1])
    return out


# By the transform's name.
MIXES: dict[str, Callable[[Any], Mixing]] = {
    "Mosaic": Mosaic, "MixUp": MixUp, "CopyPaste": CopyPaste,
}  # fmt: skip
