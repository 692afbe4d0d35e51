"""A peer's process: it works only when asked, it may fail, and it may hang."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT = 300.0  # s for one epoch, with all that is compiled before the first


class PeerError(Exception):
    """A peer has ended, or hangs; the text is for its row."""


class Process:
    """Runs `benchmarks.peers.child`, from the first epoch on; close() ends it and its workers."""

    def __init__(
        self,
        spec: dict[str, Any],
        python: str,
        cache: str,
        limit: float = LIMIT,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """variables: of the environment, beside this process's own."""
        self.spec, self.python, self.cache, self.limit = spec, python, cache, limit
        self.variables = dict(variables or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115, close() closes it

    def epoch(self) -> dict[str, Any]:
        """What the child answers, see there. Raises PeerError."""
        process = self.process = self.process or self._start()
        if process.stdin is None or process.stdout is None:  # cannot be: both are pipes
            raise PeerError("no pipes")
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self._last_words()) from None
        if not select.select([process.stdout], [], [], self.limit)[0]:
            raise PeerError(f"no epoch within {self.limit:g} s")
        answer = process.stdout.readline()
        if not answer:
            raise PeerError(self._last_words())
        return dict(json.loads(answer))

    def _start(self) -> subprocess.Popen[bytes]:
        spec = self.spec | {"started": time.perf_counter()}
        # Only this checkout: more would stand before the packages of the peer's own environment.
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": self.cache,
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.variables,
        }
        command = [self.python, "-m", "benchmarks.peers.child", json.dumps(spec)]
        pipe = subprocess.PIPE
        # Its own session: the child counts the time and the memory of all processes in it.
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=pipe,
            stdout=pipe,
            stderr=self.errors,
            start_new_session=True,
        )

    def _last_words(self) -> str:
        """The last line of stderr that says something, or else how the process ended."""
        code = self.process.wait() if self.process else None
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.strip() and not line.startswith(" ")]
        return (said[-1] if said else f"ended with {code}")[:200]

    def close(self) -> None:
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # workers are of its group too
            self.process.communicate()
        self.errors.close()
