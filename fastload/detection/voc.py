"""Pascal VOC's folders: an XML file for each image, and lists of the images of each split."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from fastload.detection.data import Detection, Transforms, of_files
from fastload.detection.objects import FARTHEST, KEYS, Objects, checked_keys
from fastload.errors import SourceError
from fastload.files.names import SHOWN, Inner, NameRefusedError
from fastload.system import limits

IMAGES, ANNOTATIONS, SPLITS = "JPEGImages", "Annotations", "ImageSets/Main"
# Source: Everingham et al. 2010, The Pascal VOC Challenge, section 2; torchvision counts from 1
CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train",
    "tvmonitor",
)  # fmt: skip
OBJECT = ("annotation", "object")
SIDES = ("xmin", "ymin", "xmax", "ymax")
DEEPEST = 64  # tags inside of each other; VOC's files have 5


def voc(
    root: str | os.PathLike[str],
    split: str = "train",
    *,
    transforms: Transforms = None,
    keys: Collection[str] = KEYS,
    classes: Sequence[str] = CLASSES,
) -> Detection:
    """Images with the boxes of Pascal VOC's XML files.

    Args:
        root: The folder with JPEGImages, Annotations and ImageSets/Main, as VOCdevkit/VOC2012.
        split: The name of a list in ImageSets/Main, without ".txt".
        transforms: A function of an image and its target, such as torchvision's v2.Compose.
        keys: What a target has: of "image_id" (its number in the split), "boxes" and "labels".
        classes: The names of the labels 1, 2, …; 0 is the background.

    Returns:
        A data set of (image, target). XML files are read when their image is.

    Raises:
        SourceError: The list cannot be read, has no images, or names one outside the folder.
        UsageError: An unknown key.

    Example:
        >>> from fastload import detection
        >>> data = detection.voc("voc", "train")
        >>> data[0][1]["boxes"].tolist(), data.names[int(data[0][1]["labels"][0])]
        ([[30.0, 30.0, 90.0, 60.0]], 'dog')
    """
    root = os.fspath(root)
    wanted = checked_keys(root, keys, KEYS)
    names = tuple(_names(root, split))
    if not names:
        raise SourceError(f"{root}: no images in split {split!r}; give another split")
    paths = tuple(os.path.join(root, IMAGES, f"{name}.jpg") for name in names)
    files = tuple(os.path.join(root, ANNOTATIONS, f"{name}.xml") for name in names)
    find = Files(files, {name: number for number, name in enumerate(classes, start=1)})
    source, known, labels = of_files(root, paths), tuple(classes), range(1, len(classes) + 1)
    return Detection(source, find, transforms=transforms, classes=known, keys=wanted, labels=labels)


def _names(root: str, split: str) -> Iterator[str]:
    """Of the images of a split. Raises SourceError."""
    try:
        path = os.path.join(root, SPLITS, f"{Inner(split)}.txt")
    except NameRefusedError as error:
        raise SourceError(f"{root}: split {error}") from error
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(limits.lines(file), start=1):
                if words := os.fsdecode(line).split():  # further ones say what is in the image
                    yield _inner(words[0], f"{path}, line {number}")
    except (OSError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{path}: cannot be read ({error}); give the folder with {SPLITS}, and a list in it"
        ) from error


def _inner(name: str, where: str) -> str:
    try:
        return Inner(name)
    except NameRefusedError as error:
        raise SourceError(f"{where}: {error}; name images below {IMAGES}") from error


@dataclass(frozen=True)
class Files:
    """The objects of an image by its XML file.

    Args:
        paths: Of the XML files.
        labels: Of each class.
    """

    paths: tuple[str, ...]
    labels: dict[str, int]

    def __call__(self, number: int) -> Objects:
        """Raises ValueError with the file, and OSError."""
        path = self.paths[number]
        with open(path, "rb") as file:
            found = _Found()
            try:
                found.read(limits.small(file, limits.LABELS))
                rows = [self._row(at, row) for at, row in enumerate(found.rows)]
            except (expat.ExpatError, LookupError, ValueError) as error:  # an unknown encoding, too
                raise ValueError(f"{path}: {error}") from error
        boxes = np.array([box for _, box in rows], np.float64).reshape(-1, 4)
        return Objects(number, boxes, np.array([label for label, _ in rows], np.int64), "XYXY")

    def _row(self, number: int, said: dict[str, str]) -> tuple[int, list[float]]:
        name = said.get("name", "")
        if name not in self.labels:
            raise ValueError(
                f"object {number} is {name[:SHOWN]!r} (want one of {len(self.labels)} classes)"
            )
        box = [_number(said.get(side, "")) for side in SIDES]
        if not (
            max(map(abs, box)) <= FARTHEST and box[0] <= box[2] and box[1] <= box[3]
        ):  # NaN is not
            got = ", ".join(f"{side} {said.get(side, '')[:SHOWN]}" for side in SIDES)
            raise ValueError(f"object {number} has no box (got {got}; want px, rising)")
        return self.labels[name], box


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


@dataclass
class _Found:
    """The texts of each object while a file is gone through. rows: of each, by their tags."""

    rows: list[dict[str, str]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # of the tag that is open

    def read(self, data: bytes) -> None:
        """Raises ExpatError, and ValueError for what is not read: entities can grow without end."""
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.texts.append
        parser.Parse(data, True)

    def _refuse(self, *_: object) -> None:
        raise ValueError("has a document type (want none)")

    def _start(self, tag: str, _: object) -> None:
        self.tags.append(tag)
        self.texts.clear()
        if self.tags[0] != OBJECT[0]:
            raise ValueError(f"is no annotation (got {self.tags[0][:SHOWN]!r}, want {OBJECT[0]!r})")
        if len(self.tags) > DEEPEST:
            raise ValueError(f"has tags in more than {DEEPEST} others")
        if tuple(self.tags) == OBJECT:
            self.rows.append({})

    def _end(self, tag: str) -> None:
        inside = tuple(self.tags)
        if inside in FIELDS:
            self.rows[-1][tag] = "".join(self.texts).strip()
        self.tags.pop()
        self.texts.clear()


FIELDS = {(*OBJECT, "name"), *((*OBJECT, "bndbox", side) for side in SIDES)}
