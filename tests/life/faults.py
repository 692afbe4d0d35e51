"""The release's check of things that go wrong around a loader: each is an error with a type and a
text, or is got over.

    python -m tests.life.faults [NAME …]

Every fault has a process of its own, with what it needs: limits, a full file system, or `shim.c`
before libc. What it came to is one line:
`ok …` (got over: the batches are those of a run without the fault) or `TYPE: text`; `needs …`
where this machine does not allow it.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.life import fault_server
from tests.life.death import images

TYPES = (
    "SampleError", "SourceError", "BadSamplesError", "UsageError", "StalledError", "BackendError",
    "PipelineError", "ConversionError",
    "HostMemoryError", "IndexError",  # torch's own, for an index that is none
)  # fmt: skip
SECONDS = 60.0  # until a fault's process has to have ended, on a busy machine
SHIM = Path(__file__).parent / "shim.c"


def built(scratch: Path) -> str:
    """Path of the compiled shim; "" where there is no C compiler."""
    out = scratch / "shim.so"
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", str(out), str(SHIM), "-ldl"],
            check=True,
            capture_output=True,
        )
        return str(out)
    return ""


@contextlib.contextmanager
def small_disk(where: Path) -> Iterator[bool]:
    """A file system of 1 MiB, where this may be made."""
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(where)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(where)], check=False)


class Faults:
    """The process that forks one for each fault."""

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.shim = scratch, built(scratch)
        environment = os.environ | {
            "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1",
            "LD_PRELOAD": self.shim,
        }
        command = [sys.executable, "-m", "tests.life.fault_server"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, name: str) -> str:
        """What a fault came to."""
        case, folder = fault_server.CASES[name], self.scratch / name
        folder.mkdir()
        images(folder / "images")
        environment = {"XDG_CACHE_HOME": str(folder / "cache")}
        if case.shim:
            environment |= {
                "LIFE_SWITCH": str(folder / "switch"),
                "LIFE_MATCH": case.match,
                "LIFE_CALLS": case.calls,
            }
        if case.shim and not self.shim:
            return "needs a C compiler"
        with small_disk(folder / "small") if case.small else contextlib.nullcontext(True) as able:
            if not able:
                return "needs the right to mount"
            assert self.process.stdin
            assert self.process.stdout
            self.process.stdin.write(json.dumps([name, str(folder), environment, SECONDS]) + "\n")
            self.process.stdin.flush()
            return self.process.stdout.readline().strip().replace(str(folder), "")

    def close(self) -> None:
        with self.process:  # its pipes are closed, which ends it
            pass


def good(result: str) -> bool:
    return result.startswith(("ok", "needs")) or result.partition(":")[0] in TYPES


def check(names: list[str], say: Callable[..., Any] = print) -> list[str]:
    """What was wrong."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="fastload-life-") as scratch:
        faults = Faults(Path(scratch))
        for name in names:
            result = faults.run(name)
            wrong += [f"{name}: {result}"] * (not good(result))
            say(f"{'  ' if good(result) else '! '}{name:32} {result}", flush=True)
        faults.close()
    return wrong


def main() -> int:
    names = sys.argv[1:] or list(fault_server.CASES)
    wrong = check(names)
    print(f"{len(names)} faults, {len(wrong)} neither an error with a type nor got over")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
