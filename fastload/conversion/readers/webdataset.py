"""WebDataset's samples in tar archives: files with one key (KEY.jpg, KEY.cls, …)."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers import labels as labelling
from fastload.conversion.readers.base import listed
from fastload.conversion.readers.spans import Files, Span, SpanReader
from fastload.conversion.readers.tar_members import TWICE
from fastload.errors import SourceError
from fastload.files import names as outer

IMAGES = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm", "pgm", "bin")
# Key and extension: at the first dot of the last part
SPLIT = re.compile(r"((?:.*/)?[^./]*)\.([^/]+)")
LABELS = ("cls", "json")
# Bytes of a file with a label; characters of the label
LARGEST_LABEL, LONGEST_LABEL = (1 << 20, 4096)
CLASSES = "classes.json"  # beside the shards: a list of the classes' names
Group = dict[str, Span]  # the files of one sample, by extension


@dataclass
class _Listed:
    """What is known of the samples while the archives are gone through."""

    files: Files
    labelled: bool
    keys: list[str] = field(default_factory=list)
    images: list[Span] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # of the labels
    more: list[tuple[Span, ...]] = field(default_factory=list)  # files beside the image
    seen: set[tuple[int, str]] = field(default_factory=set)  # archive and key

    def add(self, archive: int, key: str, group: Group) -> str:
        """The next sample; or what is wrong with it."""
        images = [extension for extension in group if extension in IMAGES]
        label = None
        if (archive, key) in self.seen:
            return TWICE
        self.seen.add((archive, key))
        if len(images) != 1:
            has = (
                f"has {len(images)} images ({', '.join(images)})"
                if images
                else f"has no image (has {', '.join(group)})"
            )
            return f"{has}, want one; correct the archive"
        if (label := _label(self.files, group)) is None and self.labelled:
            return (
                'has no label (want KEY.cls, or "label" in KEY.json); add it, or pass --labels none'
            )
        if wrong := next((name for name in group if outer.suffix_problem(name)), ""):
            problem = f"{outer.shown(wrong)} {outer.suffix_problem(wrong)}"
            return f"has a file whose extension {problem}; rename it"
        self.keys.append(key)
        self.texts.append(label or "")
        self.images.append(group[images[0]])
        others = (name for name in group if name not in (images[0], "cls"))
        self.more.append(tuple(group[name]._replace(name=name) for name in others))
        return ""


def reader(
    where: str,
    files: Files,
    paths: Sequence[str],
    spans: Sequence[Span],
    stamp: int,
    *,
    labelled: bool,
) -> SpanReader:
    """The samples in `spans`, files of the archives `paths`.

    Raises SourceError with every problem.
    """
    known, problems = _Listed(files, labelled), list[str]()
    for key, group in _groups(spans):
        archive = next(iter(group.values())).file
        if problem := known.add(archive, key, group):
            problems.append(f"{paths[archive]}: sample {key!r} {problem}")
    if problems:
        raise SourceError(listed(problems))
    labels, classes = (
        labelling.numbered(where, known.texts, _classes(where))
        if labelled
        else labelling.none(len(known.keys))
    )
    return SpanReader(
        where,
        unique_keys(f"{key}.x" for key in known.keys),
        np.array([span.size for span in known.images], np.int64),
        labels,
        classes,
        stamp,
        files,
        known.images,
        {sample: spans for sample, spans in enumerate(known.more) if spans},
    )


def has_labels(spans: Sequence[Span]) -> bool:
    """Whether some file is a label, so that the names are WebDataset's."""
    return any(split(span)[1] in LABELS for span in spans)


def split(span: Span) -> tuple[str, str]:
    """Key and extension, in lower case."""
    match = SPLIT.fullmatch(span.name)
    return (match[1], match[2].lower()) if match else (span.name, "")


def _groups(spans: Sequence[Span]) -> Iterator[tuple[str, Group]]:
    """WebDataset's samples: files with one key that follow each other."""
    last, group = None, Group()
    for span in spans:
        key, extension = split(span)
        if (span.file, key) != last:
            if last:
                yield last[1], group
            last, group = (span.file, key), {}
        group[extension] = span
    if last:
        yield last[1], group


def _label(files: Files, group: Group) -> str | None:
    for name in LABELS:
        if name in group and group[name].size <= LARGEST_LABEL:
            data = files.read(*group[name][1:])
            labels = (
                data.decode("utf-8", "replace").strip()
                if name == "cls"
                else labelling.of_json(data)
            )
            if labels and len(labels) <= LONGEST_LABEL:
                return labels
    return None


def _classes(where: str) -> list[str] | None:
    """The names beside the shards, if there are any that fit."""
    path = os.path.join(where, CLASSES)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            names = json.loads(file.read(LARGEST_LABEL << 4))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: cannot be read ({error}); correct or remove it") from error
    if (
        type(names) is not list
        or not all(type(name) is str for name in names)
        or len(set(names)) != len(names)
    ):
        raise SourceError(f"{path}: is no list of different names; correct or remove it")
    return names
