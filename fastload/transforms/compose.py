"""`Compose`, as torchvision's."""

from collections.abc import Iterable
from typing import Any

from fastload.errors import PipelineError


class Compose:
    """Transforms that run in order, as torchvision's `Compose`.

    `fastload.open` and data sets take it where they take a list of ops. A list says the same.

    Args:
        transforms: Ops, or other transforms of one image, in the order in which they run.

    Raises:
        PipelineError: `transforms` is not a list or tuple of what can be called.

    Example:
        >>> from fastload import transforms as T
        >>> T.Compose([T.Resize(256), T.CenterCrop(224)])
        Compose([
            Resize(size=256, interpolation='bilinear', max_size=None, antialias=True),
            CenterCrop(size=(224, 224)),
        ])
    """

    transforms: list[Any]

    def __init__(self, transforms: Iterable[Any]) -> None:
        if not isinstance(transforms, (list, tuple)):
            kind = type(transforms).__name__
            raise PipelineError([f"Compose: transforms is a {kind}, want a list; give [op, …]"])
        for number, transform in enumerate(transforms, start=1):
            if not callable(transform):
                raise PipelineError(
                    [f"Compose: transform {number} is {transform!r}, want an op or a function"]
                )
        self.transforms = list(transforms)

    def __call__(self, image: Any) -> Any:
        """Run the transforms on one image.

        Args:
            image: What the first transform takes: a PIL image, or uint8 [C, H, W].

        Returns:
            What the last transform returns.

        Example:
            >>> from PIL import Image
            >>> from fastload import transforms as T
            >>> T.Compose([T.Resize(64), T.CenterCrop(48)])(Image.new("RGB", (120, 90))).size
            (48, 48)
        """
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        lines = "".join(f"    {transform!r},\n" for transform in self.transforms)
        return f"Compose([\n{lines}])"
