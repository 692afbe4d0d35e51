"""What lies below a prefix of an object store, and how shards there become a data set.

While `.fastload-index.arrow` lies there, a conversion is under way or was interrupted. A store
renames nothing, so shards are uploaded under their final names. Where a data set is to be replaced,
they get names of their own, and the store copies them once all are there. The checksum of the index
comes last: without it nothing is read.
"""

from collections.abc import Callable, Iterable, Sequence

from fastload.conversion import workers
from fastload.conversion.commits import FINAL, FINAL_SUM, UNFINISHED, is_part
from fastload.conversion.readers.base import stamp_of
from fastload.errors import StoreError
from fastload.remote import unfinished
from fastload.remote.objects import Object
from fastload.remote.stores import Store
from fastload.sources import sums
from fastload.sources.shard_index import BAD
from fastload.sources.shards import TEMPORARY

MOST = 2_000_000  # objects below a prefix
OPENING = 30.0  # s until a store that does not answer is an error; later ones may take longer
AT_ONCE = 16  # requests that move nothing through this machine


class Prefix:
    """A `finished.Place`. there: what lay there when it was last listed, by its name."""

    def __init__(self, store: Store) -> None:
        self.store, self.shown = store, store.url.shown
        self.there: dict[str, Object] = {}

    @property
    def identity(self) -> bytes:
        return self.shown.encode("utf-8", "surrogateescape")

    def stamp(self) -> str:
        with self.store.impatient(OPENING):
            self.look()
        files = sorted(each for each in self.there.values() if not each.key.startswith(TEMPORARY))
        if not files:
            raise FileNotFoundError(self.shown)
        return f"{stamp_of([list(each) for each in files]):016x}"

    def look(self) -> None:
        """List what lies there; a console's own mark of a folder is nothing. Raises StoreError."""
        objects = self.store.list(most=MOST)
        self.there = {each.key: each for each in objects if each.key and each.key[-1] != "/"}

    @property
    def has_index(self) -> bool:
        return bool({FINAL, FINAL_SUM} & set(self.there))

    @property
    def is_marked(self) -> bool:
        """Whether a conversion is under way, or was interrupted."""
        return UNFINISHED in self.there

    def has_mark(self, owner: bytes) -> bool:
        """Whether that is the conversion of this owner, now. Raises StoreError."""
        try:
            return bytes(self.store.get(UNFINISHED).data) == owner
        except StoreError as error:
            if not error.missing:
                raise
            return False

    def unused(self) -> list[str]:
        """What an unfinished conversion has left there, but its mark."""
        return [
            name
            for name in self.there
            if name != UNFINISHED
            and (name.startswith(TEMPORARY) or (is_part(name) and FINAL not in self.there))
        ]

    def remove(self, names: Iterable[str]) -> None:
        self.each(self.store.delete, [(name,) for name in names])

    def each(self, work: Callable[..., None], tasks: Sequence[tuple[str, ...]]) -> None:
        """Requests, several at once. Raises StoreError."""
        if tasks:
            workers.run(tasks, lambda task, _: work(*task), min(AT_ONCE, len(tasks)))

    def lies(self, key: str, size: int, etag: str) -> Object | None:
        """The object, if it is the one that was written. Raises StoreError."""
        there = self.there.get(key)
        if there is None or there.size != size:
            return None
        same = plain(there.etag) == plain(etag)  # what a listing calls it, in most stores
        return there if same or self.store.get(key, (0, 1)).etag == etag else None

    def written(self, key: str, size: int) -> Object:
        """The object, just after it was written. Raises StoreError."""
        got = self.store.get(key, (0, 1))
        return self.checked(Object(key, got.size, got.etag), size)

    def checked(self, there: Object, size: int) -> Object:
        """Raises StoreError if it has another size."""
        if there.size != size:
            raise StoreError(
                f"{self.store.shown(there.key)}: has {there.size} bytes in the store (want "
                f"{size}); see whether anything else writes there, and go on with --resume"
            )
        return there

    def publish(
        self, shards: Sequence[tuple[Object, str, str]], index: memoryview, bad: bytes
    ) -> None:
        """Make the data set readable. Raises StoreError.

        shards: where each lies now, a name that is its own, its final name; bad: the content of
            BAD, if any.
        """
        store, sizes = self.store, {final: there.size for there, _, final in shards}
        moved = [(there.key, own, final) for there, own, final in shards if there.key != final]
        # No name that is overwritten is then the only one of a shard
        self.each(store.copy, [(key, own) for key, own, _ in moved if key != own])
        self.look()
        for old in (FINAL_SUM, FINAL):  # no old index meets a new shard
            if old in self.there:
                store.delete(old)
        self.each(store.copy, [(own, final) for _, own, final in moved])
        self.look()
        for final, size in sizes.items():
            self.checked(self.there.get(final, Object(final, 0, "")), size)
        self.remove([name for name in self.there if is_part(name) and name not in sizes])
        for name, content in ((BAD, bad), (FINAL, index), (FINAL_SUM, sums.text(index))):
            if content:
                store.put(name, content)

    def has_published(self, index: memoryview) -> bool:
        """Whether this is the index that is there. Raises StoreError."""
        return bytes(self.store.get(FINAL_SUM).data) == sums.text(index)

    def tidy(self) -> None:
        """Remove all but the data set. Raises StoreError."""
        self.look()
        self.remove(self.unused())
        if self.is_marked:
            self.store.delete(UNFINISHED)

    def end_uploads(self) -> str:
        """End uploads in parts that nobody will complete; what a user should know, or nothing."""

        def ours(name: str) -> bool:
            return name.startswith(TEMPORARY) or is_part(name) or name == FINAL

        return unfinished.end(self.store.url, self.store.options, ours)


def plain(etag: str) -> str:
    """Without quotes, which some stores leave out in listings."""
    return etag.removeprefix("W/").strip('"')
