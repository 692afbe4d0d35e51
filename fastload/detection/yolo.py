"""YOLO's text files: a line for each object, beside the image's own name.

Layout and meaning are Ultralytics': images/train/1.jpg has labels/train/1.txt; data.yaml names
splits and classes; an image without a file has no objects.
"""

import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from fastload.detection.data import Detection, Transforms, of_files
from fastload.detection.objects import AVAILABLE, BEYOND, KEYS, Objects, checked_keys
from fastload.detection.yolo_config import Config, read_config
from fastload.errors import SourceError
from fastload.files.names import Inner, NameRefusedError
from fastload.sources import folder
from fastload.system import limits

IMAGES, LABELS = "images", "labels"
BOX = 5  # numbers of a line: class, centre x and y, width, height
LEAST = 1 + 2 * 3  # of a line with a polygon: class, and x and y of three corners
MOST_CLASSES = 1 << 31


def yolo(
    root: str | os.PathLike[str],
    split: str = "train",
    *,
    transforms: Transforms = None,
    keys: Collection[str] = KEYS,
    first_label: int = 0,
) -> Detection:
    """Images with YOLO's text files beside them, in the layouts of Ultralytics and Roboflow.

    Args:
        root: The folder with data.yaml, or with images/SPLIT and labels/SPLIT.
        split: A key of data.yaml ("train", "val", "test"); without that file, a folder.
        transforms: A function of an image and its target, such as torchvision's v2.Compose.
        keys: What a target has: of "image_id" (its number), "boxes", "labels" and "masks".
            Masks need pycocotools, and lines with polygons.
        first_label: The label of class 0. torchvision's models take 0 for the background, and
            want 1 here.

    Returns:
        A data set of (image, target). Files of labels are read when their image is.

    Raises:
        SourceError: There are no images, or data.yaml is damaged or names another folder.
        UsageError: An unknown key.

    Example:
        >>> from fastload import detection
        >>> data = detection.yolo("yolo", "train", first_label=1)
        >>> data.classes, data[0][1]["labels"].tolist()
        (('cat', 'dog'), [2])
    """
    root = os.fspath(root)
    wanted = checked_keys(root, keys, AVAILABLE)
    config = read_config(root)
    paths = tuple(_paths(root, split, config))
    if not paths:
        raise SourceError(f"{root}: no images in split {split!r}; look at data.yaml and {IMAGES}/")
    find = Lines(paths, len(config.names), first_label, "masks" in wanted)
    source, labels = of_files(root, paths), range(first_label, first_label + len(config.names))
    return Detection(
        source, find, transforms=transforms, classes=config.names, keys=wanted, labels=labels
    )


def _paths(root: str, split: str, config: Config) -> Iterator[str]:
    """Of the images of a split. Raises SourceError."""
    for name in config.splits.get(split) or _usual(root, split):
        path = os.path.join(root, name)
        if os.path.isdir(path):
            yield from folder.images(path)
        elif name.endswith(".txt"):
            yield from _listed(root, path)
        else:
            raise SourceError(
                f"{path}: is no folder of split {split!r}; give a split of {_named(config)}"
            )


def _usual(root: str, split: str) -> tuple[str, ...]:
    """Where the images of a split are that data.yaml does not name."""
    usual = (f"{IMAGES}/{split}", f"{split}/{IMAGES}")
    try:
        checked = [Inner(name) for name in usual]
    except NameRefusedError as error:
        raise SourceError(f"{root}: split {error}") from error
    there = [name for name in checked if os.path.isdir(os.path.join(root, name))]
    return (*there, usual[0])[:1]


def _named(config: Config) -> str:
    return f"data.yaml ({', '.join(config.splits)})" if config.splits else f"{IMAGES}/"


