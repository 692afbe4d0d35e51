"""`accelerate`: a DataLoader in place of a loader that a program has already."""

from collections.abc import Mapping
from typing import Any

from fastload.loader import arguments
from fastload.loader.loader import DataLoader
from fastload.lowering import loaders

# Of an argument, those that it takes the place of; and those that are void without workers
INSTEAD = {"shuffle": ("sampler",), "batch_sampler": ("batch_size", "sampler", "drop_last")}
OF_WORKERS = {"prefetch_factor", "multiprocessing_context", "persistent_workers", "timeout"}


def accelerate(loader: Any, **options: Any) -> Any:
    """Make a DataLoader of a loader that is PyTorch's, timm's or Accelerate's.

    Its data set, samplers and arguments are those of `loader`, and none is copied.

    Args:
        loader: A `torch.utils.data.DataLoader`, timm's PrefetchLoader, or what Accelerator.prepare
            made.
        **options: Arguments of DataLoader; they win over the loader's.

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
    found = arguments.of(loader)
    for name in _replaced(options):
        found.pop(name, None)
    return DataLoader(**{**found, **options})


def _replaced(options: Mapping[str, Any]) -> set[str]:
    """The loader's arguments that mean nothing beside these options, or contradict them."""
    out = {name for one, names in INSTEAD.items() if one in options for name in names}
    return out if options.get("num_workers", 1) else out | OF_WORKERS
