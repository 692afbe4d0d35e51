"""Plain tars, opened where they lie: WebDataset's, and those of folders of classes.

Their headers are gone over once, and what they say is kept in the user's cache (first_look.py).
Images are read from the archives by file, offset and size. The rules by which samples and labels
are found are those of conversions (tar_samples.py).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fastload.errors import SourceError
from fastload.files import formats
from fastload.files.formats import SOURCES, WEBDATASET
from fastload.files.patterns import expanded
from fastload.sources import columns, first_look, span_index, tar_fields
from fastload.sources import labels as labelling
from fastload.sources.columns import Numbers
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Spans
from fastload.sources.tar_parts import FOLDERS, SAMPLES, scan
from fastload.sources.tar_samples import classes_beside

COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tar.lz4")

with_fields, looks = tar_fields.with_fields, tar_fields.looks  # fastload.sources asks for them


@dataclass(frozen=True, eq=False)
class TarSource(SpanSource):
    """Samples in tars."""

    def name(self, sample: int) -> str:
        assert self.spans is not None
        return f"{self.path(int(self.file[sample]))}:{self.spans.name(sample)}"


def load(where: str) -> TarSource:
    """The samples of a tar, of a folder of tars, or of those that a pattern names.

    Raises SourceError with every problem found.
    """
    return of_archives(where, archives(where), where)


def of_archives(where: str, paths: Sequence[str], beside: str) -> TarSource:
    """The samples of these tars. beside: the folder where a list of classes may lie, or a pattern
    below it.

    Raises SourceError with every problem found.
    """
    spans = _known(where, paths)
    if not len(spans):
        raise SourceError(f"{where}: no images in {len(paths)} archives; give others")
    labels, classes = _labels(where, paths, spans, beside)
    offset, size = spans.column("offset"), spans.column("size")
    return TarSource(where, tuple(paths), spans.parts(), offset, size, labels, classes, spans=spans)


def archives(where: str) -> list[str]:
    """The paths of the archives, in their order. Raises SourceError."""
    if os.path.isdir(where):
        paths = list(formats.files_in(SOURCES[WEBDATASET], where))
        names = os.listdir(where)
    else:
        paths = [where] if os.path.exists(where) else expanded(where)
        names = paths
    if packed := sorted(name for name in names if name.lower().endswith(COMPRESSED)):
        raise SourceError(
            f"{where}: {packed[0]} is compressed, want plain tars; give a pattern of plain ones, "
            f"or run fastload convert {where} DST, and open DST"
        )
    if missing := [path for path in paths if not os.path.isfile(path)]:
        raise SourceError(
            f"{missing[0]}: is no file ({len(missing)} such of {len(paths)} in {where}); correct "
            "the pattern"
        )
    if not paths:
        raise SourceError(f"{where}: holds no tars (.tar); give another folder")
    return paths


def _known(where: str, paths: Sequence[str]) -> Spans:
    """What the headers of the archives say: as it was kept, or read now.

    Raises SourceError.
    """
    index = span_index.path_of(WEBDATASET, where)
    look = partial(first_look.parts, where, index, dict.fromkeys(paths, ""), paths=paths)
    spans: Spans = look(scan)
    # An archive without labels is one of classes only if all the others are.
    folders = SAMPLES not in spans.said
    wrong = {
        path for path, said in zip(paths, spans.said, strict=True) if (said == FOLDERS) != folders
    }
    return look(partial(scan, folders=folders), anew=wrong) if wrong else spans


def _labels(
    where: str, paths: Sequence[str], spans: Spans, beside: str
) -> tuple[Numbers, tuple[str, ...]]:
    """Labels and classes of all samples. Raises SourceError."""
    texts = {text: number for number, text in enumerate(spans.texts) if text is not None}
    if FOLDERS in spans.said:
        # Whatever the images in it are called
        numbers, classes, _ = labelling.of_folders(where, [f"{folder}/x" for folder in texts])
    else:
        lacking, count = spans.lacking(), len(spans)
        if lacking.sum() == count:
            return columns.constant(count, 0), labelling.none(0)[1]
        if lacking.any():
            first = spans.first_lacking()
            raise SourceError(
                f"{paths[int(spans.part_of(np.array([first]))[0])]}: {spans.name(first)} has no "
                f'label, as {int(lacking.sum())} of {count} samples (want KEY.cls, or "label" in '
                "KEY.json); add them"
            )
        numbers, classes = labelling.numbered(where, list(texts), classes_beside(beside))
    table = np.zeros(len(spans.texts), np.int64)
    table[list(texts.values())] = numbers
    return columns.translated(spans.column("label"), table), classes
