"""An epoch under way in the caller's thread."""

from collections.abc import Iterator

from fastload.backends.base import Batch, WorkOrError
from fastload.engine.flight import BatchMaker, come
from fastload.sources.seek_views import ReadOnly, View
from fastload.system import room

FOREVER = 1e9  # s


class Inline:
    """num_workers=0: everything in the caller's thread, one batch at a time; breakpoints and
    tracebacks are plain.
    """

    ready = 0  # batches that are done before they are asked for

    def __init__(self, engine: BatchMaker, works: Iterator[WorkOrError], seek: View) -> None:
        self.engine, self.works, self.seek, self.on_bad = engine, works, seek, engine.on_bad

    def __iter__(self) -> "Inline":
        return self

    def __next__(self) -> Batch:
        work = next(self.works)
        if isinstance(work, Exception):
            try:
                raise work
            finally:
                del work  # its traceback holds this frame
        room.check("a batch")
        if self.engine.forked:
            self.engine, self.seek = self.engine.again(), ReadOnly(self.seek)
        come(self.engine, work, FOREVER)
        engine, location = self.engine, self.engine.runner.plan.source.locate(work.samples)
        return engine.finish(engine.start(engine.begin(work, location, self.seek)), self.on_bad)

    def close(self) -> None:
        """Nothing is under way between two batches."""
