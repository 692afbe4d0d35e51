"""WebDataset's samples in tar archives: files with one key (KEY.jpg, KEY.cls, …) that follow each
other. What converts and what opens in place go by the same rules.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fastload.errors import SourceError
from fastload.files import arrivals
from fastload.files.names import CONTROL
from fastload.files.patterns import is_pattern
from fastload.sources import labels as labelling
from fastload.sources.tar_members import TWICE, Files, Span

IMAGES = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm", "pgm", "bin")
# Key and extension: at the first dot of the last part
SPLIT = re.compile(r"((?:.*/)?[^./]*)\.([^/]+)", re.DOTALL)
# WebDataset takes such members for metadata and passes them over
SKIPPED = re.compile(r"__[^/]*__/")
LABELS = ("cls", "json")
# Bytes of a file with a label; characters of the label
LARGEST_LABEL, LONGEST_LABEL = (1 << 20, 4096)
CLASSES = "classes.json"  # beside the shards: a list of the classes' names
Group = dict[str, Span]  # the files of one sample, by extension


class Sample(NamedTuple):
    """One sample's files, and what is wrong with them."""

    archive: int
    key: str
    group: Group
    problem: str = ""
    extension: str = ""  # of its image
    label: str | None = None

    @property
    def image(self) -> Span:
        return self.group[self.extension]


def samples(files: Files, spans: Iterable[Span]) -> Iterator[Sample]:
    """Raises OSError where a label cannot be read."""
    seen = set[tuple[int, str]]()
    for key, group in groups(spans):
        archive = next(iter(group.values())).file
        images = [extension for extension in group if extension in IMAGES]
        if (archive, key) in seen:
            yield Sample(archive, key, group, TWICE)
        elif len(images) == 1:
            yield Sample(archive, key, group, "", images[0], label(files, group))
        else:
            yield Sample(archive, key, group, _other_than_one(images, group))
        seen.add((archive, key))


def _other_than_one(images: list[str], group: Group) -> str:
    if images:
        return f"has {len(images)} images ({', '.join(images)}), want one; correct the archive"
    files = CONTROL.sub("_", ", ".join(group))
    return f"has no image (has {files}), want one; correct the archive"


def of_samples(spans: Iterable[Span]) -> Iterator[Span]:
    """Without what WebDataset passes over, too: hidden files, those without an extension, and
    folders of metadata.
    """
    for span in spans:
        if SPLIT.fullmatch(span.name) and not (
            span.name.rpartition("/")[2].startswith(".") or SKIPPED.match(span.name)
        ):
            yield span


def groups(spans: Iterable[Span]) -> Iterator[tuple[str, Group]]:
    """Files with one key that follow each other; a second one of an extension begins another."""
    last, group = None, Group()
    for span in spans:
        key, extension = split(span)
        if (span.file, key) != last or extension in group:
            if last:
                yield last[1], group
            last, group = (span.file, key), {}
        group[extension] = span
    if last:
        yield last[1], group


def split(span: Span) -> tuple[str, str]:
    """Key and extension, in lower case."""
    match = SPLIT.fullmatch(span.name)
    return (match[1], match[2].lower()) if match else (span.name, "")


def has_labels(spans: Iterable[Span]) -> bool:
    """Whether some file is a label, so that the names are WebDataset's."""
    return any(split(span)[1] in LABELS for span in spans)


def all_in_folders(spans: Iterable[Span]) -> bool:
    """Whether these may be the folders of classes, where no file is a label."""
    return all("/" in span.name for span in spans)


def folder_images(spans: Iterable[Span]) -> list[Span]:
    """The images of an archive of folders of classes: each is a sample."""
    return [span for span in spans if split(span)[1].rsplit(".", 1)[-1] in IMAGES[:-1]]


def label(files: Files, group: Group) -> str | None:
    """What its files say. Raises OSError."""
    for name in LABELS:
        if name in group and group[name].size <= LARGEST_LABEL:
            data = files.read(*group[name][1:])
            said = (
                data.decode("utf-8", "replace").strip()
                if name == "cls"
                else labelling.of_json(data)
            )
            if said and len(said) <= LONGEST_LABEL:
                return said
    return None


def classes_beside(where: str) -> list[str] | None:
    """The names in the folder of the archives, if there are any that fit. Raises SourceError."""
    path = os.path.join(os.path.dirname(where) if is_pattern(where) else where, CLASSES)
    if not os.path.isfile(path):
        return None
    try:
        with arrivals.present(path), open(path, "rb") as file:
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
