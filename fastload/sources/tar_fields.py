"""Files beside the images of tars that are opened in place: where each lies."""

import io
import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fastload.errors import SourceError
from fastload.files.names import is_pickled
from fastload.files.opening import no_wait
from fastload.sources import fields
from fastload.sources.fields import Field
from fastload.sources.mapped import SpanSource
from fastload.sources.tar_members import Walk
from fastload.sources.tar_samples import IMAGES, Group, groups, of_samples
from fastload.spec import Longs


def with_fields(source: SpanSource, names: Sequence[str]) -> SpanSource:
    """The same data set, with these of the files beside its images, by their extensions.

    Reads the headers of all archives. Raises SourceError.
    """
    wanted = [name.lower() for name in names]
    if pickled := [name for name in wanted if is_pickled(f"x.{name}")]:
        raise SourceError(
            f"{source.where}: {pickled[0]!r} is pickled, and fastload never unpickles; write it as "
            "JSON or text"
        )
    all_of = [group for path in source.paths for group in _groups(path)]
    images = [next(group[name] for name in group if name in IMAGES) for group in all_of]
    if [image.offset for image in images] != source.offset.tolist():
        raise SourceError(f"{source.where}: changed since its headers were read; open it again")
    found = tuple(_field(source, name, all_of) for name in wanted)
    return replace(source, fields=found)


def _groups(path: str) -> list[Group]:
    """The files of each sample of an archive. Raises SourceError."""
    try:
        with open(path, "rb", opener=no_wait) as file:
            walk = Walk(0, os.fstat(file.fileno()).st_size, pickled=True)
            walk.over(io.FileIO(file.fileno(), closefd=False))
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror or error}); check the path"
        ) from error
    if walk.problems:
        raise SourceError("\n".join(f"{path}: {problem}" for problem in walk.problems))
    return [group for _, group in groups(of_samples(walk.spans))]


def _field(source: SpanSource, name: str, all_of: Sequence[Group]) -> Field:
    """Raises SourceError."""
    spans = [group.get(name) for group in all_of]
    lacks = np.array([span is None for span in spans], np.bool_)
    if lacks.all():
        known = dict.fromkeys(name for group in all_of for name in group if name not in IMAGES)
        raise fields.lacking(source.where, name, list(known))
    if lacks.any():
        first = source.name(int(np.argmax(lacks)))
        raise fields.incomplete(source.where, name, lacks, first)
    return Field(name, fields.of_suffix(name), _of(spans, "offset"), _of(spans, "size"))


def _of(spans: Sequence[object], what: str) -> Longs:
    return np.array([getattr(span, what) for span in spans], np.int64)
