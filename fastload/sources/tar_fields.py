"""Files beside the images of tars that are opened in place: where each lies.

What the headers say of a name is kept in the user's cache, as it is of the images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO

import numpy as np

from fastload.errors import SourceError
from fastload.files.formats import WEBDATASET
from fastload.sources import fields, first_look, span_index
from fastload.sources.fields import Field
from fastload.sources.first_look import Look
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Part
from fastload.sources.tar_members import Span, Walk
from fastload.sources.tar_parts import FOLDERS, walked
from fastload.sources.tar_samples import IMAGES, folder_images, groups, of_samples

NOWHERE = Span("", 0, 0, 0)
NAMES = 16  # of other files, that an error tells


def with_fields(source: SpanSource, names: Sequence[str]) -> SpanSource:
    """The same data set, with these of the files beside its images, by their extensions.

    Raises SourceError.
    """
    fields.refuse_pickled(source.where, names)
    return replace(source, fields=tuple(_field(source, name) for name in names))


def looks(where: str, names: Sequence[str]) -> list[Look]:
    """What is looked for besides the images, as long as no archive is known to be of folders."""
    return [Look(_kept(where, name), "", partial(_part, name.lower(), {})) for name in names]


def _kept(where: str, name: str) -> str:
    return span_index.path_of(WEBDATASET, where, "beside", name.lower())


def _field(source: SpanSource, name: str) -> Field:
    """Raises SourceError."""
    assert source.spans is not None
    folders = {
        path: said == FOLDERS for path, said in zip(source.paths, source.spans.said, strict=True)
    }
    asked = {path: FOLDERS if each else "" for path, each in folders.items()}
    read = partial(_part, name.lower(), folders)
    found = first_look.parts(
        source.where, _kept(source.where, name), asked, read, paths=source.paths
    )
    lacking = int(found.lacking().sum())
    if not np.array_equal(found.tables.rows, source.counts()) or lacking == len(found):
        raise fields.lacking(source.where, name, [text for text in found.texts if text])
    if lacking:
        first = source.name(found.first_lacking())
        raise fields.incomplete(source.where, name, lacking, len(found), first)
    return fields.of_spans(name, fields.of_suffix(name), found)


def _part(name: str, folders: Mapping[str, bool], path: str, file: IO[bytes], size: int) -> Part:
    """Of one archive; label is -1 where there is no such file. Raises SourceError and OSError."""
    return beside(name, path, walked(file, size), folders=folders.get(path, False))


def beside(name: str, path: str, walk: Walk, *, folders: bool) -> Part:
    """The same of an archive whose headers were gone over. Raises SourceError.

    folders: it is of folders of classes, so that each image is a sample.
    """
    if walk.problems:
        raise SourceError("\n".join(f"{path}: {problem}" for problem in walk.problems))
    every = [group for _, group in groups(walk.spans if folders else of_samples(walk.spans))]
    if folders:
        every = [group for group in every for _ in folder_images(group.values())]
    spans = [group.get(name, NOWHERE) for group in every]
    others = dict.fromkeys(other for group in every for other in group if other not in IMAGES)
    return Part(
        np.array([span.offset for span in spans], np.int64),
        np.array([span.size for span in spans], np.int64),
        np.array([-(span is NOWHERE) for span in spans], np.int64),
        texts=tuple(others)[:NAMES],
    )
