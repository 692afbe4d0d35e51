"""FFCV's files."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastload.conversion.readers.base import Choice
from fastload.conversion.readers.source import SourceReader, numbered_keys, sizes_at_most
from fastload.errors import SourceError
from fastload.sources import beton
from fastload.sources.beton import BetonSource


@dataclass(frozen=True, eq=False)
class BetonReader(SourceReader):
    """Images of an FFCV file."""

    source: BetonSource

    @property
    def stamp(self) -> int:
        return self.source.sum


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> BetonReader:
    """Raises SourceError, also where the labels are no class numbers."""
    source = beton.load(where)
    aside = not choice.labelled or (choice.optional and not source.classes)
    if not source.classes and not aside:
        low, high = int(source.labels.min()), int(source.labels.max())
        raise SourceError(
            f"{source.where}: field {source.chosen[1]!r} holds no class numbers (got {low} to "
            f"{high}); give another field, or pass --labels none"
        )
    keys = numbered_keys(source, unlabelled=aside)
    return BetonReader(source, keys, sizes_at_most(source), unlabelled=aside)
