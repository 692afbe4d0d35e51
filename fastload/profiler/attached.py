"""Runs any command with the hooks in every Python process below it, and reports what they saw."""

import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fastload.attach import control, handed_down, log
from fastload.attach.control import Limits
from fastload.attach.patience import Patience
from fastload.attach.recorder import Recorder
from fastload.errors import UsageError
from fastload.profiler import inplace, logs
from fastload.profiler.logs import Process
from fastload.profiler.report import Report

KILL_S = 10.0  # from being told to end to being killed
POLL_S = 0.1
QUIET_S, SILENT_S = 60.0, 600.0  # without a batch: then it is said, and then the command is ended


@dataclass(frozen=True)
class Outcome:
    """What a command left. report: None where too little was seen, `why` says what."""

    code: int  # exit status; 128 + n after signal n
    report: Report | None
    why: str
    processes: list[Process]
    stopped: bool  # by the limits


def run(
    command: Sequence[str],
    limits: Limits,
    stdout: int | IO[bytes] | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Run to the end or to the limits.

    stdout: where the command's goes; say: takes lines. Raises UsageError if it cannot start.
    """
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fastload-profile-") as folder:
        try:
            child = subprocess.Popen(
                list(command), env=handed_down.environment(folder, limits), stdout=stdout
            )
        except OSError as error:
            raise UsageError(
                f"profile: {command[0]} cannot be started ({error.strerror}); check the command "
                "after --"
            ) from error
        with _passing_on(child):
            code = _wait(child, folder, Silence(folder, limits, say))
        processes = logs.read(folder)
        stopped = any(process.facts.get("stopped") for process in processes)
    try:
        report, why = inplace.report(processes, time.perf_counter() - started), ""
    except UsageError as error:
        report, why = None, str(error)
    return Outcome(128 - code if code < 0 else code, report, why, processes, stopped)


class Silence:
    """Notices a command that gives no batches: it is in a loop of its own, or hangs."""

    def __init__(self, folder: str, limits: Limits, say: Callable[[str], object]) -> None:
        self.folder, self.say = folder, say
        # With --whole the command may take as long as it likes.
        self.ends = limits.steps is not None or limits.seconds is not None
        self.written, self.since, self.told = 0, time.perf_counter(), False

    def too_long(self) -> bool:
        """Whether the command is to be ended."""
        written, now = logs.written(self.folder), time.perf_counter()
        if written != self.written or not self.ends:
            self.written, self.since, self.told = written, now, False
        if now - self.since > QUIET_S and not self.told:
            self.told = True
            left = (
                f"it is ended in {SILENT_S - QUIET_S:.0f} s if none comes (--whole waits for ever)"
            )
            self.say(
                f"fastload: profile: no DataLoader has given a batch for {QUIET_S:.0f} s; {left}"
            )
        if now - self.since <= SILENT_S:
            return False
        self.say(
            f"fastload: profile: no DataLoader has given a batch for {SILENT_S:.0f} s, so the "
            "command was ended"
        )
        return True


def _wait(child: "subprocess.Popen[bytes]", folder: str, silence: Silence) -> int:
    """The exit status. A program that stays after its stop, or that gives no batches, is ended."""
    patience: Patience | None = None
    while True:
        try:
            if (code := child.poll()) is not None:
                return code
            # wait(timeout) would wake eight times as often, and the training needs the cores.
            time.sleep(POLL_S)
            if patience is None and (stopped := _stopped(folder)):
                patience = Patience({child.pid, *stopped})
            if silence.too_long() or (patience is not None and patience.over()):
                return _end(child)
        except KeyboardInterrupt:  # the program has got it too
            patience = patience or Patience({child.pid})


@contextmanager
def _passing_on(child: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Who ends the profiler by SIGTERM, as `docker stop` and job schedulers do, means the program
    too: only Ctrl-C of a terminal reaches it by itself.
    """

    def pass_on(*_: object) -> None:
        child.terminate()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # Python's rule for signals
        yield
        return
    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(child: "subprocess.Popen[bytes]") -> int:
    child.terminate()
    try:
        return child.wait(KILL_S)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def _stopped(folder: str) -> list[int]:
    """The processes that have stopped at the limits."""
    return [
        int(path.stem)
        for path in Path(folder).glob("*.json")
        if '"stopped": true' in path.read_text(encoding="utf-8")
    ]


def cost(batches: int = 300) -> float:
    """Seconds that the hooks take per batch in the training process, measured here with an iterator
    that does nothing.
    """
    batch = [[0.0]]
    with tempfile.TemporaryDirectory(prefix="fastload-profile-") as folder:
        recorder = Recorder(folder, control.Control(Limits(), folder))
        loader = object()
        recorder.next(loader, lambda: batch)
        start = time.perf_counter()
        for _ in range(batches):
            recorder.next(loader, lambda: batch)
        return (time.perf_counter() - start) / batches


def overhead(report: Report, processes: Sequence[Process]) -> float:
    """Share of the training's time that the hooks took, from what they cost here."""
    waits = max((process.of(log.WAIT) for process in processes), key=len)
    span = float(waits["t"][-1] - waits["t"][0]) if len(waits) > 1 else 0.0
    return cost() * len(waits) / span if span else 0.0
