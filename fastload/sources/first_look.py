"""What is in the files of a data set whose samples are spans of files: as it was kept, or as a
format reads it now.

A format says which files there are, and how one is read. Whatever is read is kept from time to
time, so that who interrupts the first look at thousands of files does not begin anew.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import IO, NamedTuple, TypeAlias

from fastload.errors import SourceError, StoreError, listed
from fastload.files import arrivals
from fastload.files.opening import no_wait
from fastload.sources import span_index
from fastload.sources.span_index import Keeping, Part, Spans, Stamp
from fastload.system import terminal

# What is in an open file, which has a path and so many bytes. Raises SourceError and OSError
Read: TypeAlias = Callable[[str, IO[bytes], int], Part]
PartOrError: TypeAlias = Part | SourceError
AFTER, EVERY = 2.0, 0.25  # s until a line is shown; s between two changes
KEEP = 10.0  # s of reading, after which it is kept
SHARE = 20  # … and as many times as long as keeping takes
AHEAD = 32  # files that are read, or begun, before they are asked for
BROUGHT = 4  # files that come from a store at once, so that one is looked at while others come
TOGETHER = 256  # files whose facts one thread asks for


class Look(NamedTuple):
    """What is read of each file.

    Args:
        kept: span_index.path_of it.
        asked: How it is read, in any words.
    """

    kept: str
    asked: str
    read: Read


_others: ContextVar[Sequence[Look]] = ContextVar("fastload_first_look", default=())


@contextmanager
def together(looks: Sequence[Look]) -> Iterator[None]:
    """What `parts` reads meanwhile and comes from a store is read for these, too, while it is
    there: who asks for them next reads nothing.
    """
    before = _others.set(looks)
    try:
        yield
    finally:
        _others.reset(before)


def parts(
    where: str,
    index: str,
    files: Mapping[str, str],
    read: Read,
    threads: int = 1,
    *,
    paths: Sequence[str] = (),
    anew: Collection[str] = (),
) -> Spans:
    """Of each file, in their order. Raises SourceError with every problem.

    where: the data set, as the user calls it. index: span_index.path_of it.
    files: their paths, and of each how it is to be read, in any words. paths: their order, in which
    some may be there twice; nothing: that of `files`. anew: those that are read whatever is known.
    """
    known, order = span_index.recall(index), list(paths or files)
    afar = bool(order) and arrivals.of(order[0]) is not None
    threads = max(threads, BROUGHT) if afar else threads
    many = min(threads, len(order)) > 1  # starting a thread takes longer than reading a small file
    pool = ThreadPoolExecutor(threads, "fastload-look") if many else None
    try:
        stamps = _stamps(order, pool)
        wanted = [(os.path.abspath(path), files[path]) for path in order]
        fitting: list[int | None] = [None] * len(order)
        if known is not None:
            fitting = _fitting(known, wanted, stamps)
            fitting = [None if p in anew else at for p, at in zip(order, fitting, strict=True)]
            if None not in fitting and known.paths == [path for path, _ in wanted]:
                known.look()  # what is damaged can be made anew now, and not in a running epoch
                return known.settled()
        some = [number for number in fitting if number is not None]
        look = _Look(where, Keeping(index, known, some), files, read)
        look.others = [
            (one, _known_too(one, wanted, stamps, fitting)) for one in _others.get() if afar
        ]
        try:
            return look.over(order, stamps, fitting, pool)
        finally:
            for keeping in look.every():
                keeping.close()
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def part(path: str, read: Read, asked: str = "") -> Part:
    """What is in one file. Raises SourceError."""
    try:
        with arrivals.present(path), open(path, "rb", opener=no_wait) as file:
            before = _stamp(path, os.fstat(file.fileno()))
            found = read(path, file, before.size)
            after = _stamp(path, os.fstat(file.fileno()))
    except OSError as error:
        raise _unreadable(path, error) from error
    if after != before:
        raise SourceError(
            f"{path}: changed while it was looked at (got {after.size} bytes, want {before.size}); "
            "open it when nothing writes to it"
        )
    return found._replace(asked=asked, stamp=before)


def _stamp(path: str, facts: os.stat_result) -> Stamp:
    if arrivals.of(path) is not None:  # another object in a store has another path
        return Stamp(facts.st_size, 0, 0)
    return Stamp.of(facts)


def _stamp_of(path: str) -> Stamp | SourceError:
    try:
        return _stamp(path, os.stat(path))
    except OSError as error:
        return _unreadable(path, error)


def _unreadable(path: str, error: OSError) -> SourceError:
    return SourceError(
        f"{path}: cannot be read ({error.strerror or error}); restore it, or make it readable"
    )


def _stamps(paths: list[str], pool: ThreadPoolExecutor | None) -> list[Stamp | SourceError]:
    """Of the files as they are now."""
    if pool is None or len(paths) <= TOGETHER:
        return list(map(_stamp_of, paths))
    some = (paths[at : at + TOGETHER] for at in range(0, len(paths), TOGETHER))
    found = pool.map(lambda each: list(map(_stamp_of, each)), some)
    return list(chain.from_iterable(found))


def _fitting(
    known: Spans, wanted: Sequence[tuple[str, str]], stamps: Sequence[Stamp | SourceError]
) -> list[int | None]:
    """Of each file its part in `known`; None: it is new, or another one than was read."""
    number_of = {path: number for number, path in enumerate(known.paths)}
    then = list(map(tuple, known.stamps().tolist()))
    numbers = []
    for (path, asked), stamp in zip(wanted, stamps, strict=True):
        number = number_of.get(path)
        fits = number is not None and (known.asked[number], then[number]) == (asked, stamp)
        numbers.append(number if fits else None)
    return numbers


def _known_too(
    look: Look,
    wanted: Sequence[tuple[str, str]],
    stamps: Sequence[Stamp | SourceError],
    fitting: Sequence[int | None],
) -> Keeping:
    """With what another look knows of the files that are not read now: one that was interrupted
    goes on.
    """
    known = span_index.recall(look.kept)
    if known is None:
        return Keeping(look.kept)
    here = _fitting(known, [(path, look.asked) for path, _ in wanted], stamps)
    some = [
        (number, part)
        for number, (part, not_read) in enumerate(zip(here, fitting, strict=True))
        if part is not None and not_read is not None
    ]
    keeping = Keeping(look.kept, known, [part for _, part in some])
    for number, part in some:
        keeping.carry(number, part)
    return keeping


def _tried(path: str, read: Read, asked: str) -> PartOrError:
    try:
        return part(path, read, asked)
    except StoreError:  # the other files lie there too
        raise
    except SourceError as error:
        return error


class _Look:
    """Over all files of a data set."""

    def __init__(self, where: str, keeping: Keeping, files: Mapping[str, str], read: Read) -> None:
        self.where, self.keeping, self.files, self.read = where, keeping, files, read
        self.others: list[tuple[Look, Keeping]] = []
        self.line, self._shown_at = terminal.Line(AFTER), 0.0
        self._kept_at, self._patience = time.monotonic(), KEEP

    def over(
        self,
        paths: Sequence[str],
        stamps: Sequence[Stamp | SourceError],
        fitting: Sequence[int | None],
        pool: ThreadPoolExecutor | None,
    ) -> Spans:
        """What is known and what is read now, in the order of the files. Raises SourceError."""
        problems, every = list[str](), list(zip(paths, stamps, fitting, strict=True))
        self.line.waited()
        # First, so that whatever is kept on the way has all that is known
        for number, part in enumerate(fitting):
            if part is not None:
                self.keeping.carry(number, part)
        new = [path for path, now, part in every if part is None and isinstance(now, Stamp)]
        found = self._read_ahead(new, pool)
        try:
            for number, (path, now, part) in enumerate(every):
                if part is None:
                    read: list[PartOrError]
                    read = next(found) if isinstance(now, Stamp) else [now]
                    problems += self._add(number, os.path.abspath(path), read)
                self._now_and_then(number + 1)
        finally:  # also of a look that was interrupted
            self.line.clear()
            for keeping in self.every():
                if not keeping.whole:
                    keeping.keep()
        if problems:
            raise SourceError(listed(problems))
        return self.keeping.spans().settled()

    def every(self) -> list[Keeping]:
        return [self.keeping, *(keeping for _, keeping in self.others)]

    def _add(self, number: int, path: str, read: list[PartOrError]) -> list[str]:
        """What was read of a file; what is wrong with it. Of `others`, those say so who ask."""
        for keeping, one in zip(self.every(), read, strict=False):
            if isinstance(one, Part):
                keeping.add(number, path, one)
        return [] if isinstance(read[0], Part) else str(read[0]).split("\n")

    def _read_ahead(
        self, paths: list[str], pool: ThreadPoolExecutor | None
    ) -> Iterator[list[PartOrError]]:
        """In their order; a few are read before they are asked for."""
        if pool is None:
            yield from map(self._one, paths)
            return
        under_way = deque[Future[list[PartOrError]]]()
        for path in paths:
            under_way.append(pool.submit(self._one, path))
            if len(under_way) > AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def _one(self, path: str) -> list[PartOrError]:
        """The part, and those of `others` where there is one."""
        with arrivals.present(path):
            found = _tried(path, self.read, self.files[path])
            others = self.others if isinstance(found, Part) else []
            return [found, *(_tried(path, one.read, one.asked) for one, _ in others)]

    def _now_and_then(self, number: int) -> None:
        """So many files are done: that is kept, and shown on a terminal."""
        begin = time.monotonic()
        if begin - self._kept_at >= self._patience:
            kept = self.keeping.keep()
            self._kept_at = time.monotonic()
            self._patience = max(self._patience, SHARE * (self._kept_at - begin))
            if not kept:
                self._patience = math.inf
        waited = self.line.waited()
        if waited >= self._shown_at + EVERY:
            self._shown_at = waited
            left = waited / number * (len(self.files) - number)
            where = arrivals.shown(self.where)
            self.line.show(
                f"first look at {where}: {number:,} of {len(self.files):,} files, "
                f"{left:,.0f} s left"
            )
