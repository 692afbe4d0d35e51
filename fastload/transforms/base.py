"""What every op has: a frozen description without pixels, in four parts (stage, draws, out_spec,
params).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, TypeGuard

import numpy as np
from PIL.Image import Image

from fastload.errors import PipelineError
from fastload.spec import Floats, Ints, Records, Spec, Stage

if TYPE_CHECKING:
    import torch

    ImageLike: TypeAlias = Image | torch.Tensor  # a tensor is [C, H, W]
else:  # torch takes seconds to import, and a recipe is described without it
    ImageLike: TypeAlias = object
Fill: TypeAlias = float | Sequence[float] | None  # outside an image, 0..255; None: black


class Params(NamedTuple):
    """What an op does to each of N samples.

    Args:
        records: [N, …], the op's fixed-size parameter records.
        sizes: int32 [N, 2], height and width after the op, px.

    Example:
        >>> import numpy as np
        >>> from fastload import transforms as T
        >>> sizes = np.array([[90, 120]], np.int32)
        >>> T.CenterCrop((48, 64)).params(np.zeros((1, 0)), sizes).sizes
        array([[48, 64]], dtype=int32)
    """

    records: Records
    sizes: Ints


@dataclass(frozen=True)
class Op:
    """One step of a pipeline. Subclasses are frozen dataclasses; nothing here touches pixels.

    Most are of a kind (kinds.py, programs.Program), which says how backends run them.

    Example:
        >>> from fastload import transforms as T
        >>> op: T.Op = T.RandomResizedCrop(48)
        >>> op.name, op.stage.name
        ('RandomResizedCrop', 'CROP')
    """

    stage: ClassVar[Stage]
    movable: ClassVar[bool] = False  # may also come after ops of AUGMENT; then it is one of theirs
    fast_decode: ClassVar[bool] = False  # goes with JPEGs decoded at 1/2, 1/4 or 1/8 of their size
    # What torchvision's transform of the same name is made of: the attributes that become the op's
    # arguments. None: it has no such transform.
    torchvision: ClassVar[tuple[str, ...] | None] = None

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def per_batch(self) -> bool:
        """Whether its draws are keyed by the batch, and shared by its samples."""
        return False

    @property
    def keeps_masks(self) -> bool:
        """Whether all pixels stay where they are, so that a mask is left as it is."""
        return False

    def colour(self, channels: int = 3) -> tuple[int, ...]:
        """What lies outside the image, 0..255 per channel: the op's `fill`; black without one."""
        return fill_colour(getattr(self, "fill", None), channels)

    def scaled(self, factor: float) -> "Op | None":
        """The op of CROP that makes images `factor` times as high and wide; None: there is none."""
        return None

    def fitted(self, height: float, width: float) -> "Op | None":
        """The op of CROP that makes images so many times as high and as wide, whose contents keep
        their shape; None: there is none.
        """
        return self.scaled(height) if height == width else None

    def words(self, record: Records, before: Spec) -> str:
        """What one sample's record means, as `show` says it; "": nothing worth a line.

        before: the image before the op.
        """
        return ""

    def problems(self, spec: Spec) -> list[str]:
        """Everything that makes this op impossible on an image like `spec`:

        "what (got, want); what to do".
        """
        return []

    def draws(self, spec: Spec) -> int:
        """How many uniforms the op takes per sample (per batch where `per_batch`)."""
        return 0

    def out_spec(self, spec: Spec) -> Spec:
        """The image after the op."""
        return spec

    def params(self, u: Floats, sizes: Ints) -> Params:
        """Parameter records of N samples: u float64 [N, draws] in [0, 1), sizes int32 [N, 2] before
        the op, px.

        A pure function: the same u and sizes give the same records on every machine and backend.
        """
        return Params(np.zeros((len(sizes), 0), np.int32), sizes)

    def __call__(self, image: ImageLike) -> ImageLike:
        """Apply the op to one image:

        PIL, or uint8 tensor [C, H, W]; draws come from torch's default generator.
        """
        return self.applied(image)[0]

    def applied(self, image: ImageLike) -> tuple[ImageLike, Records]:
        """What a call gives, and the record that it drew."""
        import torch

        from fastload.transforms import pil  # the pixels; kept apart from the descriptions

        height, width = pil.size(image)
        spec = Spec(height, width, pil.channels(image))
        if isinstance(image, torch.Tensor):
            spec = replace(
                spec,
                dtype=str(image.dtype).removeprefix("torch."),
                tensor=self.stage is Stage.STORE,
            )
        problems = self.problems(spec)
        if not spec.tensor and spec.dtype != "uint8":
            problems.append(
                f"image is {spec.dtype}, want uint8; ops of {self.stage.name} come before a change "
                "of type"
            )
        if problems:
            raise PipelineError(f"{self.name}: {problem}" for problem in problems)
        u = torch.rand(1, self.draws(spec), dtype=torch.float64).numpy()
        record = self.params(u, np.array([[height, width]], np.int32)).records[0]
        return pil.apply_any(self, image, record), record


