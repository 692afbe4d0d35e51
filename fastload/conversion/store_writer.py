"""fastload's shards in an object store: each is uploaded while the next ones are made."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager

from fastload.conversion import store_target, target
from fastload.conversion.commits import FINAL, UNFINISHED
from fastload.conversion.options import Options
from fastload.conversion.parts import Written, bad_lines
from fastload.conversion.readers.base import Reader
from fastload.conversion.shards_writer import Announce, ShardsWriter, all_bad
from fastload.conversion.store_prefix import Prefix
from fastload.conversion.writers import Catalog, Committed
from fastload.errors import ConversionError, UsageError
from fastload.files import cache
from fastload.files.formats import SHARDS
from fastload.remote.stores import DEADLINE, Store
from fastload.remote.uploads import Uploads
from fastload.remote.urls import Url, is_url, parse
from fastload.sources.shards import TEMPORARY
from fastload.system.machine import usable_cores

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl")
MOST_UPLOADS = 4  # at once; each sends several parts
ON_DISK = 2  # shards of each worker that are on the local disk: one is made, one is uploaded


def store_url(where: str, options: Options) -> Url | None:
    """The target's URL; None for a path. Raises ConversionError for what cannot be written there,
    UsageError for options that a path does not take.
    """
    if not is_url(where):
        given = ("scratch", "storage_options", "deadline")
        if wrong := [name for name in given if getattr(options, name) is not None]:
            raise UsageError(
                f"{where}: {' and '.join(wrong)} given for a local target; leave it out"
            )
        return None
    check_url(where, options.to)
    return parse(where)


def check_url(where: str, to: str) -> None:
    """Raise ConversionError for a URL that data in the format `to` is not written to."""
    if not is_url(where):
        return
    scheme = where.partition("://")[0].lower()
    if scheme not in SCHEMES:
        raise ConversionError(
            f"{scheme}://…: is a kind of URL that is not written to (want s3://, gs:// or "
            "az://); give one of these, or a local folder"
        )
    if to != SHARDS:
        raise ConversionError(
            f"{parse(where).shown}: only {SHARDS} are written to a store (got --to {to}); convert "
            "to a local path, and copy it there"
        )


def open_writer(url: Url, reader: Reader, options: Options) -> "StoreWriter":
    return StoreWriter(url, options, int(reader.sizes.max()))


class StoreWriter(ShardsWriter):
    """fastload's own format, below a URL."""

    def __init__(self, url: Url, options: Options, largest: int) -> None:
        """largest: bytes of a sample."""
        super().__init__(url.shown, options.seek_step, transcode=options.transcode)
        count = options.workers or usable_cores()
        self.room = ON_DISK * count * max(options.shard_bytes, largest)
        store = Store(url, options.storage_options or {}, options.deadline or DEADLINE)
        scratch = options.scratch or cache.path("converting")
        folder = os.path.join(os.path.abspath(scratch), TEMPORARY + url.digest[:16])
        self.place = Prefix(store)
        uploads = Uploads(min(count, MOST_UPLOADS))
        self.stored = store_target.StoreHold(self.place, folder, uploads)
        self.hold = self.stored

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[target.Hold]:
        room = min(needed, self.room)
        return store_target.being_stored(self.stored, room, overwrite=overwrite, resume=resume)

    def intact(self, part: Written) -> bool:
        return not len(part.samples) or self.stored.has(part)

    def commit(self, parts: Sequence[Written], catalog: Catalog, announce: Announce) -> Committed:
        full, pairs, index = self.result(parts, catalog)
        if not self.stored.is_published(pairs, index):
            announce(pairs)
            self.stored.publish(pairs, index, bad_lines(all_bad(parts)))
            announce([(UNFINISHED, FINAL)])  # so that a resumed job knows it
        said = self.stored.tidy()
        size = sum(part.bytes for part in full)
        return Committed(len(full), size, (f"{self.where}: {said}",) * bool(said))
