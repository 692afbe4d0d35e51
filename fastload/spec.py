"""What flows between the stages: array types, and the shape, type and layout of an image on its
way.
"""

import enum
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
class Work:
    """The samples of one batch and everything that their random numbers depend on.

    samples, occurrences: int64 [N]; occurrence is the nth appearance of the sample in the epoch's
        global order.
    """

    samples: Longs
    occurrences: Longs
    seed: int  # 64 bits, unsigned
    epoch: int
    step: int  # batch number in the epoch
    rank: int = 0
    size: int | None = None  # of the size schedule, px; None: what the pipeline gives
    view: int = 0  # which of several pictures of its samples
    # [N], handed out with the batch: False where a sample only fills it up
    valid: NDArray[np.bool_] | None = None
    # [K]: samples that may stand in for a bad one; None: any of the data set
    choices: Longs | None = None

    def of_view(self, view: int, views: int) -> "Work":
        """The same samples for one of `views` pictures of each: every view is an occurrence of its
        own.
        """
        return replace(self, occurrences=self.occurrences * views + view, view=view)

    def __len__(self) -> int:
        return len(self.samples)
