"""`with fastload.watch(loader):` around a live training loop: lines meanwhile, and a report at the
end.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

from fastload.attach import hooks
from fastload.attach.recorder import Recorder
from fastload.errors import UsageError
from fastload.measure import real
from fastload.metrics.pace import Standing
from fastload.profiler import inplace, logs
from fastload.profiler.advice import advice
from fastload.profiler.lines import Lines
from fastload.profiler.pacing import Paced
from fastload.profiler.report import Report
from fastload.profiler.verdict import OPEN


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Watch:
    """A context: while it is open, batches of `loader` are timed.

    They are timed in the loader's workers too where these are forked meanwhile. Two watches cannot
    be open at once.

    Args:
        loader: Of PyTorch or fastload; any other iterable is timed where the loop runs over this
            object in its place.
        every: s between lines; 0: no lines. Each epoch has one too, and one more where the
            bottleneck has moved.
        say: Takes a line.
        plan: The file that `fastload plan --json FILE` has written. Lines tell the time left and
            the cost so far then.

    Raises:
        UsageError: `loader` cannot be iterated, `every` is negative, or `plan` is no forecast.

    Example:
        >>> from fastload.profiler import Watch
        >>> with Watch(["a batch", "another"], every=0) as batches:
        ...     for batch in batches:
        ...         print(batch)
        a batch
        another
    """

    def __init__(
        self,
        loader: Iterable[object],
        *,
        every: float = 10.0,
        say: Callable[[str], object] = _say,
        plan: str | os.PathLike[str] | None = None,
    ) -> None:
        if not hasattr(loader, "__iter__"):
            raise UsageError(
                f"watch: got {type(loader).__name__}, want a loader, or anything that gives batches"
            )
        if not real(every) >= 0:  # NaN is not either
            raise UsageError(f"watch: every is {every!r}, want 0 (no lines) or s between lines")
        self.loader, self.every, self.say = loader, every, say
        self._paced = None if plan is None else Paced(loader, plan)
        self._lines = Lines(every, say, self._paced)
        self._report: Report | None = None
        self._why = (
            "watch: nothing was seen yet; use it as `with fastload.watch(loader):` around the loop"
        )

    @property
    def report(self) -> Report:
        """The whole run's; once the context is left.

        Raises UsageError where too little was seen.
        """
        if self._report is None:
            raise UsageError(self._why)
        return self._report

    @property
    def standing(self) -> Standing | None:
        """How far the run is beside its plan; None without one, and before the first batch."""
        return None if self._paced is None else self._paced.standing()

    def __str__(self) -> str:
        return self._why if self._report is None else str(self._report)

    def __enter__(self) -> "Watch":  # noqa: PYI034  Self needs Python 3.11
        if hooks.attached():
            raise UsageError(
                "watch: another watch, or fastload profile, looks on already; leave that one first"
            )
        self._folder = tempfile.TemporaryDirectory(prefix="fastload-watch-")
        self._started = time.perf_counter()
        hooks.install(lambda: Recorder(self._folder.name, self._turn, only=self.loader))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        hooks.finish()
        hooks.uninstall()
        try:
            self._report = inplace.report(
                logs.read(self._folder.name), time.perf_counter() - self._started
            )
        except UsageError as too_little:
            text = (
                str(too_little)
                .replace("profile: ", "watch: ")
                .replace("the command's processes", "the watched loop")
            )
            self._why = text.replace("; check the command", "").replace(" (--steps, --seconds)", "")
        self._folder.cleanup()
        if self.every and self._report is not None:
            first, *more = str(self._report).splitlines()
            self.say(f"fastload: {first}")
            if self._report.verdict.label == OPEN:
                self.say(f"fastload: {more[1].strip()} {advice(self._report)}")
        self._lines.of_plan()

    def __iter__(self) -> Iterator[object]:
        """The loader's batches, timed; needed only for loaders that are neither PyTorch's nor
        fastload's.
        """
        batches = iter(self.loader)
        if not hooks.attached():
            self.say(
                "fastload: watch: nothing is measured; write `with fastload.watch(loader) as "
                "batches:` around the loop"
            )
        while (recorder := hooks.recorder()) is not None:
            try:  # a loader that is timed anyway is not timed twice
                batch = recorder.next(self.loader, batches.__next__)
            except StopIteration:
                return
            yield batch
        yield from batches

    def _turn(
        self, recorder: Recorder, number: int, _: object, fetch: Callable[[], object]
    ) -> object:
        start = time.perf_counter()
        try:
            batch = recorder.wait(number, fetch)
        except StopIteration:
            self._lines.epoch(time.perf_counter())
            raise
        self._lines.batch(start, time.perf_counter())
        return batch


def watch(
    loader: Iterable[object],
    *,
    every: float = 10.0,
    say: Callable[[str], object] = _say,
    plan: str | os.PathLike[str] | None = None,
) -> Watch:
    """Profile a loop while it trains: a context around it.

    Args:
        loader: Of PyTorch or fastload; any other iterable is timed where the loop runs over the
            context's object in its place.
        every: s between lines; 0: no lines. Each epoch has one too, and one more where the
            bottleneck has moved.
        say: Takes a line.
        plan: The file that `fastload plan --json FILE` has written. Lines tell the time left and
            the cost so far then.

    Returns:
        The context, which has the report when it is left; see Watch.

    Raises:
        UsageError: `loader` cannot be iterated, `every` is negative, or `plan` is no forecast.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> train = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> loader = fastload.DataLoader(train, batch_size=2)
        >>> with fastload.watch(loader, every=0) as seen:
        ...     for images, labels in loader:
        ...         pass  # the training step
        >>> text = str(seen)  # the report
    """
    return Watch(loader, every=every, say=say, plan=plan)
