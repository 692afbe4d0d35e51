"""Transforms that make one image of several, and one target of their objects. `WithPartners` gives
them the other samples.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from PIL.Image import Image
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

from fastload.detection.merging import Size, Target
from fastload.errors import UsageError
from fastload.spec import Floats
from fastload.transforms import pil

Params = dict[str, Any]
State = tuple[Size, Target]  # an image's size, and its target
Fill = tuple[int, int, int]
KEYS = ("labels", "area", "iscrowd")  # there is one for each object, though they are plain
GREY = 114  # what YOLO's trainers fill with
STEPS = 1 << 32  # of a uniform


class BoxMix(v2.Transform):  # type: ignore[misc]
    """One of them.

    Args:
        p: How likely a sample is mixed.
        keys: Of the target, what has one value for each object beside tensors of torchvision's.
    """

    partners: ClassVar[int] = 1  # other samples that one mix takes
    says: ClassVar[tuple[str, ...]] = ("size", "alpha", "p", "fill", "blending")

    def __init__(self, p: float, keys: Sequence[str]) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise UsageError(f"{self.where}: p is {p}, want a number from 0 to 1; change it")
        if isinstance(keys, str):
            raise UsageError(f"{self.where}: keys is {keys!r}, want a list of names; give one")
        self.p, self.keys = float(p), tuple(keys)

    @property
    def where(self) -> str:
        return f"detection.{type(self).__name__}"

    def extra_repr(self) -> str:
        """Its arguments; `keys` where they are not the usual ones."""
        held = {name: value for name, value in vars(self).items() if name in self.says}
        shown = held if self.keys == KEYS else {**held, "keys": self.keys}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())

    def forward(self, *inputs: Any) -> Any:
        """Raises UsageError: one sample is not enough."""
        raise UsageError(
            f"{self.where}: got one sample, want {1 + self.partners}; give the data set and its "
            "v2.Compose to fastload.detection.WithPartners"
        )

    @abstractmethod
    def draws(self, states: Sequence[State]) -> int:
        """How many uniforms it needs. Raises ValueError."""

    @abstractmethod
    def drawn(self, u: Floats, states: Sequence[State]) -> Params | None:
        """What is done, by uniforms float64 [draws]; None: nothing. Raises ValueError."""

    @abstractmethod
    def picture(self, images: Sequence[Any], params: Params) -> torch.Tensor:
        """uint8 [3, H, W] of PIL images, or of tensors like that."""

    @abstractmethod
    def target(self, states: Sequence[State], params: Params) -> Target:
        """The target of that. Raises ValueError."""

    def sampled(self, samples: Sequence[tuple[Any, Target]]) -> Params | None:
        """`drawn` by torch's default generator. Raises ValueError."""
        states = [(pil.size(image), target) for image, target in samples]
        u = torch.randint(0, STEPS, (self.draws(states),)).numpy() / STEPS
        return self.drawn(np.asarray(u, np.float64), states)

    def mixed(self, samples: Sequence[tuple[Any, Target]], params: Params) -> tuple[Any, Target]:
        """The image and the target of samples, the first of which is the one to be mixed. Its image
        says the type of the result. Raises ValueError.
        """
        made = self.picture([self._checked(image) for image, _ in samples], params)
        first, image = samples[0][0], made
        if isinstance(first, Image):
            image = functional.to_pil_image(made)
        elif type(first) is tv_tensors.Image:
            image = tv_tensors.wrap(made, like=first)
        return image, self.target([(pil.size(one), target) for one, target in samples], params)

    def _checked(self, image: Any) -> Any:
        if isinstance(image, Image):
            got, fits = f"a PIL image in {image.mode}", image.mode == "RGB"
        elif isinstance(image, torch.Tensor):
            got = f"{str(image.dtype).removeprefix('torch.')} {list(image.shape)}"
            fits = image.dtype == torch.uint8 and image.ndim == 3 and len(image) == 3
        else:
            got, fits = f"a {type(image).__name__}", False
        if not fits:
            raise ValueError(
                f"{self.where} mixes PIL images in RGB or uint8 [3, H, W] (got {got}); place it "
                "before ToDtype"
            )
        return image


def fill_of(where: str, fill: int | Sequence[int]) -> Fill:
    """Of each channel. Raises UsageError."""
    values = (fill,) * 3 if isinstance(fill, int) else tuple(fill)
    if len(values) != 3 or any(type(one) is not int or not 0 <= one <= 255 for one in values):
        raise UsageError(
            f"{where}: fill is {fill!r}, want a whole number from 0 to 255, or one per channel; "
            "change it"
        )
    return (values[0], values[1], values[2])


def canvas(size: Size, fill: Fill) -> torch.Tensor:
    """uint8 [3, H, W] of one colour."""
    colour = torch.tensor(fill, dtype=torch.uint8)[:, None, None]
    return colour.expand(3, *size).clone()


def pixels(image: Any, size: Size | None = None) -> torch.Tensor:
    """uint8 [3, H, W] of a PIL image, or of a tensor like that; size: what it is resized to."""
    if size is not None and size != pil.size(image):
        image = functional.resize(image, list(size), antialias=True)
    tensor = functional.pil_to_tensor(image) if isinstance(image, Image) else image
    plain: torch.Tensor = tensor.as_subclass(torch.Tensor)
    return plain
