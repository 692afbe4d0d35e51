"""Where a data set lies that is changed: in a folder, or in a store."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fastload.conversion.options import Options
from fastload.conversion.parts import Bad
from fastload.conversion.versions.changing import Change, Next
from fastload.conversion.versions.local import LocalPlace
from fastload.errors import UsageError
from fastload.files.formats import SHARDS
from fastload.remote.urls import is_url
from fastload.sources.shard_index import Index
from fastload.sources.shard_versions import Version


class Place(Protocol):
    """Where a data set lies that is changed; one method after the other, while it is held.

    where: for messages; stage: the folder for new shards; lacking: as other processes know it;
    None: they cannot help.
    """

    where: str
    stage: str
    lacking: str | None

    def held(self, *, resume: bool) -> AbstractContextManager[None]:
        """Nobody else changes it meanwhile. Raises ConversionError where somebody does."""

    def index(self) -> Index:
        """The newest. Raises SourceError."""

    def seek_step(self, index: Index) -> int | None:
        """The step of its seek indexes, or what stands for coefficient layers; None: there are
        none. Raises StoreError.
        """

    def versions(self, index: Index) -> tuple[Version, ...]:
        """Up to this index. Raises SourceError."""

    def deleted(self, said: Sequence[Version]) -> set[str]:
        """What any of these versions has deleted. Raises SourceError."""

    def changed(self, change: Change) -> AbstractContextManager[None]:
        """Around a commit: on an error everything is as it was."""

    def commit(self, change: Change, new: Next, at: float) -> tuple[Version, ...]:
        """Put it in place; all versions that there are then. at: when this is, s since 1970."""

    def leave_out(self, bad: Sequence[Bad]) -> None:
        """List what was left out."""


def place_of(where: str, options: Options | None = None) -> Place:
    """Raises UsageError, SourceError, ConversionError."""
    if options is not None and options.to != SHARDS:
        raise UsageError(f"append: only {SHARDS} are added to (got --to {options.to})")
    if options is not None and options.overwrite:
        raise UsageError("append: nothing is overwritten; leave --overwrite out")
    if not is_url(where):
        return LocalPlace(where)
    from fastload.conversion.versions.stored import StoredPlace  # local data sets need none of it

    return StoredPlace(where, options or Options())
