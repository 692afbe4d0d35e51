"""The release's check that a data set in a store is never half there: kill -9 before each request,
part of an upload, and step on the local disk. Takes minutes.

    python -m tests.remote.kill_writing [KILLS]

After each kill there is no data set, the old one, or the new one, byte for byte; --resume completes
it to the same bytes, and nothing else is left: no object, no part of an upload, no local file.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastload.conversion import job, journal
from fastload.files.below import Folder
from fastload.remote import by_obstore
from fastload.sources.shard_index import SUM
from tests.remote import s3

PART = 20_000  # bytes of a part of an upload
HOW = {"shard_bytes": 128 << 10, "shuffle": 5, "workers": 2}  # as `converted`
STEPS = (
    *((by_obstore.Objects, name) for name in ("get", "list", "put", "copy", "delete")),
    (journal.Journal, "append"), (Folder, "remove"), (Folder, "create"),
)  # fmt: skip
# Of a program: its arguments and environment; what it has printed, and its exit status
Program = Callable[..., "subprocess.CompletedProcess[str]"]


def child(call: int, source: str, url: str, **options: Any) -> None:
    """Convert, and be killed before the step of that number; 0: print how many there were."""
    by_obstore.PART = PART
    counter = itertools.count(1)

    def wrap(real: Any) -> Any:
        def step(*arguments: Any, **named: Any) -> Any:
            if next(counter) == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return step

    pieces = by_obstore._Parts._pieces
    by_obstore._Parts._pieces = lambda self: map(wrap(lambda part: part), pieces(self))
    for kind, name in STEPS:
        setattr(kind, name, wrap(getattr(kind, name)))
    said = job.run(job.prepare(source, url, job.Options(**HOW, **options)))
    print(json.dumps([next(counter) - 1, said.resumed, said.whole]))


def state(there: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> str:
    """What a reader finds."""
    if SUM not in there:
        return "absent"
    for name, data in (("whole", new), ("old", old)):
        if data.items() <= there.items():
            return name
    return "WRONG"


class Checks:
    """Kills, and what they leave."""

    def __init__(self, bucket: s3.Bucket, scratch: Path, program: Program) -> None:
        """scratch: with what `converted` has made."""
        self.bucket, self.scratch, self.program = bucket, scratch, program
        self.new = {path.name: path.read_bytes() for path in (scratch / "shards").iterdir()}
        # Another data set, whose shards have the same names
        self.old = {name: data[::-1] for name, data in self.new.items()}
        self.found = Counter[str]()

    def run(self, call: int, prefix: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        where = {"source": str(self.scratch / "images"), "url": f"s3://{self.bucket.name}/{prefix}"}
        asked = {"call": call, **where, "scratch": str(self.scratch / prefix), **options}
        return self.program(
            "-m", "tests.remote.kill_writing", json.dumps(asked), **self.bucket.environment()
        )

    def steps(self, prefix: str, *, replacing: bool) -> int:
        """Of a conversion that nobody kills."""
        self.prepare(prefix, replacing=replacing)
        done = self.run(0, prefix, overwrite=replacing)
        assert done.returncode == 0, done.stderr
        assert self.bucket.contents(prefix) == self.new
        return int(json.loads(done.stdout)[0])

    def prepare(self, prefix: str, *, replacing: bool) -> None:
        for name, data in self.old.items() if replacing else ():
            self.bucket.put(f"{prefix}/{name}", data)

    def kill(self, call: int, prefix: str, *, replacing: bool) -> None:
        """Raises AssertionError at a state that should not be."""
        self.prepare(prefix, replacing=replacing)
        done = self.run(call, prefix, overwrite=replacing)
        # Threads may need fewer steps than the last time
        assert done.returncode in (0, -signal.SIGKILL), (call, done.returncode, done.stderr)
        after = state(self.bucket.contents(prefix), self.old, self.new)
        assert after != "WRONG", f"killed before step {call}"
        assert replacing or after != "old"
        resumed = self.run(0, prefix, overwrite=replacing, resume=True)
        assert resumed.returncode == 0, (call, resumed.stderr)
        assert self.bucket.contents(prefix) == self.new, f"resumed after step {call}"
        left = list((self.scratch / prefix).iterdir())
        assert (left, self.bucket.uploads()) == ([], []), f"left after step {call}"
        self.found[after] += 1
        self.found["resumed"] += json.loads(resumed.stdout)[1] > 0


def main() -> None:
    from tests.remote.kill_release import converted

    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100

    def program(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        command, variables = [sys.executable, *arguments], {**os.environ, **environment}
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    with tempfile.TemporaryDirectory() as folder, s3.answering() as endpoint:
        os.environ["XDG_CACHE_HOME"] = folder
        converted(Path(folder))
        bucket = s3.emptied(endpoint)
        checks, chance = Checks(bucket, Path(folder), program), random.Random(0)
        for replacing in (False, True):
            steps = checks.steps(f"steps-{replacing}", replacing=replacing)
            for number in range(kills // 2):
                call = chance.randint(1, steps)
                checks.kill(call, f"{replacing}-{number}", replacing=replacing)
                print(f"killed before step {call} of {steps}: ok", flush=True)
    said = ", ".join(f"{count} {name}" for name, count in checks.found.most_common())
    print(f"{kills} kills: {said}")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("{"):
        child(**json.loads(sys.argv[1]))
    else:
        main()
