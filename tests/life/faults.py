"""The release's check of things that go wrong around a loader: each is an error with a type and a text of one line per problem, or is got over.

    python -m tests.life.faults [NAME …]

Every fault has a process of its own, started here with what it needs: limits, a full file system, or `shim.c` before libc. What such a process
may print at the end is one line: `ok …` (got over: the batches are those of a run without the fault) or `TYPE: text`.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.life import fault_cases
from tests.life.death import images

TYPES = ("SampleError", "SourceError", "BadSamplesError", "UsageError", "StalledError", "BackendError", "PipelineError", "ConversionError")
SECONDS = 120.0  # until a fault's process has to have ended, on a busy machine
SHIM = Path(__file__).parent / "shim.c"


def built(scratch: Path) -> str:
    """Path of the compiled shim; "" where there is no C compiler."""
    out = scratch / "shim.so"
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(out), str(SHIM), "-ldl"], check=True, capture_output=True)
        return str(out)
    return ""


@contextlib.contextmanager
def small_disk(where: Path) -> Iterator[bool]:
    """A file system of 1 MiB, where this may be made."""
    where.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(where)], capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(where)], check=False)


def run(name: str, scratch: Path, shim: str) -> str:
    """What a fault came to: its process's last line; "killed by signal N", "hangs", or "needs …" where it cannot be made."""
    case = fault_cases.CASES[name]
    folder = scratch / name
    folder.mkdir()
    images(folder / "images")
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    if case.shim:
        if not shim:
            return "needs a C compiler"
        environment |= {"LD_PRELOAD": shim, "LIFE_SWITCH": str(folder / "switch"), "LIFE_MATCH": case.match, "LIFE_CALLS": case.calls}
    with small_disk(folder / "small") if case.small else contextlib.nullcontext(True) as able:
        if not able:
            return "needs the right to mount"
        command = [sys.executable, "-m", "tests.life.fault_cases", name, str(folder)]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"hangs: nothing within {SECONDS} s"
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    return (done.stdout.strip().splitlines() or [f"said nothing: {done.stderr[-800:]}"])[-1]


def good(result: str) -> bool:
    return result.startswith(("ok", "needs")) or result.partition(":")[0] in TYPES


def check(names: list[str], say: Callable[..., Any] = print) -> list[str]:
    """What was wrong."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="fastload-life-") as text:
        scratch = Path(text)
        shim = built(scratch)
        for name in names:
            result = run(name, scratch, shim)
            wrong += [f"{name}: {result}"] * (not good(result))
            say(f"{'  ' if good(result) else '! '}{name:32} {result.replace(str(scratch), '')[:200]}", flush=True)
    return wrong


def main() -> int:
    names = sys.argv[1:] or list(fault_cases.CASES)
    wrong = check(names)
    print(f"{len(names)} faults, {len(wrong)} neither an error with a type nor got over")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
