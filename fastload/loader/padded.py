"""Batches of images of their own sizes as one tensor: each image lies in its upper left corner."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from fastload.engine.slots import Ring
from fastload.errors import UsageError

KEPT = 2  # free slots: the consumer holds one while the next is filled
MULTIPLE = 32  # px, what most backbones divide a side by


class PaddedBatch(NamedTuple):
    """What `Padded` makes of a batch.

    Args:
        images: [N, C, H, W] of the images' type.
        mask: bool [N, H, W], True where the image is.
        sizes: int64 [N, 2], height and width of each image, px.
        targets: What came with each image, as it came.

    Example:
        >>> import torch
        >>> from fastload.loader.padded import Padded
        >>> batch = Padded()([(torch.ones(3, 20, 40), "a target")])
        >>> batch.sizes.tolist(), int(batch.mask.sum())
        ([[20, 40]], 800)
    """

    images: torch.Tensor
    mask: torch.Tensor
    sizes: torch.Tensor
    targets: list[Any]


class Padded:
    """A `collate_fn`: one tensor of images of several sizes, a mask and the sizes.

    It does for PyTorch's own loader, too. DETR is trained so (Carion et al. 2020,
    arXiv:2005.12872). The original DETR's mask is this one's opposite, and `pixel_mask` of
    transformers is `mask.long()`. Memory of batches that are no longer used is used again.

    Args:
        multiple_of: Height and width of a batch are the smallest multiples of so many px
            that hold its largest images; 1: they are those of the largest images.
        size: Height and width of all batches, px, as a compiled model wants them; None:
            each batch has its own.
        fill: The value of padding. Images that were normalised have 0 for the mean.

    Raises:
        UsageError: An argument makes no sense, or a batch has no images that can be
            padded.

    Example:
        >>> import torch
        >>> import fastload
        >>> samples = [(torch.ones(3, 20, 40), {"labels": [1]}), (torch.ones(3, 50, 30), {})]
        >>> images, mask, sizes, targets = fastload.Padded(multiple_of=16)(samples)
        >>> images.shape, mask.shape
        (torch.Size([2, 3, 64, 48]), torch.Size([2, 64, 48]))
        >>> sizes.tolist(), targets
        ([[20, 40], [50, 30]], [{'labels': [1]}, {}])
    """

    def __init__(
        self,
        multiple_of: int = MULTIPLE,
        *,
        size: tuple[int, int] | None = None,
        fill: float = 0.0,
    ) -> None:
        if not _is_count(multiple_of):
            raise UsageError(f"Padded: multiple_of is {multiple_of!r}, want 1 px or more")
        if size is not None and not (
            isinstance(size, tuple | list) and len(size) == 2 and all(map(_is_count, size))
        ):
            raise UsageError(f"Padded: size is {size!r}, want (height, width), px, or None")
        if isinstance(fill, bool) or not isinstance(fill, int | float):
            raise UsageError(f"Padded: fill is {fill!r}, want a number")
        self.multiple_of, self.size, self.fill = multiple_of, size, fill
        self._begin()

    def _begin(self) -> None:
        self._images: dict[bool, Ring] = {}  # by whether their memory is pinned

    def __call__(self, samples: Sequence[Any]) -> PaddedBatch:
        """samples: pairs of an image [C, H, W] and what comes with it."""
        images, targets = _apart(samples)
        _check_fill(self.fill, images[0].dtype)
        sizes = [(image.shape[1], image.shape[2]) for image in images]
        height, width = self._shape(sizes)
        out = self._taken((len(images), images[0].shape[0], height, width), images[0])
        mask = torch.zeros((len(images), height, width), dtype=torch.bool)
        for number, (image, (high, wide)) in enumerate(zip(images, sizes, strict=True)):
            out[number, :, :high, :wide] = image
            out[number, :, high:] = self.fill
            out[number, :, :high, wide:] = self.fill
            mask[number, :high, :wide] = True
        return PaddedBatch(out, mask, torch.tensor(sizes), targets)

    def _shape(self, sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Height and width of a batch. Raises UsageError."""
        height, width = (max(side) for side in zip(*sizes, strict=True))
        if self.size is None:
            return _multiple(height, self.multiple_of), _multiple(width, self.multiple_of)
        if height > self.size[0] or width > self.size[1]:
            high, wide = next(
                one for one in sizes if one[0] > self.size[0] or one[1] > self.size[1]
            )
            raise UsageError(
                f"Padded: an image has {high}x{wide} px (want {self.size[0]}x{self.size[1]} at "
                "most); resize it before, or give a larger size"
            )
        return self.size[0], self.size[1]

    def _taken(self, shape: tuple[int, ...], like: torch.Tensor) -> torch.Tensor:
        """Memory of that shape. Raises HostMemoryError."""
        pinned = like.is_pinned()
        if pinned not in self._images:
            self._images[pinned] = Ring(KEPT, pinned=pinned)
        nbytes = int(np.prod(shape, dtype=np.int64)) * like.element_size()
        memory = torch.from_numpy(self._images[pinned].take((nbytes,), np.dtype(np.uint8)))
        return memory.view(like.dtype).view(shape)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_images"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def __repr__(self) -> str:
        size = "" if self.size is None else f", size={tuple(self.size)}"
        return f"Padded(multiple_of={self.multiple_of}{size}, fill={self.fill:g})"


def _check_fill(fill: float, dtype: torch.dtype) -> None:
    """Raises UsageError for one that images of whole numbers cannot hold."""
    if dtype.is_floating_point or dtype.is_complex:
        return
    low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    if not (low <= fill <= high and fill == int(fill)):
        name = str(dtype).removeprefix("torch.")
        raise UsageError(
            f"Padded: fill is {fill:g}, but images are {name} (want a whole number, {low} to "
            f"{high}); change it, or convert the images before"
        )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _multiple(side: int, of: int) -> int:
    return -(-side // of) * of


def _apart(samples: Sequence[Any]) -> tuple[list[torch.Tensor], list[Any]]:
    """Images, and what came with them. Raises UsageError."""
    images, targets = [], []
    for number, sample in enumerate(samples):
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise UsageError(
                f"Padded: sample {number} of the batch is a {type(sample).__name__}, want a pair "
                "of an image and its target"
            )
        images.append(_plain(number, sample[0]))
        targets.append(sample[1])
    kinds = {(image.dtype, image.shape[0]) for image in images}
    if len(kinds) != 1:
        said = sorted(f"{str(dtype).removeprefix('torch.')} of {n} channels" for dtype, n in kinds)
        raise UsageError(
            f"Padded: images of a batch are {' and '.join(said) or 'none'}, want one type and one "
            "number of channels; convert them before"
        )
    return images, targets


def _plain(number: int, image: object) -> torch.Tensor:
    """As an ordinary tensor. Raises UsageError."""
    if not isinstance(image, torch.Tensor) or image.ndim != 3 or not image.numel():
        got = list(image.shape) if isinstance(image, torch.Tensor) else type(image).__name__
        raise UsageError(
            f"Padded: the image of sample {number} of the batch is {got}, want a tensor [C, H, W]; "
            "end the transforms in ToImage or ToTensor"
        )
    return image.as_subclass(torch.Tensor)
