"""A folder of classes, as torchvision's ImageFolder reads it; with files beside the images, a
folder for each kind.
"""

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from fastload import _native
from fastload.conversion import seek_writer, staging, target
from fastload.conversion.journal import CHECKSUM
from fastload.conversion.keys import readable, tidy_key
from fastload.conversion.parts import Item, Row, Written, bad_lines, written
from fastload.conversion.shards_writer import all_bad, same
from fastload.conversion.writers import Catalog, Committed, Made, Wanted
from fastload.errors import ConversionError
from fastload.files.below import PLAIN
from fastload.files.names import CONTROL, LONGEST_PART, Inner
from fastload.sources.shard_index import BAD

OTHERS = "image_files"  # of files that are called image, which are not the images
IMAGES = "images"  # the folder of the images, where there are other files
ROOM = 16  # bytes for an extension, as a rule
REFUSED = re.compile(CONTROL.pattern + "|/")


class FolderWriter:
    """CLASS/NAME.EXT for each sample.

    paired: whether images lie in their own folder, beside those of other files.
    """

    def __init__(self, where: str, catalog: Catalog, *, paired: bool) -> None:
        self.where, self.paired = where, paired
        self.stage = staging.Stage(where)
        self.folders = folders(where, [readable(name) for name in catalog.classes])
        self.names = names(self.folders, catalog)

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[target.Hold]:
        # What else may lie in such a folder cannot be told, so none is ever removed.
        return staging.being_staged(
            self.stage,
            needed,
            staging.replaceable(lambda _: False, overwrite=overwrite),
            resume=resume,
        )

    def write(self, number: int, made: Made, wanted: Wanted) -> Written:
        rows, paths, checksums, size = list[Row](), list[str](), list[int](), 0
        written_to: set[str] = set()
        for item in made:
            for name, data in self._files(item):
                parent = os.path.dirname(name)
                if parent not in written_to:
                    self.stage.into.folder(Inner(parent), make=True).close()
                    written_to.add(parent)
                self._write(name, data)
                paths.append(name)
                checksums.append(_native.xxh3(data))
                size += len(data)
            rows.append(item.row)
        if rows and wanted(made):
            for parent in sorted(written_to):
                with self.stage.into.folder(Inner(parent)) as folder:
                    folder.sync()
        return written(
            self.stage.data, (size, 0), rows, [0] * len(rows), bad=tuple(made.bad),
            transcoding=made.tally,
            sidecar=seek_writer.Builder(None).finish(None, write=False),
            names=tuple(f"{checksum:016x} {name}" for checksum, name in zip(checksums, paths,
            strict=True)),
        )  # fmt: skip

    def _write(self, name: Inner, data: bytes) -> None:
        try:
            self.stage.into.write(name, data, PLAIN)  # nobody else can enter the stage
        except FileExistsError as error:
            text = (
                f"{name!r} is the name of two files (this file system may take upper case for "
                "lower case)"
            )
            raise ConversionError(
                f"{self.where}: {text}; rename one, pass --extras drop, or choose another format"
            ) from error

    def intact(self, part: Written) -> bool:
        into, files = (
            self.stage.into,
            [(Inner(line[CHECKSUM:]), int(line[: CHECKSUM - 1], 16)) for line in part.names],
        )
        if all(
            into.is_plain(name) and same(into.at(name), into.size(name), checksum)
            for name, checksum in files
        ):
            return True
        for name, _ in files:  # they are made again
            with contextlib.suppress(OSError):
                into.remove(name)
        return False

    def commit(
        self,
        parts: Sequence[Written],
        catalog: Catalog,
        announce: Callable[[Sequence[tuple[str, str]]], None],
    ) -> Committed:
        announce([])
        known = {line[CHECKSUM:] for part in parts for line in part.names}
        for folder, path, names in self.stage.into.files():
            for name in names:  # nobody knows whose it is
                if f"{path}{name}" not in known:
                    folder.remove(name)
            folder.sync()
        if bad := bad_lines(all_bad(parts)):
            self.stage.into.write(Inner(BAD), bad, PLAIN)
        self.stage.commit()
        return Committed(
            len(known), sum(part.bytes for part in parts), notes(self.folders, parts, catalog)
        )

    def _files(self, item: Item) -> list[tuple[Inner, bytes]]:
        name = self.names[item.row.sample]
        images = f"{IMAGES}/{name}" if self.paired else name
        found = [(_with(images, item.extension), item.data)]
        for extra in item.extras:
            kind, _, last = extra.name.partition(".")
            folder = OTHERS if f"{kind}s" == IMAGES else f"{kind}s"
            found.append((_with(f"{folder}/{name}", last or kind), extra.data))
        return found


def _with(path: str, extension: str) -> Inner:
    """The path with an extension, its last part so short that both fit."""
    parent, _, last = path.rpartition("/")
    return Inner(f"{parent}/{shorter(last, len(os.fsencode(extension)) + 1)}.{extension}")


def names(classes: Sequence[str], catalog: Catalog) -> list[str]:
    """CLASS/NAME for each sample, without extension: its key, below its class.

    Two that would be one get _2, _3, …
    """
    prefixes = [f"{tidy_key(f'{readable(name)}/x')[:-2]}/" for name in catalog.classes]
    found, taken = list[str](), set[str]()
    for key, label in zip(catalog.keys, catalog.labels.tolist(), strict=True):
        inner = key.removeprefix(prefixes[label]).split("/")
        name = wanted = "/".join(
            [classes[label], *(shorter(part) for part in inner if part not in ("", ".", ".."))]
        )
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        found.append(name)
    return found


def shorter(part: str, room: int = ROOM) -> str:
    """A part of a path that any Linux file system takes, with room for so many bytes of an
    extension.
    """
    data = part.encode()
    if len(data) <= LONGEST_PART - room:
        return part
    return f"{data[: LONGEST_PART - 24 - room].decode('utf-8', 'ignore')}_{_native.xxh3(data):016x}"


def folders(where: str, classes: Sequence[str]) -> list[str]:
    """A folder name for each class; numbers get zeros in front, so that they sort as numbers.

    Raises ConversionError.
    """
    width = max(map(len, classes), default=0) if all(name.isdigit() for name in classes) else 0
    made = [REFUSED.sub("_", name).zfill(width) for name in classes]
    wrong = [name for name in made if name in ("", ".", "..") or len(name.encode()) > LONGEST_PART]
    if wrong:
        raise ConversionError(
            f"{where}: class {wrong[0]!r} cannot be a folder; give other names with --labels"
        )
    if len(set(made)) < len(made):
        double = next(name for place, name in enumerate(made) if name in made[:place])
        raise ConversionError(
            f"{where}: two classes would be folder {double!r}; give other names with --labels"
        )
    return made


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
