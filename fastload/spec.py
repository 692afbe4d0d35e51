"""What flows between the stages: array types, and the shape, type and layout of an image on its
way.
"""

import enum
import functools
import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Pixels: TypeAlias = NDArray[np.uint8]
Array: TypeAlias = NDArray[Any]  # of any dtype
Dtype: TypeAlias = np.dtype[np.generic]
Bools: TypeAlias = NDArray[np.bool_]
Singles: TypeAlias = NDArray[np.float32]
Records: TypeAlias = Ints | Floats  # of one op: [N, ...], or of one sample [...]
Json: TypeAlias = dict[str, Any]  # an object of a JSON document, checked where it is read
# Of a batch's images, px: a side by the size schedule, or height and width of a bucket
Size: TypeAlias = int | tuple[int, int]

# Numbers of occurrences that the random keys hold. What comes more often in an epoch, which an
# endless sampler may, has the draws of the first ones again.
OCCURRENCES = 1 << 16


@functools.lru_cache(maxsize=16)
def repeated(value: int, count: int) -> Longs:
    """int64 [count] of one value, which batches share: it is read only."""
    out = np.full(count, value, np.int64)
    out.flags.writeable = False
    return out


def finite(value: Any) -> Any:
    """The same document with null where a number is none: JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Stage(enum.IntEnum):
    """The closed, ordered list of what happens to a sample.

    Ops of one stage may not follow ops of a later one.
    """

    DECODE = 0
    CROP = 1  # box, flip, resize
    AUGMENT = 2  # a short program of uint8 ops
    STORE = 3  # row and column gather, normalise, dtype, layout: rounded once


@dataclass(frozen=True)
class Spec:
    """One image between two ops. height and width (px) are None while they differ from sample to
    sample.
    """

    height: int | None = None
    width: int | None = None
    channels: int = 3
    dtype: str = "uint8"  # NumPy's name, or "bfloat16"
    tensor: bool = False  # False: still an image as PIL has it; True: a tensor [C, H, W]
    scaled: bool = False  # values in 0..1 (True) or 0..255 (False)
    channels_last: bool = False  # memory order of the batch; its shape is always [N, C, H, W]

    def resized(self, height: int | None, width: int | None) -> "Spec":
        return replace(self, height=height, width=width)


@dataclass(frozen=True)
class Tokens:
    """How the images of a batch lie in its rows of patches.

    Args:
        patch: Side of a patch, px.
        length: Patches of a row, with those that fill it up.
        grids: int32 [N, 2]: patches high and wide of each image.
    """

    patch: int
    length: int
    grids: Ints


@dataclass(frozen=True)
class Work:
    """The samples of one batch and everything that their random numbers depend on.

    Args:
        samples: int64 [N], numbers in the source.
        occurrences: int64 [N], how often each has come before in the epoch's global order.
        seed: 64 bits, unsigned.
        epoch: From 0.
        step: Number of the batch in the epoch, from 0.
        rank: Of this process among the ranks.
        size: Side in px by the size schedule, or height and width of the batch's bucket; None: what
            the pipeline gives.
        view: Which of several pictures of its samples.
        valid: bool [N], handed out with the batch: False where a sample only fills it up.
        choices: int64 [K], samples that may stand in for a bad one; None: any of the data set.
        tokens: Of a batch of patches; None: it has images.

    Example:
        >>> import numpy as np
        >>> from fastload.extending import Work
        >>> work = Work(np.array([4, 2]), np.array([0, 0]), seed=7, epoch=0, step=0)
        >>> len(work), work.of_view(1, 2).occurrences.tolist()
        (2, [1, 1])
    """

    samples: Longs
    occurrences: Longs
    seed: int
    epoch: int
    step: int
    rank: int = 0
    size: Size | None = None
    view: int = 0
    valid: NDArray[np.bool_] | None = None
    choices: Longs | None = None
    tokens: Tokens | None = None

    def batch(
        self,
        step: int,
        samples: Longs,
        occurrences: Longs,
        choices: Longs | None,
        valid: NDArray[np.bool_] | None = None,
    ) -> "Work":
        """Another batch of the same epoch: `replace` in less time."""
        out = object.__new__(Work)
        vars(out).update(
            vars(self), step=step, samples=samples, occurrences=occurrences, choices=choices,
            valid=valid
        )  # fmt: skip
        return out

    def of_view(self, view: int, views: int) -> "Work":
        """The same samples for one of `views` pictures of each: every view is an occurrence of its
        own.
        """
        occurrences = (self.occurrences * views + view) % OCCURRENCES
        return replace(self, occurrences=occurrences, view=view)

    def __len__(self) -> int:
        return len(self.samples)