def pair(size: object) -> tuple[int, ...]:
    """torchvision's `size` arguments: one number, also in a list, or (height, width), px.

    A wrong length or type is reported by `size_problems`.
    """
    several = tuple(size) if isinstance(size, Iterable) and not isinstance(size, str) else (size,)
    return several * 2 if len(several) == 1 else several


def scaled_size(size: int | tuple[int, ...], factor: float) -> int | tuple[int, ...]:
    """A `size` argument times `factor`, px, each side 1 at least."""
    if isinstance(size, tuple):
        return tuple(max(1, round(px * factor)) for px in size)
    return max(1, round(size * factor))


def fitted_size(size: int | tuple[int, ...], height: float, width: float) -> tuple[int, int]:
    """A `size` argument, of which one number means both sides, times `height` and `width`, px."""
    rows, columns = pair(size)
    return max(1, round(rows * height)), max(1, round(columns * width))


def size_problems(size: tuple[int, ...]) -> list[str]:
    if len(size) != 2:
        return [f"size has {len(size)} numbers ({size}), want 1 or 2; give height and width"]
    bad = [
        s for s in size if isinstance(s, bool) or not isinstance(s, int) or not 1 <= s <= MAX_SIDE
    ]
    return [f"size is {size}, want whole numbers from 1 to {MAX_SIDE} px"] if bad else []


MAX_SIDE = 16384  # px of a model's input; larger ones are slips of the keyboard


def probability_problems(name: str, p: float) -> list[str]:
    return [] if is_number(p) and 0 <= p <= 1 else [f"{name} is {p}, want 0 to 1"]


# torchvision's InterpolationMode values and PIL's numbers of the same filters (Image.Resampling).
FILTERS = {"nearest": 0, "box": 4, "bilinear": 2, "hamming": 5, "bicubic": 3, "lanczos": 1}
WARPING = ("nearest", "bilinear", "bicubic")  # those that PIL's transform() takes


def filter_name(interpolation: object) -> str:
    """torchvision's InterpolationMode, its value, or PIL's number, as plain text."""
    for name, number in FILTERS.items():
        if type(interpolation) is int and interpolation == number:
            return name
    return str(getattr(interpolation, "value", interpolation)).lower()


def filter_problems(interpolation: str, known: Iterable[str] = WARPING) -> list[str]:
    return (
        []
        if interpolation in known
        else [f"interpolation is {interpolation!r}, want one of {', '.join(known)}"]
    )


def definition_problems(definition: str, *known: str) -> list[str]:
    return (
        []
        if definition in known
        else [f"definition is {definition!r}, want one of {', '.join(known)}"]
    )


def fill_colour(fill: Fill, channels: int) -> tuple[int, ...]:
    """torchvision's `fill` as PIL takes it: one int (0..255) per channel; None is black."""
    values = (0,) if fill is None else (fill,) if isinstance(fill, (int, float)) else tuple(fill)
    return tuple(int(v) for v in values) * (channels if len(values) == 1 else 1)


def fill_problems(fill: object, channels: int) -> list[str]:
    values = (0,) if fill is None else fill if isinstance(fill, (tuple, list)) else (fill,)
    fits = len(values) in (1, channels) and all(is_number(v) and 0 <= v <= 255 for v in values)
    return (
        []
        if fits
        else [
            (
                f"fill is {fill}, want None (black), a number from 0 to 255, or one for each of "
                f"{channels} channels"
            )
        ]
    )


def is_number(value: object) -> TypeGuard[float]:
    """A finite int or float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def everywhere(size: tuple[int, int], sizes: Ints) -> Ints:
    """The same size for every sample: int32 [N, 2]."""
    return np.tile(np.array(size, np.int32), (len(sizes), 1))
