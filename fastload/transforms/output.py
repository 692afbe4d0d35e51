"""STORE: from an image to the tensor that the model sees.

Names, defaults and arithmetic are torchvision v2's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from fastload.spec import Spec
from fastload.transforms.kinds import Values

DTYPES = ("uint8", "float16", "bfloat16", "float32")  # what STORE can write


def dtype_name(dtype: object) -> str:
    """torch.float32, "float32" or np.float32 as plain text."""
    return str(getattr(dtype, "__name__", dtype)).removeprefix("torch.")


@dataclass(frozen=True)
class ToImage(Values):
    """Image to uint8 tensor [C, H, W].

    Args:
        channels_last: Whether the batch keeps PIL's memory order; its shape stays [N, C, H, W].

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.ToImage()(Image.new("RGB", (120, 90))).shape
        torch.Size([3, 90, 120])
    """

    channels_last: bool = False

    torchvision = ()

    def problems(self, spec: Spec) -> list[str]:
        return (
            ["the image is a tensor already; give one of ToImage, PILToTensor, ToTensor"]
            if spec.tensor
            else []
        )

    def out_spec(self, spec: Spec) -> Spec:
        return replace(spec, tensor=True, channels_last=self.channels_last)

    def linear(self, before: Spec) -> tuple[ArrayLike, ArrayLike] | None:
        return 0, 1


@dataclass(frozen=True)
class PILToTensor(ToImage):
    """The same as ToImage, under torchvision's other name.

    Args:
        channels_last: Whether the batch keeps PIL's memory order; its shape stays [N, C, H, W].

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.PILToTensor()(Image.new("RGB", (120, 90))).dtype
        torch.uint8
    """


@dataclass(frozen=True)
class ToTensor(ToImage):
    """Image to float32 tensor [C, H, W] in 0..1 (torchvision's first API).

    Args:
        channels_last: Whether the batch keeps PIL's memory order; its shape stays [N, C, H, W].

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.ToTensor()(Image.new("RGB", (120, 90), "white")).max()
        tensor(1.)
    """

    def out_spec(self, spec: Spec) -> Spec:
        return replace(super().out_spec(spec), dtype="float32", scaled=True)

    def linear(self, before: Spec) -> tuple[ArrayLike, ArrayLike] | None:
        return 0, 255


@dataclass(frozen=True)
class ToDtype(Values):
    """Change the type; scale=True also maps 0..255 to 0..1.

    torchvision v2 does so; its default is False.

    Args:
        dtype: torch's or its name: uint8, float16, bfloat16 or float32.
        scale: Whether values of uint8 become values from 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = T.ToImage()(Image.new("RGB", (120, 90), "white"))
        >>> T.ToDtype("float32", scale=True)(image).max()
        tensor(1.)
    """

    dtype: Any = "float32"
    scale: bool = False

    torchvision: ClassVar[tuple[str, ...] | None] = ("dtype", "scale")

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_name(self.dtype))

    def problems(self, spec: Spec) -> list[str]:
        problems = [] if spec.tensor else ["the image is no tensor yet; put ToImage before it"]
        if self.dtype not in DTYPES:
            problems.append(f"dtype is {self.dtype}, want one of {', '.join(DTYPES)}")
        if self.dtype == "uint8" and spec.dtype != "uint8":
            problems.append(f"would turn {spec.dtype} back to uint8; drop it")
        return problems

    def out_spec(self, spec: Spec) -> Spec:
        scaled = spec.scaled or (self.scale and spec.dtype == "uint8" and self.dtype != "uint8")
        return replace(spec, dtype=self.dtype, scaled=scaled)

    def linear(self, before: Spec) -> tuple[ArrayLike, ArrayLike] | None:
        scales = self.scale and before.dtype == "uint8" != self.dtype
        return 0, 255 if scales else 1


@dataclass(frozen=True)
class ConvertImageDtype(ToDtype):
    """torchvision's first API for ToDtype(scale=True).

    It divides by 255 where ToDtype multiplies by 1/255.

    Args:
        dtype: torch's or its name: uint8, float16, bfloat16 or float32.
        scale: Whether values of uint8 become values from 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = T.ToImage()(Image.new("RGB", (120, 90), "white"))
        >>> T.ConvertImageDtype("float32")(image).max()
        tensor(1.)
    """

    scale: bool = True

    torchvision = ("dtype",)


@dataclass(frozen=True)
class Normalize(Values):
    """(value - mean) / std per channel; mean and std in the units that the image has by then.

    Args:
        mean: One number per channel, or one for all.
        std: The same; no 0, which would divide.
        inplace: torchvision's argument; batches are always written in place.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = T.ToTensor()(Image.new("RGB", (120, 90), "white"))
        >>> T.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])(image).max()
        tensor(2.)
    """

    mean: Sequence[float]
    std: Sequence[float]
    inplace: bool = False

    torchvision = ("mean", "std", "inplace")

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", tuple(float(v) for v in self.mean))
        object.__setattr__(self, "std", tuple(float(v) for v in self.std))

    def problems(self, spec: Spec) -> list[str]:
        problems = [
            f"{name} has {len(values)} value{'s' * (len(values) != 1)}, image has {spec.channels} "
            "channels; give one value per channel"
            for name, values in (("mean", self.mean), ("std", self.std))
            if len(values) not in (1, spec.channels)
        ]
        if 0.0 in self.std:
            problems.append(f"std is {self.std}, want no 0; it divides")
        if not spec.tensor or spec.dtype == "uint8":
            problems.append(
                "images are uint8, want float; put ToDtype(float32, scale=True) before it"
            )
        return problems

    def linear(self, before: Spec) -> tuple[ArrayLike, ArrayLike] | None:
        return self.mean, self.std
