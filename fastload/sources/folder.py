"""A folder of classes, each a folder of images, in torchvision ImageFolder's order."""

import os
from collections.abc import Callable, Iterator

import numpy as np

from fastload.errors import SourceError
from fastload.files import formats
from fastload.sources import seek
from fastload.sources.base import FileSource

# Of files that are converted before they are trained on, and what they are
PACKED = (
    (".tar.gz", "compressed WebDataset"),
    (".tgz", "compressed WebDataset"),
    (".tar", "WebDataset"),
    (".arrow", "Arrow"),
)
# Torchvision's IMG_EXTENSIONS
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def load(root: str) -> FileSource:
    """The images under root/CLASS/…, classes and paths in sorted order; links are followed.

    Raises SourceError if root has no class folders, or a class no image: all such classes in one
    message.
    """
    classes = _classes(root)
    paths: list[str] = []
    labels: list[int] = []
    empty: list[str] = []
    for label, name in enumerate(classes):
        of_class = list(images(os.path.join(root, name)))
        paths += of_class
        labels += [label] * len(of_class)
        if not of_class:
            empty.append(name)
    if empty:
        _check_level(root, empty)
        shown = ", ".join(empty[:5]) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
        raise SourceError(
            f"{root}: no image in {len(empty)} of {len(classes)} classes ({shown}); remove them or "
            "add images"
        )
    return FileSource(
        root, tuple(paths), np.array(labels, np.int64), tuple(classes), seek.attach(paths, root)
    )


def _check_level(root: str, empty: list[str]) -> None:
    """Raise SourceError where what lies in a class without images is a data set itself."""
    for name in empty:
        inner = os.path.join(root, name)
        if one := formats.recognize(inner, formats.SOURCES):
            raise SourceError(
                f"{root}: folder {name} is no class of images (got {one.summary or one.name}); "
                f"give {inner}"
            )


def _classes(root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            classes = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise SourceError(
            f"{root}: cannot be listed ({error.strerror}); give a folder that you can read"
        ) from error
    if not classes:
        raise _no_classes(root)
    return classes


def _no_classes(root: str) -> SourceError:
    """The error of a folder without folders, which knows the formats that `convert` reads."""
    names = os.listdir(root)
    for extension, kind in PACKED:
        if any(name.endswith(extension) for name in names):
            return SourceError(
                f"{root}: holds {kind} files (got {extension}, want a folder of classes, or shards "
                f"with an index); run fastload convert {root} DST, and open DST"
            )
    return SourceError(
        f"{root}: no class folders (got none, want ROOT/CLASS/IMAGE); put each class into its own "
        "folder"
    )


def images(folder: str) -> Iterator[str]:
    """Paths of the images in a folder and below, sorted; links are followed. Raises SourceError."""

    def refuse(error: OSError) -> None:
        raise SourceError(
            f"{error.filename}: cannot be listed ({error.strerror}); make it readable or move it "
            "away"
        )

    for parent, names in sorted(_walked(folder, refuse)):
        yield from (
            os.path.join(parent, name)
            for name in sorted(names)
            if name.lower().endswith(EXTENSIONS)
        )


def _walked(top: str, refuse: Callable[[OSError], None]) -> Iterator[tuple[str, list[str]]]:
    """A folder and those below, each with its files; links are followed. Raises SourceError for one
    that leads back, since it would be gone through again and again.
    """
    above = dict[str, frozenset[tuple[int, int]]]()  # device and inode of a folder and those above
    for parent, folders, names in os.walk(top, followlinks=True, onerror=refuse):
        try:
            facts = os.stat(parent)
        except OSError as error:
            refuse(error)
            continue
        mine, others = (facts.st_dev, facts.st_ino), above.get(os.path.dirname(parent), frozenset())
        if mine in others:
            raise SourceError(f"{parent}: leads back to a folder that it lies in; remove the link")
        if folders:
            above[parent.rstrip("/")] = others | {mine}
        yield parent, names
