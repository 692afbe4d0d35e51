"""The folder on the local disk of a conversion to an object store: shards lie there until they are
uploaded, and the journal, which says what was.

SCRATCH/.fastload-DIGITS/ is the user's alone, and locked while a conversion runs.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fastload.conversion import journal, staging, target
from fastload.conversion.commits import JOURNAL, UNFINISHED
from fastload.conversion.parents import make_folders
from fastload.conversion.parts import Written
from fastload.conversion.store_prefix import OPENING, Prefix
from fastload.errors import ConversionError, StoreError
from fastload.files import cache
from fastload.files.names import Inner
from fastload.remote.objects import Object
from fastload.remote.uploads import Uploads

OWNER = Inner("owner")  # what the mark in the store says, by which this job knows it for its own
ENDING = 10.0  # s to tidy up after an error
KIND = "prefix"


class StoreHold(target.Hold):
    """What a conversion holds.

    lies: where the files of parts lie in the store, by their local names, which are their own;
    apart: they are uploaded under these names; complete: an earlier run had put the index in its
    place; finals: what its commit called them.
    """

    def __init__(self, prefix: Prefix, folder: str, uploads: Uploads) -> None:
        super().__init__(folder)
        self.prefix, self.uploads, self.where = prefix, uploads, prefix.shown
        self.lies: dict[str, Object] = {}
        self.finals: dict[str, str] = {}
        self.apart = self.complete = self.interrupted = False

    def begin(self, *, overwrite: bool, resume: bool) -> None:
        """Raises ConversionError if what lies there may not be replaced, StoreError."""
        prefix = self.prefix
        with prefix.store.impatient(OPENING):
            prefix.look()
            records = journal.read(self.journal)[0] if resume else []
            self.finals = dict(journal.committed(records))
            self.complete = UNFINISHED in self.finals and (
                set(self.finals.values()) <= set(prefix.there)
            )
            goes_on = self.complete or (bool(self.finals) and self.is_mine())
            target.check_names(
                self.where, list(prefix.there), overwrite=overwrite or goes_on, kind=KIND
            )
            self.interrupted = prefix.is_marked
            if records:  # what was made and not yet uploaded is made again
                self.clear_local(JOURNAL, OWNER)
            else:
                self.clear_local()
                prefix.remove(prefix.unused())
            self.apart = prefix.has_index
            known = self.at.is_plain(OWNER)
            owner = self.at.read(OWNER) if known else secrets.token_hex(16).encode()
            if not self.complete:
                prefix.store.put(UNFINISHED, owner)
            if not known:
                self.at.write(OWNER, owner)

    def clear_local(self, *kept: str) -> None:
        for name in self.at.names():
            if name not in kept:
                self.at.remove_tree(name)

    def is_mine(self) -> bool:
        """Whether nobody else has begun to write there since. Raises StoreError."""
        return self.at.is_plain(OWNER) and self.prefix.has_mark(self.at.read(OWNER))

    def whole(
        self,
        number: int,
        part: Written,
        note: Callable[[Written], None],
        check: Callable[[], None],
    ) -> None:
        if not len(part.samples):
            note(part)
            return
        self.uploads.begin(lambda: self._upload(number, part, note), check)

    def _upload(self, number: int, part: Written, note: Callable[[Written], None]) -> None:
        objects = []
        for path, size, extension in files(part):
            local = os.path.basename(path)
            key = local if self.apart else f"shard-{number:06d}{extension}"
            self.prefix.store.put(key, path, self.uploads.given_up)
            self.lies[local] = self.prefix.written(key, size)
            objects.append((key, self.lies[local].etag))
        uploaded = replace(part, objects=tuple(objects))
        if self.uploads.noting(lambda: note(uploaded)):
            for path, _, _ in files(part):
                self.at.remove(Inner(os.path.basename(path)))

    @contextlib.contextmanager
    def settling(self) -> Iterator[None]:
        try:
            yield
            self.uploads.settle()
        except BaseException:
            self.uploads.give_up()
            raise

    def has(self, part: Written) -> bool:
        """Whether what an earlier run has uploaded of a part is there, whole. Raises StoreError."""
        names = part.objects or (("", ""), ("", ""))
        return all(
            self._has(os.path.basename(path), size, *said)
            for (path, size, _), said in zip(files(part), names, strict=False)
        )

    def _has(self, local: str, size: int, key: str, etag: str) -> bool:
        own = [self.prefix.there.get(local)]  # nobody else makes names of our own
        if self.complete:  # and these are what the index says
            own.insert(0, self.prefix.there.get(self.finals.get(local, "")))
        found = [each for each in own if each and each.size == size]
        there = found[0] if found else self.prefix.lies(key, size, etag)
        if there:
            self.lies[local] = there
        return there is not None

    def is_published(self, pairs: Sequence[tuple[str, str]], index: memoryview) -> bool:
        """Whether an earlier run has made it readable. Raises StoreError, ConversionError where
        it has changed since.
        """
        if not self.complete:
            return False
        if not self.prefix.has_published(index) or any(
            self.lies[own].key != final for own, final in pairs
        ):
            self.strange = True  # nothing there is removed
            raise ConversionError(
                f"{self.where}: has changed since it was written; convert again with --overwrite"
            )
        return True

    def publish(self, pairs: Sequence[tuple[str, str]], index: memoryview, bad: bytes) -> None:
        """Make the data set readable. pairs: local and final names.

        Raises StoreError, ConversionError where somebody else writes there.
        """
        if not self.is_mine():
            self.strange = True  # nothing there is removed
            raise ConversionError(
                f"{self.where}: another conversion has begun to write there; wait for it or give "
                f"another {KIND}"
            )
        self.prefix.publish([(self.lies[own], own, final) for own, final in pairs], index, bad)

    def tidy(self) -> str:
        """Remove all but the data set; what a user should know, or nothing. Raises StoreError."""
        self.prefix.tidy()
        doubtful = self.interrupted or self.prefix.store.traffic.retries
        return self.prefix.end_uploads() if doubtful else ""

    def ended(self, error: BaseException) -> None:
        """After an error nothing is left but what --resume needs."""
        if self.stays(error):
            return
        self.uploads.give_up(ENDING)
        prefix = self.prefix
        # The first error is the one to tell
        with contextlib.suppress(StoreError, OSError), prefix.store.impatient(ENDING):
            if self.is_mine():
                prefix.tidy()
                prefix.end_uploads()
        with contextlib.suppress(OSError):
            self.clear_local()


def files(part: Written) -> list[tuple[str, int, str]]:
    """Of a part's shard, and of its sidecar if it has one: local path, bytes, extension."""
    both = [(part.path, part.bytes, ".tar"), (part.sidecar.path, part.sidecar.bytes, ".seek")]
    return both[: 1 + bool(part.sidecar.bytes)]


@contextlib.contextmanager
def being_stored(
    hold: StoreHold, needed: int, *, overwrite: bool, resume: bool
) -> Iterator[StoreHold]:
    """Hold the prefix for a conversion that needs so many bytes of the local disk.

    Raises ConversionError as target.being_written does, StoreError.
    """
    created: list[str] = []
    parent = os.path.dirname(hold.folder)
    with staging.leaving_nothing(hold, created), target.translated(hold.folder, needed, hold):
        if cache.inside(hold.folder):
            cache.make(parent).close()
        make_folders(parent, created)
        with (
            staging.private(hold.folder) as folder,
            target.lock(folder, where=hold.where, kind=KIND),
            hold.holding(folder),
        ):
            hold.begin(overwrite=overwrite, resume=resume)
            try:
                target.check_room(hold.folder, needed)
                yield hold
            except BaseException as error:
                hold.ended(error)
                raise
            staging.cleared(hold)
