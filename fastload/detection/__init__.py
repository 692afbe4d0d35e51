"""Data sets with boxes that torchvision has no class for: YOLO's text files, LVIS's JSON, Open
Images' CSV. They give images and targets in torchvision's form, on PyTorch's own loader too.
"""

from typing import TYPE_CHECKING, Any

from fastload.detection.data import Detection
from fastload.detection.lvis import lvis
from fastload.detection.open_images import open_images
from fastload.detection.yolo import yolo

if TYPE_CHECKING:
    from fastload.detection.crops import FixedSizeCrop

__all__ = ["Detection", "FixedSizeCrop", "lvis", "open_images", "yolo"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        from fastload.errors import unknown_name

        raise unknown_name(__name__, name, __all__)
    from fastload.detection.crops import FixedSizeCrop  # needs torchvision

    return FixedSizeCrop
