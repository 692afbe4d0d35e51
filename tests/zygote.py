"""A Python that has torch imported forks for each program that a test runs: the import costs
seconds, a fork milliseconds.

Each program has its own output, folder, environment and arguments, and ends as any does, through
the interpreter's own shutdown. What depends on a fresh interpreter (what an import imports,
variables that libraries read when they are loaded) is no program for this.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

PRELOADED = (
    "torch",
    "torchvision.transforms.v2",
    "torchvision.datasets",
    "fastload.loader.loader",
    "fastload.dataset",
    "fastload.cli",
)
PATIENCE = 20  # s that it may take to end
MOST_CPU = 1200  # s of one process: what never ends, ends here
WINDOW, LEAST = (
    300.0,
    0.5,
)  # s: a program that has had less CPU than this in so long waits for what never comes
LOOK, SLOWEST = (
    5.0,
    0.05,
)  # s between two looks at a program's CPU time, and at most between two at whether it has ended


class Program:
    """As a subprocess.Popen."""

    returncode: int | None = None

    def __init__(self, said: Any) -> None:
        self.said = said  # by the zygote: the process number, and later the exit status
        self.pid = int(said.readline())

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            ready = select.poll()  # select() takes no descriptor from 1024 on
            ready.register(self.said, select.POLLIN)
            if not ready.poll(None if timeout is None else 1000 * timeout):
                raise subprocess.TimeoutExpired("program", timeout or 0.0)
            self.returncode = int(self.said.readline())
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.kill(signal.SIGTERM)


class Zygote:
    """The process that forks; one program runs at a time."""

    def __init__(self, scratch: Path, path: str) -> None:
        """path: where programs find their modules, as in PYTHONPATH; scratch: for what they
        print.
        """
        self.out, self.err, self.path = scratch / "out", scratch / "err", path
        command, environment = [sys.executable, __file__], {**os.environ, "PYTHONPATH": path}
        self.process = subprocess.Popen(
            command, bufsize=0, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.last: Program | None = None

    def start(
        self,
        command: Sequence[str],
        env: dict[str, str],
        cwd: Path | str = ".",
        stdout: None = None,
    ) -> Program:
        """As subprocess.Popen, of [python, "-m" or "-c" or a file, …]; a program that hangs ends
        by SIGALRM, however long others take on a busy machine: it is one that neither ends nor
        computes."""
        if self.last:
            self.last.kill()
            self.last.wait()
        asked = {
            "arguments": command[1:],
            "env": env,
            "cwd": str(Path(cwd).absolute()),
            "out": str(self.out),
            "err": str(self.err),
        }
        assert self.process.stdin
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.last = Program(self.process.stdout)
        return self.last

    def run(
        self, *arguments: str, cwd: Path | str = ".", **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        """As subprocess.run([python, …]) with these further variables."""
        command = [sys.executable, *arguments]
        status = self.start(
            command, {**os.environ, "PYTHONPATH": self.path, **environment}, cwd
        ).wait()
        return subprocess.CompletedProcess(
            command, status, self.out.read_text(), self.err.read_text()
        )

    def close(self) -> None:
        if self.last:
            self.last.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()  # which ends it
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # a process that a test has left has its pipe, too
            self.process.kill()
            self.process.wait()


def serve() -> dict[str, Any]:
    """Answers each line with a process number and an exit status; returns in each child, with what
    it was asked for.
    """
    for line in sys.stdin:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # Python 3.12 warns of forks where a library has threads
            child = os.fork()
        if child == 0:
            # Where the tests run in a shell's background, Ctrl-C is ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return dict(json.loads(line))
        print(child, flush=True)
        print(status_of(child), flush=True)
    os._exit(0)


class Progress:
    """Whether a program still computes, by how much CPU time it has had."""

    def __init__(self, now: float) -> None:
        self.since, self.had = (
            now,
            0.0,
        )  # s, when it last had computed enough, and what it had had by then

    def hangs(self, now: float, had: float) -> bool:
        """had: CPU time so far, s."""
        if had - self.had >= LEAST:
            self.since, self.had = now, had
        return now - self.since > WINDOW


def status_of(child: int) -> int:
    """The exit status, when it has ended; what hangs, or is left alone by the tests, is ended
    first.
    """
    began, tests = time.monotonic(), os.getppid()
    looked = began
    progress = Progress(began)
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
        now = time.monotonic()
        if now - looked > LOOK:
            looked = now
            if progress.hangs(now, cpu_time(child)) or os.getppid() != tests:
                os.kill(child, signal.SIGALRM)
        time.sleep(min(SLOWEST, (now - began) / 20))
    return os.waitstatus_to_exitcode(done[1])


def cpu_time(root: int) -> float:
    """Seconds of CPU that a process, those below it and those that they have waited for have had.

    Without /proc: of the clock.
    """
    if not os.path.isdir("/proc/self"):
        return time.monotonic()
    parents, ticks = dict[int, int](), dict[int, int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
    return sum(ticks[pid] for pid in ticks if _below(pid, root, parents)) / os.sysconf("SC_CLK_TCK")


def _below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid not in (root, 0, 1):
        pid = parents.get(pid, 0)
    return pid == root


def surround(asked: dict[str, Any]) -> None:
    """Output, folder and variables of the program; and what Python does for them when it starts."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(asked[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    os.chdir(asked["cwd"])
    before = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ.clear()
    os.environ.update(asked["env"])
    path = dict.fromkeys(os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[1:] = [
        *filter(None, path),
        *(folder for folder in sys.path[1:] if folder not in before),
    ]
    sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("sitecustomize")


def become(how: str, *arguments: str) -> None:
    """What `python -m NAME …`, `python -c CODE …` and `python FILE …` do."""
    if how == "-m":
        sys.path[0], sys.argv = os.getcwd(), list(arguments)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = ModuleType("__main__")
    if how == "-c":
        sys.path[0], sys.argv = "", ["-c", *arguments[1:]]
        exec(arguments[0], main.__dict__)
    else:
        sys.path[0], sys.argv, main.__file__ = os.path.dirname(how), [how, *arguments], how
        exec(compile(Path(how).read_text(), how, "exec"), main.__dict__)


if __name__ == "__main__":
    for name in PRELOADED:
        with contextlib.suppress(
            ImportError, RuntimeError
        ):  # without torchvision its tests skip; or its wheel does not fit this torch
            importlib.import_module(name)
    for verb in sys.modules["fastload.cli"].VERBS:
        importlib.import_module(f"fastload.cli.{verb}")
    gc.collect()
    gc.freeze()  # at their ends programs need not look through all that was imported, a second each
    request = serve()
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, resource.RLIM_INFINITY))
    surround(request)
    become(*request["arguments"])
