"""Images of a data set with boxes, and what it says of the objects of each as a file beside it."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers.base import FATAL, Choice, Extra, stamp_of
from fastload.conversion.readers.files import file_sizes, file_times, read_file
from fastload.conversion.readers.source import OfSource
from fastload.conversion.samples import BadSampleError, headers, reason
from fastload.detection import open_images, record, voc, yolo
from fastload.detection.data import Detection
from fastload.detection.lvis import opened
from fastload.detection.objects import AVAILABLE, Objects, Table
from fastload.detection.voc import Files
from fastload.detection.yolo import Lines, labels_path
from fastload.errors import SourceError, UsageError, mistyped
from fastload.sources import FileSource
from fastload.sources import labels as labelling
from fastload.spec import Longs

DEFAULT_SPLIT = "train"
# Bytes of the file beside an image, about: always, for each object, for each number of an outline;
# and for each byte of a file of labels
BASE, EACH, NUMBER, TIMES = 256, 192, 20, 8


class Kind(NamedTuple):
    """A data set that can be read.

    Args:
        open: Of the folder, the files behind the colon, and the split.
        files: What these are, in words.
        splits: Whether it has splits.
        first: The label of the first class; of COCO's JSON its ids say it.
    """

    open: Callable[[str, Sequence[str], str], Detection]
    files: tuple[str, ...] = ()
    splits: bool = False
    first: int = 0


JSON = Kind(
    lambda root, files, _: opened(root, files[0], None, AVAILABLE, whole=True), ("FILE.json",)
)
KINDS = {
    "coco": JSON,
    "lvis": JSON,
    "open-images": Kind(lambda root, files, _: open_images(root, *files),
                        ("BOXES.csv", "CLASSES.csv")),
    "voc": Kind(lambda root, _, split: voc(root, split), splits=True, first=1),
    "yolo": Kind(lambda root, _, split: yolo(root, split, keys=AVAILABLE), splits=True),
}  # fmt: skip
USUAL = ("coco:FILE.json", "lvis:FILE.json", "open-images:BOXES.csv,CLASSES.csv", "voc", "yolo")


def split(boxes: str) -> tuple[str, list[str]]:
    """The kind and the files that a user names, as "coco:FILE.json". Raises UsageError."""
    name, _, rest = boxes.partition(":")
    files = rest.split(",") if rest else []
    if name not in KINDS or len(files) != len(KINDS[name].files) or not all(files):
        error = UsageError(f"boxes: got {boxes!r} (want {', '.join(USUAL)}); write one of these")
        if name in KINDS:  # only its files are missing, or too many
            error.exit_status = 2
            raise error
        raise mistyped(error, name, KINDS)
    return name, files


@dataclass(frozen=True, eq=False)
class BoxesReader(OfSource):
    """Whole files, each with what is known of its objects.

    stamp: of the annotations, too; first: the label of the first class.
    """

    source: FileSource
    data: Detection
    keys: Sequence[str]
    sizes: Longs
    stamp: int
    first: int
    # What this thread has read last: the size of the image is wanted next
    last: threading.local = field(default_factory=threading.local)

    @cached_property
    def labels(self) -> Longs:
        return labelling.none(len(self.keys))[0]

    @property
    def classes(self) -> tuple[str, ...]:
        """No image has a class: its objects have."""
        return labelling.none(0)[1]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not kept of the annotations."""
        lost = self.data.find.lost if isinstance(self.data.find, Table) else ()
        return (f"annotations have more, which is not kept: {', '.join(lost)}",) if lost else ()

    @cached_property
    def beside(self) -> Longs:
        return _expected(self.data)

    def read(self, sample: int) -> bytes:
        data = read_file(self.source.paths[sample], int(self.sizes[sample]))
        self.last.sample, self.last.size = sample, headers(data)[:2]
        return data

    def extras(self, sample: int) -> tuple[Extra, ...]:
        if getattr(self.last, "sample", None) != sample:
            self.read(sample)
        try:
            objects = self._named(self.data.find(sample))
            return (Extra(record.NAME, record.text(objects, self.last.size)),)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in FATAL:
                raise
            why = getattr(error, "strerror", None) or reason(error)
            raise BadSampleError(
                f"has an annotation that cannot be read ({why}); {MEND}"
            ) from error

    def _named(self, objects: Objects) -> Objects:
        """With the names of their classes, where these are numbered from the first one on."""
        if objects.more:
            return objects
        names, first = self.data.classes, self.first
        more = (
            {"name": names[label - first]} if first <= label < first + len(names) else {}
            for label in objects.labels.tolist()
        )
        return replace(objects, more=tuple(more))


MEND = "mend it, or leave the image out"


def open_reader(where: str, choice: Choice) -> BoxesReader:
    """The data set with boxes in the folder `where`. Raises SourceError and UsageError."""
    boxes = choice.boxes or ""
    name, files = split(boxes)
    for option, given in (("from", choice.format), ("root", choice.root), ("masks", choice.masks)):
        if given is not None:
            raise UsageError(f"boxes: --boxes and --{option} name the data set twice; give one")
    if choice.split is not None and not KINDS[name].splits:
        raise UsageError(
            f"boxes: {name} has no splits (got {choice.split!r}); give the file of that split, and "
            "leave --split out"
        )
    if not os.path.isdir(where):
        raise SourceError(f"{where}: is no folder; give the folder of the data set's images")
    data = KINDS[name].open(where, files, choice.split or DEFAULT_SPLIT)
    source = data.source
    assert isinstance(source, FileSource)
    names = [os.path.relpath(path, where) for path in source.paths]
    listed = [*files, *_files_of(data)]
    stamp = stamp_of(
        [boxes, choice.split], file_times(source.paths), file_sizes(listed), file_times(listed)
    )
    sizes, first = file_sizes(source.paths), KINDS[name].first
    return BoxesReader(source, data, unique_keys(names), sizes, stamp, first)


def absolute(boxes: str | None) -> str | None:
    """The same for a process with another working directory."""
    if boxes is None:
        return None
    name, files = split(boxes)
    return ":".join(filter(None, (name, ",".join(map(os.path.abspath, files)))))


def _files_of(data: Detection) -> Sequence[str]:
    """One for each image, if there are such."""
    if isinstance(data.find, Lines):
        return [labels_path(path) for path in data.find.paths]
    return data.find.paths if isinstance(data.find, Files) else ()


def _expected(data: Detection) -> Longs:
    """int64 [N], bytes, about: to plan by, without making each text."""
    if isinstance(data.find, Table):
        first, found = data.find.first, data.find
        each = np.full(int(first[-1]), EACH, np.int64)
        for number, outline in enumerate(found.outlines or ()):
            each[number] += NUMBER * _numbers(outline)
        for number, more in enumerate(found.more):
            each[number] += NUMBER * _numbers([more.get("keypoints")])
        ends = np.concatenate([[0], np.cumsum(each)])
        out: Longs = BASE + ends[first[1:]] - ends[first[:-1]]
        return out
    return BASE + TIMES * np.maximum(file_sizes(_files_of(data)), 0)


def _numbers(outline: object) -> int:
    """How many numbers an outline has, of a text about as many characters."""
    if isinstance(outline, dict):
        counts = outline.get("counts")
        return len(counts) if isinstance(counts, (str, list)) else 0
    parts = outline if isinstance(outline, list) else []
    return sum(len(part) for part in parts if isinstance(part, list))
