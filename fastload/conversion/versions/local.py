"""A data set in a folder that is changed: locked meanwhile, and replaced by one rename."""

import contextlib
import os
from collections.abc import Iterator, Sequence

from fastload import _native
from fastload.conversion import commits, mending, subsets, target
from fastload.conversion.parts import Bad
from fastload.conversion.versions import changing, left_out
from fastload.conversion.versions.changing import Change, Next
from fastload.errors import ConversionError, SourceError
from fastload.files import below
from fastload.files.below import PLAIN, Folder
from fastload.files.names import Inner
from fastload.sources import arrow, shard_versions, sums
from fastload.sources.shard_index import BAD, INDEX, SUM, Index
from fastload.sources.shard_versions import HISTORY, Version
from fastload.sources.shards import TEMPORARY
from fastload.sources.staging import local_only


class LocalPlace:
    """A `Place`."""

    def __init__(self, where: str) -> None:
        self.where = os.path.abspath(local_only(where))
        self.lacking: str | None = self.where
        parent, name = os.path.split(self.where)
        self.stage = os.path.join(parent, f".fastload-{name}.append")
        self._folder: Folder | None = None

    @contextlib.contextmanager
    def held(self, *, resume: bool) -> Iterator[None]:
        if not os.path.isdir(self.where):
            got = "a file" if os.path.exists(self.where) else "nothing"
            raise ConversionError(
                f"{self.where}: is no converted data set (got {got}); convert into it first, "
                "without --append"
            )
        with target.translated(self.where, 0), target.locked(self.where) as self._folder:
            settle(self._folder)
            yield

    def index(self) -> Index:
        return subsets.open_index(self.where)

    def seek_step(self, index: Index) -> int | None:
        return mending.steps(index)[0] if index.sidecars else None

    def versions(self, index: Index) -> tuple[Version, ...]:
        return shard_versions.of(self.where, len(index), index.checksum)

    def deleted(self, said: Sequence[Version]) -> set[str]:
        return shard_versions.deleted_keys(self.where, said)

    @contextlib.contextmanager
    def changed(self, change: Change) -> Iterator[None]:
        assert self._folder is not None
        needed = (len(change.old) + change.added) * subsets.INDEX_ROW
        with target.extending(self.where, self._folder, needed):
            yield

    def commit(self, change: Change, new: Next, at: float) -> tuple[Version, ...]:
        """Until the rename of the index there is the old version, whole, and from then on the new
        one.
        """
        folder, old = self._folder, change.old
        assert folder is not None
        said = self.versions(old)
        linked = list[tuple[Inner, Inner]]()
        for path, name in new.files:
            temporary = below.temporary(name.removeprefix("shard-"), TEMPORARY)
            subsets.link(path, folder, temporary)
            linked.append((temporary, Inner(name)))
        for temporary, final in linked:  # second names, whose modes are right already
            folder.rename(temporary, final)
        keep(folder, said[-1])
        listed = changing.versions_then(change, said, new, at)
        if listed.keys:
            name = shard_versions.deleted_name(listed.versions[-1].number)
            folder.replace(Inner(name), listed.keys, prefix=TEMPORARY)
        tell(folder, listed.text)
        folder.sync()
        commits.replace_index(folder, (), new.content, old.checksum)
        return listed.versions

    def leave_out(self, bad: Sequence[Bad]) -> None:
        assert self._folder is not None
        if bad:
            before = left_out.read(self.where)
            self._folder.replace(Inner(BAD), left_out.joined(before, bad), prefix=TEMPORARY)


def settle(folder: Folder) -> None:
    """The checksum file tells one index, also where a change was killed behind its commit. Raises
    OSError.
    """
    if folder.has(Inner(SUM)) and folder.has(Inner(INDEX)):
        whole = sums.whole_in(folder.read(Inner(SUM))[: sums.HEAD])
        content = folder.read(Inner(INDEX)) if len(whole) > 1 else b""
        if content and _native.xxh3(content) in whole:
            folder.replace(Inner(SUM), sums.text(content), PLAIN, prefix=TEMPORARY)


def keep(folder: Folder, version: Version) -> None:
    """The newest index, which is this version's, gets a second name.

    Raises OSError, ConversionError where it is damaged.
    """
    name, content = Inner(shard_versions.index_name(version.number)), folder.read(Inner(INDEX))
    if (got := _native.xxh3(content)) != version.checksum:
        raise ConversionError(
            f"{folder.at(INDEX)}: is damaged (checksum got {got:016x}, want "
            f"{version.checksum:016x}); restore it"
        )
    if folder.has(name):  # of one that was killed before the rename: nobody needs it yet
        folder.remove(name)
    beside = Inner(name + arrow.SUFFIX)
    folder.replace(beside, sums.text(content), prefix=TEMPORARY)
    try:
        os.link(INDEX, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    except OSError as error:
        if error.errno not in subsets.NO_LINKS:
            raise
        folder.replace(name, content, prefix=TEMPORARY)


def tell(folder: Folder, text: bytes) -> None:
    """Write the HISTORY. Raises OSError."""
    folder.replace(Inner(HISTORY), text, PLAIN, prefix=TEMPORARY)


def made_anew(folder: Folder, where: str, old: int, new: int) -> None:
    """The newest index is about to be replaced by one that has the same samples: old, new: XXH3-64
    of both. Raises OSError.
    """
    with contextlib.suppress(SourceError):
        if said := shard_versions.until(shard_versions.listed(where), old):
            said = (*said[:-1], said[-1]._replace(checksum=new))
            tell(folder, b"".join(one.line() for one in said))
