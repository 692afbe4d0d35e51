"""Forks a process for each fault that is asked for:

`python -m tests.life.fault_server`. Importing torch once is enough for all.
"""

import json
import os
import sys
import time
from pathlib import Path

import fastload
from tests.life import fault_files, fault_masks
from tests.life.fault_cases import CASES

assert fault_files.shards, fault_masks.by_ffcv  # their faults are in CASES too


def said(name: str, folder: Path) -> str:
    """What a fault came to, in one line."""
    try:
        return CASES[name].run(folder)
    except Exception as error:
        name = (
            "SampleError" if isinstance(error, fastload.SampleError) else type(error).__name__
        )  # they are others' types too
        return f"{name}: {' | '.join(str(error).splitlines())}"


def serve() -> None:
    """For each name, folder and environment, as a line of JSON: a line with what a forked child
    said.
    """
    _ = fastload.DataLoader  # imported when it is asked for
    for line in sys.stdin:
        name, folder, environment, seconds = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            os.environ.update(environment)
            out = os.open(Path(folder, "said"), os.O_WRONLY | os.O_CREAT)
            os.write(out, said(name, Path(folder)).encode(errors="replace"))
            os._exit(0)
        end = time.monotonic() + seconds
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(child, 9) if done[0] == 0 else None
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1] if done[0] == 0 else done[1])
        result = (
            f"hangs: nothing within {seconds} s"
            if done[0] == 0
            else f"killed by signal {-code}"
            if code < 0
            else ""
        )
        print(result or Path(folder, "said").read_text(), flush=True)


if __name__ == "__main__":
    serve()
