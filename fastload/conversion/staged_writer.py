"""The base class of writers whose target is a folder of files that appears at once.

fastload's own folder of classes is one, and docs/extending.md has another.
"""

import abc
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from fastload import _native
from fastload.conversion import seek_writer, staging, target
from fastload.conversion.journal import CHECKSUM
from fastload.conversion.parts import Item, Row, Written, bad_lines, written
from fastload.conversion.shards_writer import all_bad, same
from fastload.conversion.writers import Catalog, Committed, Samples, Wanted
from fastload.errors import ConversionError
from fastload.files.below import PLAIN, Folder
from fastload.files.names import Inner
from fastload.sources.shard_index import BAD


class NewFiles:
    """Files that a writer makes, below the open folder that becomes the target.

    There is no path to write to: names are checked, and nothing is made through a link or outside
    of the folder, whatever a sample is called. For one thread.

    Args:
        where: The target, for messages.
        folder: The open folder.

    Example:
        >>> from fastload.extending import NewFiles
        >>> from fastload.files.below import opened
        >>> with opened("train") as folder:
        ...     files = NewFiles("train", folder)
        ...     files.write("bird/8.txt", b"tweet")
        >>> files.names, files.size
        (['bird/8.txt'], 5)
    """

    def __init__(self, where: str, folder: Folder) -> None:
        """where: the target, for messages."""
        self.where, self.folder = where, folder
        self.names: list[str] = []
        self.checksums: list[int] = []  # XXH3-64 of each file
        self.size = 0  # bytes of all files
        self._parents: set[str] = set()

    def write(self, name: str, data: bytes) -> None:
        """A new file; name: its path below the target, `/` between folders, which are made.

        Raises NameRefusedError for a name that leads out of the target, ConversionError where a
        file has it already, OSError.
        """
        inner = Inner(name)
        parent = os.path.dirname(inner)
        if parent and parent not in self._parents:
            self.folder.folder(Inner(parent), make=True).close()
            self._parents.add(parent)
        try:
            self.folder.write(inner, data, PLAIN)  # nobody else can enter the stage
        except FileExistsError as error:
            text = (
                f"{name!r} is the name of two files (this file system may take upper case for "
                "lower case)"
            )
            raise ConversionError(
                f"{self.where}: {text}; rename one, pass --extras drop, or choose another format"
            ) from error
        self.names.append(name)
        self.checksums.append(_native.xxh3(data))
        self.size += len(data)

    def sync(self) -> None:
        """The names are on disk when this returns. Raises OSError."""
        for parent in sorted(self._parents):
            with self.folder.folder(Inner(parent)) as folder:
                folder.sync()


class StagedWriter(abc.ABC):
    """A `Writer` of a folder that appears at once.

    Subclasses say which files a part becomes, and what else there is. Parts are written in a
    hidden folder beside the target, which takes the target's name by one rename. `write_part` is
    called from several threads, once for each part; `finish` once, last. The same samples have to
    give the same bytes, whatever the number of threads, so that a conversion can be resumed.

    Args:
        where: The target.

    Example:
        >>> from fastload.extending import StagedWriter
        >>> class Flat(StagedWriter):
        ...     '''All images in one folder, by their numbers.'''
        ...
        ...     def write_part(self, files, number, samples):
        ...         for item in samples:
        ...             files.write(f"{item.row.sample}.{item.extension}", item.data)
        >>> Flat("flat").where
        'flat'
    """

    seek_step: int | None = None
    copies = 0

    def __init__(self, where: str) -> None:
        """where: the target."""
        self.where = where
        self.hold = self.stage = staging.Stage(where)

    @abc.abstractmethod
    def write_part(self, files: NewFiles, number: int, samples: Iterator[Item]) -> None:
        """Write the files of part `number`, from 0; another part never has the same names.

        samples: read and checked one by one while they are asked for: key (a path without an
            extension, unique), label, data (the encoded image), extension ("jpg", by its bytes),
            extras (files beside it: name, data). Bad ones are left out before.
        Raises ConversionError, OSError.
        """

    def finish(  # noqa: B027 - nothing is right for most
        self, files: NewFiles, catalog: Catalog, parts: Sequence[Written]
    ) -> None:
        """Write what is known when all parts are there, such as an index; nothing by default.

        catalog: keys, labels and classes of the whole source. parts: their samples, by number in
            the source, in the order of `write_part`.
        Raises ConversionError, OSError.
        """

    def belongs(self, name: str) -> bool:
        """Whether a file of this name, directly in a target that is there, is of this format.

        Only then --overwrite replaces the folder. By default nothing is ever replaced.
        """
        return False

    def notes(self, parts: Sequence[Written], catalog: Catalog) -> tuple[str, ...]:
        """What the user should know of the result."""
        return ()

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[target.Hold]:
        check = staging.replaceable(self.belongs, overwrite=overwrite)
        return staging.being_staged(self.stage, needed, check, resume=resume)

    def write(self, number: int, samples: Samples, wanted: Wanted) -> Written:
        rows = list[Row]()

        def noted() -> Iterator[Item]:
            for item in samples:
                rows.append(item.row)
                yield item

        files = NewFiles(self.where, self.stage.into)
        self.write_part(files, number, noted())
        if rows and wanted(samples):
            files.sync()
        pairs = zip(files.checksums, files.names, strict=True)
        return written(
            self.stage.data,
            (files.size, 0),
            rows,
            [0] * len(rows),
            bad=tuple(samples.bad),
            transcoding=samples.tally,
            sidecar=seek_writer.Builder(None).finish(None, write=False),
            names=tuple(f"{checksum:016x} {name}" for checksum, name in pairs),
        )

    def intact(self, part: Written) -> bool:
        into = self.stage.into
        files = [(Inner(line[CHECKSUM:]), int(line[: CHECKSUM - 1], 16)) for line in part.names]
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
        files = NewFiles(self.where, self.stage.into)
        self.finish(files, catalog, parts)
        files.sync()
        if bad := bad_lines(all_bad(parts)):
            self.stage.into.write(Inner(BAD), bad, PLAIN)
        self.stage.commit()
        size = sum(part.bytes for part in parts) + files.size
        return Committed(len(known) + len(files.names), size, self.notes(parts, catalog))
