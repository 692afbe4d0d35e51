"""Plain tars, opened where they lie: WebDataset's, and those of folders of classes.

Their headers are gone over once, and what they say is kept in the user's cache (first_look.py).
Images are read from the archives by file, offset and size. The rules by which samples and labels
are found are those of conversions (tar_samples.py).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from fastload.errors import SourceError
from fastload.files import formats
from fastload.files.formats import SOURCES, WEBDATASET
from fastload.files.patterns import expanded
from fastload.sources import first_look, span_index, tar_fields
from fastload.sources import labels as labelling
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Part
from fastload.sources.tar_parts import FOLDERS, SAMPLES, scan
from fastload.sources.tar_samples import classes_beside
from fastload.spec import Longs

COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tar.lz4")

with_fields = tar_fields.with_fields  # fastload.sources asks for it


@dataclass(frozen=True, eq=False)
class TarSource(SpanSource):
    """Samples in tars.

    Args:
        names: Of each archive, the names of its images, UTF-8, a line each.
        first: int64 [archives], the number of each one's first sample.
    """

    names: tuple[bytes, ...]
    first: Longs

    def name(self, sample: int) -> str:
        archive = int(self.file[sample])
        row = sample - int(self.first[archive])
        return f"{self.paths[archive]}:{_lines(self.names[archive])[row].decode()}"


def load(where: str) -> TarSource:
    """The samples of a tar, of a folder of tars, or of those that a pattern names.

    Raises SourceError with every problem found.
    """
    paths = archives(where)
    parts = _known(where, paths)
    counts = [len(part.size) for part in parts]
    if not sum(counts):
        raise SourceError(f"{where}: no images in {len(paths)} archives; give others")
    labels, classes = _labels(where, paths, parts)
    return TarSource(
        where,
        tuple(paths),
        *first_look.joined(parts),
        labels,
        classes,
        tuple(part.names for part in parts),
        np.cumsum([0, *counts[:-1]]),
    )


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


def _known(where: str, paths: Sequence[str]) -> list[Part]:
    """What the headers of the archives say: as it was kept, or read now.

    Raises SourceError.
    """
    index = span_index.path_of(WEBDATASET, where)
    parts = first_look.parts(where, index, dict.fromkeys(paths, ""), scan)
    # An archive without labels is one of classes only if all the others are.
    folders = all(part.said != SAMPLES for part in parts.values())
    wrong = [path for path, part in parts.items() if (part.said == FOLDERS) != folders]
    for path in wrong:
        parts[path] = first_look.part(path, partial(scan, folders=folders))
    if wrong:
        span_index.keep(index, {os.path.abspath(path): part for path, part in parts.items()})
    return [parts[path] for path in paths]


def _labels(
    where: str, paths: Sequence[str], parts: Sequence[Part]
) -> tuple[Longs, tuple[str, ...]]:
    """Labels and classes of all samples. Raises SourceError."""
    if all(part.said == FOLDERS for part in parts):
        names = [name for part in parts if part.names for name in _lines(part.names)]
        labels, classes, _ = labelling.of_folders(where, [name.decode() for name in names])
        return labels, classes
    lacking = [int(np.count_nonzero(part.label < 0)) for part in parts]
    count = sum(len(part.size) for part in parts)
    if sum(lacking) == count:
        return labelling.none(count)
    for path, part, some in zip(paths, parts, lacking, strict=True):
        if some:
            name = part.name(int(np.argmax(part.label < 0)))
            raise SourceError(
                f"{path}: {name} has no label, as {sum(lacking)} of {count} samples (want KEY.cls, "
                'or "label" in KEY.json); add them'
            )
    texts = dict.fromkeys(text for part in parts for text in part.texts)
    numbers, classes = labelling.numbered(where, list(texts), classes_beside(where))
    number_of = dict(zip(texts, numbers.tolist(), strict=True))
    tables = [np.array([number_of[text] for text in part.texts], np.int64) for part in parts]
    return np.concatenate(
        [table[part.label] for table, part in zip(tables, parts, strict=True)]
    ), classes


@lru_cache(maxsize=4)
def _lines(names: bytes) -> list[bytes]:
    return names.split(b"\n")
