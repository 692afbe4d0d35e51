"""Reads a toy album, which is no data set to train on: lines of `KEY LABEL BASE64`."""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastload.extending import BadSampleError, Choice, Listing, SourceError


@dataclass(frozen=True, eq=False)
class AlbumReader(Listing):
    """The lines of one file."""

    lines: Sequence[bytes]

    def read(self, sample: int) -> bytes:
        """Raises BadSampleError."""
        try:
            return base64.b64decode(self.lines[sample], validate=True)
        except ValueError as error:
            raise BadSampleError(f"is no base64 ({error}); write the album again") from error


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> AlbumReader:
    """Raises SourceError."""
    try:
        with open(where, "rb") as file:
            rows = [line.split() for line in file]
        keys, names, lines = (list(column) for column in zip(*rows, strict=True))
    except (OSError, ValueError) as error:
        raise SourceError(f"{where}: is no toy album ({error}); give another file") from error
    classes = sorted({name.decode() for name in names})
    return AlbumReader(
        where,
        [key.decode() for key in keys],
        np.array([len(line) * 3 // 4 for line in lines], np.int64),
        np.array([classes.index(name.decode()) for name in names], np.int64),
        tuple(classes),
        os.stat(where).st_mtime_ns,
        lines,
    )