def _listed(root: str, path: str) -> Iterator[str]:
    """The images that a text file lists, below the root. Raises SourceError."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(limits.lines(file), start=1):
                if name := os.fsdecode(line.strip()).removeprefix("./"):
                    yield os.path.join(root, _inner(name, f"{path}, line {number}"))
    except (OSError, ValueError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: cannot be read ({error}); mend or remove it") from error


def _inner(name: str, where: str) -> str:
    try:
        return Inner(name)
    except NameRefusedError as error:
        raise SourceError(f"{where}: {error}; name files below the folder of data.yaml") from error


@dataclass(frozen=True)
class Lines:
    """The objects of an image by its file of labels.

    Args:
        paths: Of the images.
        classes: How many there are; 0: nobody says.
        first: The label of class 0.
        outlines: Whether polygons are kept.
    """

    paths: tuple[str, ...]
    classes: int
    first: int
    outlines: bool

    def __call__(self, number: int) -> Objects:
        """Raises ValueError with file and line, and OSError."""
        path = labels_path(self.paths[number])
        rows = list(self._rows(path))
        boxes = np.array([row[1] for row in rows], np.float64).reshape(-1, 4)
        labels = np.array([row[0] for row in rows], np.int64)
        outlines = None
        if self.outlines:
            outlines = tuple([polygon] for _, _, polygon in rows)
        return Objects(number, boxes, labels, "CXCYWH", shares=True, outlines=outlines)

    def _rows(self, path: str) -> Iterator[tuple[int, list[float], list[float]]]:
        """Label, box and polygon of each line."""
        try:
            file = open(path, "rb")  # noqa: SIM115
        except FileNotFoundError:
            return
        with file:
            if problem := limits.unread(
                file.fileno(), 0, os.fstat(file.fileno()).st_size, limits.LABELS
            ):
                raise ValueError(f"{path}: is too large ({problem})")
            for at, line in enumerate(limits.lines(file, limits.LABELS), start=1):
                if words := line.split():
                    try:
                        yield self._row(words)
                    except ValueError as error:
                        raise ValueError(f"{path}, line {at}: {error}") from None

    def _row(self, words: list[bytes]) -> tuple[int, list[float], list[float]]:
        label = _class(words[0], self.classes)
        values = [_share(word) for word in words[1:]]
        if len(words) == BOX:
            if min(values[2:]) < 0:
                raise ValueError(f"its box is {values[2]:g} by {values[3]:g} (want 0 or more)")
            return label + self.first, values, _corners(values)
        if len(words) < LEAST or not len(words) % 2:
            raise ValueError(
                f"got {len(words)} numbers (want {BOX}, or a class and the corners of a polygon)"
            )
        xs, ys = values[::2], values[1::2]
        left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
        box = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
        return label + self.first, box, values


def labels_path(image: str) -> str:
    """The file of labels of an image: the last folder `images` of its path becomes `labels`."""
    parent, _, name = image.rpartition("/")
    before, between, after = f"{parent}/".rpartition(f"/{IMAGES}/")
    place = f"{before}/{LABELS}/{after}" if between else f"{parent}/"
    return f"{place}{os.path.splitext(name)[0]}.txt"


def _class(word: bytes, classes: int) -> int:
    value = _number(word)
    if value != math.floor(value) or not 0 <= value < (classes or MOST_CLASSES):
        raise ValueError(
            f"its class is {_shown(word)} (want a whole number below {classes or MOST_CLASSES})"
        )
    return int(value)


def _share(word: bytes) -> float:
    value = _number(word)
    if not -BEYOND <= value <= 1 + BEYOND:
        raise ValueError(f"got {_shown(word)} (want shares of width and height, 0 to 1)")
    return value


def _number(word: bytes) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"got {_shown(word)} (want a number)")
    return value


def _shown(word: bytes) -> str:
    return repr(word[:20].decode("ascii", "backslashreplace"))


def _corners(box: list[float]) -> list[float]:
    """The polygon of a box."""
    x, y, width, height = box
    left, right, top, bottom = x - width / 2, x + width / 2, y - height / 2, y + height / 2
    return [left, top, right, top, right, bottom, left, bottom]
