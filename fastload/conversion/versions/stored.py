"""A data set in an object store that is changed.

A store has no locks and renames nothing. An object that is only created where none is says who
changes the data set. The index is written only where the old one still is; until then its checksum
file tells both, so the data set opens at every moment. Both need conditional writes, which S3, GCS,
Azure and most others have.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence

from fastload import _native
from fastload.conversion import seek_writer
from fastload.conversion.options import Options
from fastload.conversion.parts import Bad
from fastload.conversion.store_prefix import Prefix
from fastload.conversion.versions import changing, left_out
from fastload.conversion.versions.changing import Change, Next
from fastload.errors import ConversionError, SourceError, StoreError
from fastload.files import cache
from fastload.remote.access import Settings
from fastload.remote.stores import DEADLINE, Store
from fastload.remote.urls import parse
from fastload.sources import arrow, remote, seek, shard_versions, sums
from fastload.sources.remote import RemoteShards
from fastload.sources.shard_index import BAD, INDEX, SUM, Index
from fastload.sources.shard_versions import HISTORY, Version
from fastload.sources.shards import TEMPORARY

MARK = f"{TEMPORARY}append"  # holds a random number while somebody changes the data set


class StoredPlace:
    """A `Place`. Raises SourceError."""

    lacking: str | None = None

    def __init__(self, where: str, options: Options) -> None:
        url = parse(where)
        self.url, self.where = where, url.shown
        self.settings = Settings(
            dict(options.storage_options or {}), deadline=options.deadline or DEADLINE
        )
        self.store = Store(url, self.settings.options, self.settings.deadline)
        scratch = options.scratch or cache.path("converting")
        self.stage = os.path.join(os.path.abspath(scratch), f"{MARK}-{url.digest[:16]}")
        self._owner = secrets.token_hex(16).encode()
        self._source: RemoteShards | None = None
        self._facts: dict[str, Mapping[str, object]] = {}

    @contextlib.contextmanager
    def held(self, *, resume: bool) -> Iterator[None]:
        if resume:  # of one that was killed, as whoever asks for it knows
            self.store.put(MARK, self._owner)
        elif not self.store.put_if(MARK, self._owner, None):
            raise ConversionError(
                f"{self.where}: another append is writing there, or was killed ({MARK} lies "
                "there); wait for it, or go on with --resume if it was killed"
            )
        try:
            os.makedirs(os.path.dirname(self.stage), exist_ok=True)
            self._settle()
            yield
        except BaseException:
            with contextlib.suppress(StoreError):  # the first error is the one to tell
                self._release()
            raise
        self._release()

    def _settle(self) -> None:
        """The checksum file tells one index, also where a change was killed behind its commit."""
        try:
            parsed = sums.parse(bytes(self.store.get(SUM).data))
            if parsed and not parsed.blocks:
                content = bytes(self.store.get(INDEX).data)
                if _native.xxh3(content) in parsed.whole:
                    self.store.put(SUM, sums.text(content))
            self._facts = {name: self.store.facts(name) for name in (SUM, INDEX)}
        except StoreError as error:
            if not error.missing:
                raise
            raise SourceError(
                f"{self.where}: is no converted data set; run fastload convert first"
            ) from error
        try:
            self._facts[HISTORY] = self.store.facts(HISTORY)
        except StoreError as error:  # nobody has added anything yet
            if not error.missing:
                raise

    def _release(self) -> None:
        if self._is_mine():
            self.store.delete(MARK)

    def _is_mine(self) -> bool:
        try:
            return bytes(self.store.get(MARK).data) == self._owner
        except StoreError as error:
            if not error.missing:
                raise
            return False

    def index(self) -> Index:
        found = remote.load(self.url, self.settings)
        if found is None:
            raise SourceError(f"{self.where}: is no converted data set; run fastload convert first")
        self._source = found
        return found.index

    def seek_step(self, index: Index) -> int | None:
        if not index.sidecars:
            return None
        head = self.store.get(index.sidecars[0].name, (0, seek.HEADER.size)).data
        step = seek_writer.step_in(bytes(head))
        return seek_writer.STEP if step is None else step

    def versions(self, index: Index) -> tuple[Version, ...]:
        assert self._source is not None
        return remote.versions_behind(self._source)

    def deleted(self, said: Sequence[Version]) -> set[str]:
        keys = set[str]()
        for one in [one for one in said if one.keys is not None]:
            name = shard_versions.deleted_name(one.number)
            keys |= shard_versions.keys_of(
                self.store.shown(name), bytes(self.store.get(name).data), one
            )
        return keys

    @contextlib.contextmanager
    def changed(self, change: Change) -> Iterator[None]:
        yield

    def commit(self, change: Change, new: Next, at: float) -> tuple[Version, ...]:
        """Readers find the old index until the new one is written, and the new one from then on."""
        old, said = change.old, self.versions(change.old)
        prefix = Prefix(self.store)
        prefix.each(self._upload, [(path, name) for path, name in new.files])
        self._keep(said[-1])
        listed = changing.versions_then(change, said, new, at)
        if listed.keys:
            name = shard_versions.deleted_name(listed.versions[-1].number)
            self.store.put(name, listed.keys)
        both = sums.line(old.checksum) + sums.line(_native.xxh3(new.content))
        if not (
            self._is_mine()
            and self.store.put_if(HISTORY, listed.text, self._facts.get(HISTORY))
            and self.store.put_if(SUM, both, self._facts[SUM])
            and self.store.put_if(INDEX, bytes(new.content), self._facts[INDEX])
        ):
            raise ConversionError(
                f"{self.where}: somebody else has changed it meanwhile; try again, which adds what "
                "is still lacking"
            )
        self.store.put(SUM, sums.text(new.content))
        return listed.versions

    def _upload(self, path: str, name: str) -> None:
        self.store.put(name, path)
        Prefix(self.store).written(name, os.path.getsize(path))

    def _keep(self, version: Version) -> None:
        """The newest index, which is this version's, once more under a name of its own."""
        name = shard_versions.index_name(version.number)
        content = bytes(self.store.get(INDEX).data)
        if (got := _native.xxh3(content)) != version.checksum:
            raise ConversionError(
                f"{self.store.shown(INDEX)}: somebody else has changed it meanwhile (checksum got "
                f"{got:016x}, want {version.checksum:016x}); try again"
            )
        self.store.put(name, content)
        self.store.put(name + arrow.SUFFIX, sums.text(content))

    def leave_out(self, bad: Sequence[Bad]) -> None:
        if not bad:
            return
        try:
            before = left_out.parse(bytes(self.store.get(BAD).data))
        except StoreError as error:
            if not error.missing:
                raise
            before = []
        self.store.put(BAD, left_out.joined(before, bad))
