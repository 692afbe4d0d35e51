"""One thread that fetches for all units of a conversion, and what it has fetched for each.

A unit is the run of rows that becomes one shard. Its files come in any order and are kept in a
nameless file until the unit takes them, in the order of its rows: so a slow host delays the end of
its own shard, and memory holds open connections only.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from fastload.conversion.readers.spans import Spool
from fastload.conversion.web.failures import FailedError, Failure
from fastload.conversion.web.fetching import Fetcher, new_session
from fastload.conversion.web.options import Fetch

AHEAD = 4  # rows that a unit has under way, for each connection: many wait for their host's turn
LOOK_UP = 64  # threads for names of hosts
POLL = 0.1  # s between two looks whether to give up


class Unit:
    """What was fetched for one run of rows: filled by the crew's thread, emptied by one other."""

    def __init__(self, where: str) -> None:
        self.spool = Spool(where)
        self.done: dict[int, tuple[int, int] | Failure] = {}
        self.ready = threading.Condition()
        self.error: BaseException | None = None
        self.work: Future[None] | None = None

    def put(self, sample: int, got: bytes | Failure) -> None:
        """Raises ConversionError when the disk is full."""
        kept = got if isinstance(got, Failure) else (self.spool.add(got), len(got))
        with self.ready:
            self.done[sample] = kept
            self.ready.notify_all()

    def fail(self, error: BaseException) -> None:
        with self.ready:
            self.error = error
            self.ready.notify_all()

    def take(self, sample: int, check: Callable[[], None]) -> bytes | Failure:
        """The file, once it is there. check: raises to give up."""
        with self.ready:
            while sample not in self.done:
                if self.error is not None:
                    raise self.error
                check()
                self.ready.wait(POLL)
            kept = self.done.pop(sample)
        return kept if isinstance(kept, Failure) else self.spool.read(0, *kept)

    def drop(self) -> None:
        """Nobody takes more of it."""
        if self.work is not None:
            self.work.cancel()


class Crew:
    """Fetches units. The thread begins with the first one and ends with `close`."""

    def __init__(self, how: Fetch) -> None:
        self.how = how
        self.lock = threading.Lock()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None
        self.fetcher: Fetcher | None = None

    def begin(self, where: str, urls: Sequence[tuple[int, str]]) -> Unit:
        """Fetch these, (sample, URL) each, in about this order."""
        loop, unit = self._running(), Unit(where)
        unit.work = asyncio.run_coroutine_threadsafe(self._fetch(unit, urls), loop)
        return unit

    def _running(self) -> asyncio.AbstractEventLoop:
        with self.lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                self.thread = threading.Thread(
                    target=self._run, args=(self.loop,), name="fastload-fetch", daemon=True
                )
                self.thread.start()
            return self.loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        with ThreadPoolExecutor(LOOK_UP, thread_name_prefix="fastload-names") as names:
            loop.set_default_executor(names)
            loop.run_forever()
            loop.run_until_complete(self._end())
        loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.fetcher is not None:
            await self.fetcher.session.close()
            await asyncio.sleep(0)  # transports are closed one turn later

    async def _fetch(self, unit: Unit, urls: Sequence[tuple[int, str]]) -> None:
        if self.fetcher is None:
            self.fetcher = Fetcher(new_session(self.how), self.how)
        left = iter(urls)
        count = min(len(urls), AHEAD * self.how.connections)
        tasks = [asyncio.create_task(_worker(self.fetcher, unit, left)) for _ in range(count)]
        try:
            await asyncio.gather(*tasks)
        except BaseException as error:
            unit.fail(error)
            for task in tasks:
                task.cancel()
            if isinstance(error, asyncio.CancelledError):
                raise

    def close(self) -> None:
        """Give up what is under way; the thread has ended when this returns."""
        with self.lock:
            loop, thread, self.loop = self.loop, self.thread, None
        if loop is not None and thread is not None:
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(loop.stop)
            thread.join()
            self.fetcher = None


async def _worker(fetcher: Fetcher, unit: Unit, left: Iterator[tuple[int, str]]) -> None:
    """Fetch one URL after the other; all workers of a unit share `left`."""
    for sample, url in left:
        try:
            got: bytes | Failure = await fetcher.fetch(url)
        except FailedError as error:
            got = error.failure
        unit.put(sample, got)
