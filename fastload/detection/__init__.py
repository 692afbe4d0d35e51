"""Data sets with boxes: YOLO's text files, LVIS's and COCO's JSON, Pascal VOC's XML, Open Images'
CSV, and what `fastload convert` keeps of them. They give images and targets in torchvision's form,
on PyTorch's own loader too. And transforms: FixedSizeCrop, and what mixes several samples.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastload.detection.data import Detection
from fastload.detection.kept import kept
from fastload.detection.lvis import lvis
from fastload.detection.open_images import open_images
from fastload.detection.partners import WithPartners
from fastload.detection.voc import voc
from fastload.detection.yolo import yolo

if TYPE_CHECKING:
    from fastload.detection.copy_paste import CopyPaste
    from fastload.detection.crops import FixedSizeCrop
    from fastload.detection.mixup import MixUp
    from fastload.detection.mosaic import Mosaic

__all__ = [
    "CopyPaste", "Detection", "FixedSizeCrop", "MixUp", "Mosaic", "WithPartners", "kept", "lvis",
    "open_images", "voc", "yolo",
]  # fmt: skip
TRANSFORMS = {  # by name their module, which needs torchvision
    "CopyPaste": "copy_paste", "FixedSizeCrop": "crops", "MixUp": "mixup", "Mosaic": "mosaic",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in TRANSFORMS:
        from fastload.errors import unknown_name

        raise unknown_name(__name__, name, __all__)
    return getattr(import_module(f"{__name__}.{TRANSFORMS[name]}"), name)
