"""A folder of classes, as torchvision's ImageFolder reads it; with files beside the images, a
folder for each kind.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from fastload import _native
from fastload.conversion.keys import Unique, tidy_key
from fastload.conversion.options import Options
from fastload.conversion.parts import Item, Written
from fastload.conversion.readers.base import Reader
from fastload.conversion.staged_writer import NewFiles, StagedWriter
from fastload.conversion.writers import Catalog
from fastload.errors import ConversionError
from fastload.files.names import CONTROL, LONGEST_PART, Inner, readable
from fastload.sources.labels import NUMBER

OTHERS = "image_files"  # of files that are called image, which are not the images
IMAGES = "images"  # the folder of the images, where there are other files
ROOM = 16  # bytes for an extension, as a rule
REFUSED = re.compile(CONTROL.pattern + "|/")


def open_writer(where: str, reader: Reader, options: Options) -> "FolderWriter":
    """Raises ConversionError for classes that cannot be folders."""
    paired = options.extras == "keep" and bool(reader.beside.any())
    catalog = Catalog(reader.keys, reader.labels, reader.classes)
    return FolderWriter(where, catalog, paired=paired)


class FolderWriter(StagedWriter):
    """CLASS/NAME.EXT for each sample.

    paired: whether images lie in their own folder, beside those of other files. What else may lie
    in such a folder cannot be told, so none is ever replaced.
    """

    def __init__(self, where: str, catalog: Catalog, *, paired: bool) -> None:
        super().__init__(where)
        self.paired = paired
        self.folders = folders(where, [readable(name) for name in catalog.classes])
        self.stems = names(self.folders, catalog)

    def write_part(self, files: NewFiles, number: int, samples: Iterator[Item]) -> None:
        for item in samples:
            for name, data in self._files(item):
                files.write(name, data)

    def notes(self, parts: Sequence[Written], catalog: Catalog) -> tuple[str, ...]:
        return notes(self.folders, parts, catalog)

    def _files(self, item: Item) -> list[tuple[Inner, bytes]]:
        name = self.stems[item.row.sample]
        images = f"{IMAGES}/{name}" if self.paired else name
        files = [(_with(images, item.extension), item.data)]
        for extra in item.extras:
            kind, _, last = extra.name.partition(".")
            folder = OTHERS if f"{kind}s" == IMAGES else f"{kind}s"
            files.append((_with(f"{folder}/{name}", last or kind), extra.data))
        return files


def _with(path: str, extension: str) -> Inner:
    """The path with an extension, its last part so short that both fit."""
    parent, _, last = path.rpartition("/")
    return Inner(f"{parent}/{shorter(last, len(os.fsencode(extension)) + 1)}.{extension}")


def names(classes: Sequence[str], catalog: Catalog) -> list[str]:
    """CLASS/NAME for each sample, without extension: its key, below its class.

    Two that would be one get _2, _3, …
    """
    prefixes = [f"{tidy_key(f'{readable(name)}/x')[:-2]}/" for name in catalog.classes]
    chosen, unique = list[str](), Unique()
    for key, label in zip(catalog.keys, catalog.labels.tolist(), strict=True):
        inner = key.removeprefix(prefixes[label]).split("/")
        wanted = [shorter(part) for part in inner if part not in ("", ".", "..")]
        chosen.append(unique("/".join([classes[label], *wanted])))
    return chosen


def shorter(part: str, room: int = ROOM) -> str:
    """A part of a path that any Linux file system takes, with room for so many bytes of an
    extension.
    """
    data = part.encode()
    if len(data) <= LONGEST_PART - room:
        return part
    return f"{data[: LONGEST_PART - 24 - room].decode('utf-8', 'ignore')}_{_native.xxh3(data):016x}"


def folders(where: str, classes: Sequence[str]) -> list[str]:
    """A folder name for each class; numbers get zeros in front where only that sorts them.

    Raises ConversionError.
    """
    names = [REFUSED.sub("_", name) for name in classes]
    if names != sorted(names) and all(map(NUMBER.fullmatch, names)):
        padded = [name.zfill(max(map(len, names))) for name in names]
        names = padded if padded == sorted(padded) else names
    wrong = [name for name in names if name in ("", ".", "..") or len(name.encode()) > LONGEST_PART]
    if wrong:
        raise ConversionError(
            f"{where}: class {wrong[0]!r} cannot be a folder; give other names with --labels"
        )
    if len(set(names)) < len(names):
        double = Counter(names).most_common(1)[0][0]
        raise ConversionError(
            f"{where}: two classes would be folder {double!r}; give other names with --labels"
        )
    return names


def notes(classes: Sequence[str], parts: Sequence[Written], catalog: Catalog) -> tuple[str, ...]:
    """What ImageFolder will see otherwise than the source."""
    used = {int(label) for part in parts for label in catalog.labels[part.samples]}
    said = []
    if len(used) < len(classes):
        said.append(
            f"{len(classes) - len(used)} of {len(classes)} classes have no image and so no folder: "
            "ImageFolder numbers the others anew"
        )
    if list(classes) != sorted(classes):
        said.append(
            "ImageFolder numbers classes by their sorted names, which gives other numbers than the "
            "source's"
        )
    return tuple(said)
