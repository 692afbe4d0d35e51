"""What `fastload filter` takes of a large data set: seconds, and memory beyond the process's own.

    python -m benchmarks.rows.filtered --millions 1,5,20 [--folder DIR]

The images are few, and the index is whole (made_shards.py). Each line is measured in a process of
its own: by a condition that half of the rows meet, and by that and `--unique`. Of the rows all but
250 are then later ones of equal images.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.peers.process import ROOT
from benchmarks.rows import made_shards

CONDITION = "label < 500"


def main() -> None:
    given = argparse.ArgumentParser(prog="python -m benchmarks.rows.filtered")
    given.add_argument("--millions", default="1,5", help="sizes, by commas")
    given.add_argument("--folder", type=Path, help="where data sets are made, and removed again")
    options = given.parse_args()
    for millions in map(float, options.millions.split(",")):
        with tempfile.TemporaryDirectory(prefix="fastload-rows-", dir=options.folder) as scratch:
            made = made_shards.make(Path(scratch) / "big", int(millions * 1e6))
            for unique in (False, True):
                into = Path(scratch) / f"unique-{unique}"
                said = _child(str(made.where), str(into), str(made.cache), unique=unique)
                print(json.dumps({"millions": millions, "unique": unique, **said}), flush=True)


def _child(where: str, into: str, cache: str, *, unique: bool) -> dict[str, float]:
    code = f"from benchmarks.rows import filtered; filtered.measure({where!r}, {into!r}, {unique})"
    environment = {"XDG_CACHE_HOME": cache, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True
    )
    said: dict[str, float] = json.loads(done.stdout)
    return said


def measure(where: str, into: str, unique: bool) -> None:
    """In a process of its own; the first look is over before anything counts."""
    from fastload.conversion import filtering, subsets

    subsets.open_shards(where)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now (proc(5))
    before, begin = _peak(), time.perf_counter()
    done = filtering.run(where, into, CONDITION, unique=unique)
    seconds = time.perf_counter() - begin
    print(json.dumps({"rows": done.samples, "seconds": round(seconds, 2), "before_mb": before,
                      "more_mb": _peak() - before}))  # fmt: skip


def _peak() -> int:
    """MB that the process has had since."""
    said = Path("/proc/self/status").read_text().split("VmHWM:")[1]
    return int(said.split()[0]) // 1000


if __name__ == "__main__":
    main()
