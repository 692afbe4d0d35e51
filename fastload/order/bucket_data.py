"""The sizes of a data set's images, whoever's class the data set is of."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset

from fastload.errors import UsageError
from fastload.sources import FileSource, Source, image_sizes
from fastload.spec import Ints


def sizes(data: Any, who: str = "BucketSampler") -> Ints:
    """int32 [N, 2]: height and width of each image, px; 0, 0 where nobody can tell.

    data: a data set of fastload's; one with `samples`, pairs of a path and something else, as
        torchvision's; a Subset or ConcatDataset of such; or the sizes themselves.

    who: The sampler that asks, for messages.

    Raises UsageError and SourceError.
    """
    source: Source | None = getattr(getattr(data, "pipeline", None), "source", None)
    if source is not None:
        return image_sizes.of(source)
    if isinstance(data, Subset):
        return sizes(data.dataset, who)[np.asarray(data.indices, np.int64)]
    if isinstance(data, ConcatDataset):
        return np.concatenate([sizes(part, who) for part in data.datasets])
    if isinstance(samples := getattr(data, "samples", None), list):
        paths = tuple(str(sample[0]) for sample in samples)
        nobody = np.zeros(len(paths), np.int64)
        return image_sizes.of(FileSource(str(getattr(data, "root", "")), paths, nobody, ()))
    return _given(data, who)


def _given(data: object, who: str) -> Ints:
    try:
        # Without a look at what is no list of numbers: a data set would load its images.
        array = np.asarray(data) if isinstance(data, (Sequence, np.ndarray, torch.Tensor)) else None
    except ValueError:
        array = None
    if array is not None and array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu":
        for px in (array.min(), array.max()) if len(array) else ():
            if not 0 <= px < 1 << 31:
                raise UsageError(f"{who}: data has a size of {px} px, want 0 to 2**31 - 1")
        return array.astype(np.int32)
    raise UsageError(
        f"{who}: data is of {type(data).__name__}, and nothing tells its images' sizes; "
        "give them in its place: heights and widths, int [N, 2]"
    )
