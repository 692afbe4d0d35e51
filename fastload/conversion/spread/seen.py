"""What other processes have to see as this one does: the data set that a verb works on."""

import os

from fastload.conversion.readers import Reader
from fastload.conversion.readers.base import samples_stamp
from fastload.errors import ConversionError, UsageError
from fastload.remote import urls
from fastload.sources.shard_index import Index


def path_for_all(verb: str, path: str) -> str:
    """The path as a process with another working directory knows it.

    Raises UsageError for a URL: each process would bring a copy of its own.
    """
    path = urls.local(path)
    if urls.is_url(path):
        raise UsageError(
            f"{verb}: --on takes data in a folder that all workers see (got "
            f"{urls.public(path)}); leave --on out"
        )
    return os.path.abspath(path)


def stamp_of(data: Index | Reader) -> str:
    """Another text where another process sees other samples."""
    return f"{data.checksum if isinstance(data, Index) else samples_stamp(data):016x}"


def check(path: str, got: str, want: str) -> None:
    """Compare the stamps of two processes. Raises ConversionError."""
    if got != want:
        raise ConversionError(
            f"{path}: is not what this began with, as this process sees it; give all machines the "
            "same files, and leave them unchanged"
        )
