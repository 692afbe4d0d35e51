"""What is known of one tar archive that is opened in place: where its images lie, and their labels.

Headers are read, and the files with labels; nothing else.
"""

import io
import os
from typing import IO

import numpy as np

from fastload.errors import SourceError, listed
from fastload.files.names import CONTROL
from fastload.sources.span_index import Part
from fastload.sources.tar_members import Span, Walk
from fastload.sources.tar_samples import (
    all_in_folders,
    folder_images,
    has_labels,
    of_samples,
    samples,
)
from fastload.system import limits

# What Part.said is of an archive: WebDataset's samples; those, though by its names it might be of
# classes; or of classes, so that each image is a sample, and its folder the class. An archive that
# has no label and all in folders is of classes if all others are. Then a label is the folder.
SAMPLES, UNLABELLED, FOLDERS = "samples", "unlabelled", "folders"


class _Open:
    """An open archive, for the files with labels."""

    def __init__(self, file: int) -> None:
        self.file = file

    def read(self, file: int, offset: int, size: int) -> bytes:
        return os.pread(self.file, size, offset)


def scan(path: str, file: IO[bytes], size: int, folders: bool | None = None) -> Part:
    """What is in an open archive. Raises SourceError with every problem, and OSError.

    folders: how its samples are found; None: as its own names tell.
    """
    return part_of(path, walked(file, size), file, folders)


def walked(file: IO[bytes], size: int) -> Walk:
    """All headers of an open archive. Raises OSError."""
    walk = Walk(0, size, pickled=True)
    walk.over(io.FileIO(file.fileno(), closefd=False))
    return walk


def part_of(path: str, walk: Walk, file: IO[bytes], folders: bool | None) -> Part:
    """The same of an archive whose headers were gone over. Raises SourceError and OSError."""
    ambiguous = not has_labels(walk.spans) and all_in_folders(walk.spans)
    folders = ambiguous if folders is None else folders
    problems = list(walk.problems)
    images, texts = list[Span](), list[str | None]()
    if folders:
        images = folder_images(walk.spans)
        texts = [CONTROL.sub("_", image.name.rpartition("/")[0]) for image in images]
    else:
        for sample in samples(_Open(file.fileno()), of_samples(walk.spans)):
            if sample.problem:
                problems.append(f"sample {sample.key!r} {sample.problem}")
            else:
                images.append(sample.image)
                texts.append(sample.label)
    problems += [
        f"member {image.name!r} is too large ({wrong}); remove it"
        for image in images
        if (wrong := limits.too_many(image.size, limits.SAMPLE))
    ]
    if problems:
        raise SourceError(listed([f"{path}: {problem}" for problem in problems]))
    numbers = {text: number for number, text in enumerate(dict.fromkeys(filter(None, texts)))}
    return Part(
        np.array([image.offset for image in images], np.int64),
        np.array([image.size for image in images], np.int64),
        np.array([numbers[text] if text else -1 for text in texts], np.int64),
        "\n".join(CONTROL.sub("_", image.name) for image in images).encode(),
        tuple(numbers),
        FOLDERS if folders else UNLABELLED if ambiguous else SAMPLES,
    )
