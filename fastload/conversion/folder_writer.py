"""A folder of classes, as torchvision's ImageFolder reads it; with files beside the images, a folder for each kind."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from fastload import _native
from fastload.conversion import seek_writer, staging, target
from fastload.conversion.keys import readable, tidy_key
from fastload.conversion.parts import Item, Row, Written, bad_lines, written
from fastload.conversion.shards_writer import all_bad, same
from fastload.conversion.writers import Catalog, Committed, Made, Wanted
from fastload.errors import ConversionError
from fastload.sources.shards import BAD

OTHERS = "image_files"  # of files that are called image, which are not the images
IMAGES = "images"  # the folder of the images, where there are other files
NAME_BYTES = 255  # of a file name, as Linux allows
REFUSED = re.compile(r"[\x00/]")


class FolderWriter:
    """CLASS/NAME.EXT for each sample. paired: whether images lie in their own folder, beside those of other files."""

    def __init__(self, where: str, catalog: Catalog, *, paired: bool) -> None:
        self.where, self.paired = where, paired
        self.stage = staging.Stage(where)
        self.folders = folders(where, [readable(name) for name in catalog.classes])
        self.names = names(self.folders, catalog)

    def holding(self, needed: int, *, overwrite: bool, resume: bool) -> AbstractContextManager[target.Hold]:
        # What else may lie in such a folder cannot be told, so none is ever removed.
        return staging.being_staged(self.stage, needed, staging.replaceable(lambda _: False, overwrite=overwrite), resume=resume)

    def write(self, number: int, made: Made, wanted: Wanted) -> Written:
        rows, paths, checksums, size = list[Row](), list[str](), list[int](), 0
        written_to: set[str] = set()
        for item in made:
            for name, data in self._files(item):
                path = os.path.join(self.stage.data, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                target.write(path, data)
                written_to.add(os.path.dirname(path))
                paths.append(name)
                checksums.append(_native.xxh3(data))
                size += len(data)
            rows.append(item.row)
        if rows and wanted(made):
            for folder in sorted(written_to):
                target.sync_folder(folder)
        return written(
            self.stage.data, (size, 0), rows, [0] * len(rows), bad=tuple(made.bad), transcoding=made.tally,
            sidecar=seek_writer.Builder(None).finish("", write=False),
            names=tuple(f"{checksum:016x} {name}" for checksum, name in zip(checksums, paths, strict=True)),
        )  # fmt: skip

    def intact(self, part: Written) -> bool:
        for line in part.names:
            path = os.path.join(self.stage.data, line[17:])
            if not os.path.exists(path) or not same(path, os.path.getsize(path), int(line[:16], 16)):
                return False
        return True

    def commit(self, parts: Sequence[Written], catalog: Catalog, announce: Callable[[Sequence[tuple[str, str]]], None]) -> Committed:
        announce([])
        known = {line[17:] for part in parts for line in part.names}
        for parent, _, files in os.walk(self.stage.data):
            for name in files:  # of a part that was cut off, under other options of an earlier run
                if os.path.relpath(os.path.join(parent, name), self.stage.data) not in known:
                    os.unlink(os.path.join(parent, name))
            target.sync_folder(parent)
        if bad := bad_lines(all_bad(parts)):
            target.write(os.path.join(self.stage.data, BAD), bad)
        self.stage.commit()
        return Committed(len(known), sum(part.bytes for part in parts), notes(self.folders, parts, catalog))

    def _files(self, item: Item) -> list[tuple[str, bytes]]:
        name = self.names[item.row.sample]
        images = f"{IMAGES}/{name}" if self.paired else name
        found = [(f"{images}.{item.extension}", item.data)]
        for extra in item.extras:
            kind, _, last = extra.name.partition(".")
            folder = OTHERS if f"{kind}s" == IMAGES else f"{kind}s"
            found.append((f"{folder}/{name}.{last or kind}", extra.data))
        return found


def names(classes: Sequence[str], catalog: Catalog) -> list[str]:
    """CLASS/NAME for each sample, without extension: its key, below its class. Two that would be one get _2, _3, …"""
    prefixes = [f"{tidy_key(f'{readable(name)}/x')[:-2]}/" for name in catalog.classes]
    found, taken = list[str](), set[str]()
    for key, label in zip(catalog.keys, catalog.labels.tolist(), strict=True):
        inner = key.removeprefix(prefixes[label]).split("/")
        name = wanted = "/".join([classes[label], *(shorter(part) for part in inner if part not in ("", ".", ".."))])
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        found.append(name)
    return found


def shorter(part: str) -> str:
    """A part of a path that any Linux file system takes, with room for an extension."""
    data = part.encode()
    if len(data) <= NAME_BYTES - 16:
        return part
    return f"{data[: NAME_BYTES - 40].decode('utf-8', 'ignore')}_{_native.xxh3(data):016x}"


def folders(where: str, classes: Sequence[str]) -> list[str]:
    """A folder name for each class; numbers get zeros in front, so that they sort as numbers. Raises ConversionError."""
    width = max(map(len, classes), default=0) if all(name.isdigit() for name in classes) else 0
    made = [REFUSED.sub("_", name).zfill(width) for name in classes]
    wrong = [name for name in made if name in ("", ".", "..") or len(name.encode()) > NAME_BYTES]
    if wrong:
        raise ConversionError(f"{where}: class {wrong[0]!r} cannot be a folder; give other names with --labels")
    if len(set(made)) < len(made):
        double = next(name for place, name in enumerate(made) if name in made[:place])
        raise ConversionError(f"{where}: two classes would be folder {double!r}; give other names with --labels")
    return made


def notes(classes: Sequence[str], parts: Sequence[Written], catalog: Catalog) -> tuple[str, ...]:
    """What ImageFolder will see otherwise than the source."""
    used = {int(label) for part in parts for label in catalog.labels[part.samples]}
    said = []
    if len(used) < len(classes):
        said.append(
            f"{len(classes) - len(used)} of {len(classes)} classes have no image and so no folder: ImageFolder numbers the others anew"
        )
    if list(classes) != sorted(classes):
        said.append("ImageFolder numbers classes by their sorted names, which gives other numbers than the source's")
    return tuple(said)
