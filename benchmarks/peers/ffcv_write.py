"""A folder of classes as one .beton file, by FFCV's writer: `python -m benchmarks.peers.ffcv_write
FOLDER FILE`.

JPEGs go in as they are: FFCV's own field would decode and encode them again. Other images are
stored as pixels.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.rgb_image import IMAGE_MODES
from ffcv.writer import DatasetWriter
from PIL import Image
from torchvision.datasets import ImageFolder


class OriginalJpegs(RGBImageField):  # type: ignore[misc]  # FFCV has no types
    """FFCV's field, given a path."""

    def encode(self, destination: Any, path: Any, malloc: Any) -> None:
        with Image.open(path) as image:
            if image.format != "JPEG":
                super().encode(destination, np.array(image.convert("RGB")), malloc)
                return
            destination["width"], destination["height"] = image.size
        content = np.fromfile(path, np.uint8)
        destination["mode"] = IMAGE_MODES["jpg"]
        destination["data_ptr"], storage = malloc(content.nbytes)
        storage[:] = content


def main(folder: str, out: str) -> None:
    partial = Path(f"{out}.partial")
    fields = {"image": OriginalJpegs(write_mode="raw"), "label": IntField()}
    DatasetWriter(str(partial), fields, num_workers=1).from_indexed_dataset(
        ImageFolder(folder, loader=str)
    )
    partial.rename(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
