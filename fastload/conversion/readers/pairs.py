"""Folders of images and of masks."""

import os
from collections.abc import Sequence

from fastload.conversion.readers.base import Choice
from fastload.conversion.readers.manifest import IMAGES, MASKED, FilesReader, pairs


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> FilesReader:
    """`where` with `choice.masks`, or its folders images and masks. Raises SourceError."""
    if choice.masks is not None:
        return pairs(where, where, choice.masks)
    return pairs(where, *(os.path.join(where, name) for name in (IMAGES, MASKED)))
