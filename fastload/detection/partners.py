"""A data set whose samples are mixed with others of it, by Mosaic, MixUp and CopyPaste."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard, cast

import torch
import torch.utils.data

from fastload.dataset import position
from fastload.errors import UsageError

Sample = tuple[Any, Any]
Part = Callable[..., Any]  # a transform of an image and its target
MOST_IMAGES = 64  # of which one sample is made: three Mosaics of each other


class WithPartners(torch.utils.data.Dataset[Sample]):
    """A data set and its transforms, among which Mosaic, MixUp and CopyPaste may stand.

    What a mix takes beside a sample is any sample of the data set, itself included, each with the
    same chance. It has gone through the transforms before the mix, with draws of its own. So
    another mix may stand there, too.

    fastload's loader runs it natively. Draws then depend on seed, epoch and sample, as everywhere.
    On PyTorch's own loader they come from torch's default generator.

    Args:
        data: Gives pairs of an image and its target, not transformed: one of fastload.detection's,
            or of torchvision's in wrap_dataset_for_transforms_v2; or a Subset of such, whose
            samples are then the only partners.
        transforms: torchvision's v2.Compose, or a list.

    Raises:
        UsageError: The data set has no length, or transforms of its own. Or mixes of mixes take
            more than 64 images for one sample.

    Example:
        >>> from fastload import detection
        >>> from torchvision.transforms import v2
        >>> mixes = v2.Compose([detection.Mosaic(64), v2.RandomCrop(64), v2.ToImage()])
        >>> data = detection.WithPartners(detection.yolo("yolo", "train"), mixes)
        >>> data[0][0].shape
        torch.Size([3, 64, 64])
    """

    def __init__(
        self, data: torch.utils.data.Dataset[Any], transforms: Part | Sequence[Part]
    ) -> None:
        if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
            raise UsageError(
                f"detection.WithPartners: got a {type(data).__name__}, want a map-style data set; "
                "give one that has __len__ and __getitem__"
            )
        if getattr(innermost(data), "transforms", None) is not None:
            raise UsageError(
                "detection.WithPartners: got a data set with transforms, want one without; give "
                "them to WithPartners"
            )
        self.data, self.transforms = data, _composed(transforms)
        _check_images(list(_parts(self.transforms)))

    def __len__(self) -> int:
        return len(cast("Any", self.data))

    def __getitem__(self, index: int) -> Sample:
        """Image and target. Raises IndexError, and what the data set and its transforms raise."""
        return self._made(position(index, len(self)), list(_parts(self.transforms)))

    def _made(self, number: int, parts: Sequence[Part]) -> Sample:
        image, target = self.data[number]
        for at, part in enumerate(parts):
            if _mixes(part):
                image, target = self._mixed(part, (image, target), parts[:at])
            else:
                image, target = part(image, target)
        return image, target

    def _mixed(self, mix: Any, sample: Sample, before: Sequence[Part]) -> Sample:
        """before: the transforms that the sample has gone through."""
        if float(torch.rand(())) >= mix.p:
            return sample
        numbers = torch.randint(0, len(self), (mix.partners,)).tolist()
        samples = [sample, *(self._made(number, before) for number in numbers)]
        params = mix.sampled(samples)
        mixed: Sample = sample if params is None else mix.mixed(samples, params)
        return mixed

    def __repr__(self) -> str:
        return f"fastload.detection.WithPartners: {len(self)} images"


def innermost(data: Any) -> Any:
    """The data set inside Subsets."""
    while type(data) is torch.utils.data.Subset:
        data = data.dataset
    return data


def _composed(transforms: Any) -> Any:
    from torchvision.transforms import v2

    return v2.Compose(transforms) if isinstance(transforms, (list, tuple)) else transforms


def _parts(transforms: Any) -> Iterator[Part]:
    """The transforms one by one."""
    from torchvision.transforms import v2

    if type(transforms) is not v2.Compose:
        yield transforms
        return
    for part in transforms.transforms:
        yield from _parts(part)


def _check_images(parts: Sequence[Part]) -> None:
    """Raise UsageError for mixes that take too many images in all: each takes partners that the
    mixes before it have made.
    """
    images, mixes = 1, [part for part in parts if _mixes(part)]
    for mix in mixes:
        images *= 1 + mix.partners
        if images > MOST_IMAGES:
            raise UsageError(
                f"detection.WithPartners: got {len(mixes)} mixes, which take more than "
                f"{MOST_IMAGES} images for one sample, as each takes what those before it make; "
                "leave some out"
            )


def _mixes(part: Part) -> TypeGuard[Any]:
    from fastload.detection.box_mix import BoxMix

    return isinstance(part, BoxMix)
