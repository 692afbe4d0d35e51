"""`accelerate`: a DataLoader in place of a loader that a program has already."""

from typing import Any

from fastload.loader import arguments
from fastload.loader.loader import DataLoader
from fastload.lowering import loaders


def accelerate(loader: Any, **options: Any) -> Any:
    """Make a DataLoader of a loader that is PyTorch's, timm's or Accelerate's.

    Its data set, samplers and arguments are those of `loader`, and none is copied.

    Args:
        loader: A `torch.utils.data.DataLoader`, timm's PrefetchLoader, or what Accelerator.prepare
            made.
        **options: DataLoader's own keywords; they win over the loader's.

    Returns:
        A DataLoader. Of timm's PrefetchLoader: the same with such a DataLoader inside; what
        Accelerator.prepare made gets one inside and is returned itself.

    Raises:
        UsageError: The loader's class loads in its own way.

    Example:
        >>> import fastload
        >>> from torch.utils.data import DataLoader
        >>> from torchvision.datasets import ImageFolder
        >>> from torchvision.transforms import v2
        >>> train = ImageFolder("train", v2.Compose([v2.CenterCrop((48, 64)), v2.PILToTensor()]))
        >>> loader = fastload.accelerate(DataLoader(train, batch_size=4))
        >>> for images, labels in loader:
        ...     print(images.shape)
        torch.Size([4, 3, 48, 64])
        torch.Size([4, 3, 48, 64])
    """
    if (inner := loaders.inside(loader)) is not None:
        return loaders.around(loader, accelerate(inner, **options))
    return DataLoader(**{**arguments.of(loader), **options})
