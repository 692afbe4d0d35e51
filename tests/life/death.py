"""The release's check of stopped programs: SIGINT and SIGKILL at random moments. Takes minutes.

    python -m tests.life.death [--events N] [--seed S]

Each event starts a small program (tests.life.programs), stops it, and looks at what is left after
3 s of its own: no worker of its session, nothing of it in /dev/shm, no message but the program's
own. Time in which other programs have the cores does not count (`OwnTime`). The next event is the
restart: its first batch must be there, and the same.
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import encoded, textured
from tests.life.programs import KINDS, PROCESSES

# Seconds of the program's own (`OwnTime`).
LIMIT = 3.0  # after the signal: only the program's own process may be left, and has its error
END = 30.0  # it is gone too; Python and torch take their time to clean up
START = 300.0  # for a first batch
LOOK = 0.01  # s between two looks
TICKS = os.sysconf("SC_CLK_TCK")  # of CPU time in a second
FOREIGN = re.compile(
    r"Exception ignored|Exception in thread|terminate "
    r"called|FATAL|Fatal|leaked|[Aa]borted|Segmentation|Bus error|core dumped"
)
SIGNALS = ("int", "int group", "kill", "kill worker")


class Zygote:
    """The process that forks the programs."""

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.count = scratch, 0
        environment = os.environ | {
            "XDG_CACHE_HOME": str(scratch / "cache"),
            "PYTHONWARNINGS": "ignore",
        }
        command = [sys.executable, "-m", "tests.life.programs"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def start(self, **asked: Any) -> tuple[int, Path]:
        """Process number, and where its output goes: .out and .err."""
        self.count += 1
        files = self.scratch / f"program{self.count}"
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({**asked, "files": str(files)}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["pid"], files

    def close(self) -> None:
        with self.process:  # its pipes are closed, which ends it
            pass


def session(leader: int) -> dict[int, str]:
    """Processes of a session that live, by number: their states (proc_pid_stat(5))."""
    return {number: fields[0] for number, fields in living(leader).items()}


def living(leader: int) -> dict[int, list[str]]:
    """Processes of a session that live, by number: what the kernel says of each, from the state."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found[int(entry)] = fields
    return found


class OwnTime:
    """Seconds that a session has had: in which it computed, or in which all of it slept.

    A process that is ready to run and does not get a core lets no time pass, nor does one that
    waits for the disk: what else the machine does is not the session's fault.
    """

    def __init__(self, leader: int) -> None:
        self.leader, self.slept = leader, 0.0
        self.computed: dict[int, float] = {}  # s of CPU time, by process
        self.begun = self.cpu()

    def cpu(self) -> float:
        """CPU time of all processes so far; of those that have ended, up to the last look."""
        self.states = set()
        for number, fields in living(self.leader).items():
            self.states.add(fields[0])
            self.computed[number] = (int(fields[11]) + int(fields[12])) / TICKS
        return sum(self.computed.values())

    def passed(self) -> float:
        """Looks once more, LOOK later: s since the begin."""
        time.sleep(LOOK)
        computed = self.cpu() - self.begun
        self.slept += LOOK * (self.states <= {"S"})
        return self.slept + computed


def shared(pids: set[int], before: set[str]) -> list[str]:
    """What these processes have left in /dev/shm, that was not there before: torch's names hold the
    number of their maker.
    """
    found = set(os.listdir("/dev/shm")) - before  # process numbers come again
    return [
        name
        for name in found
        if (match := re.match(r"torch_(\d+)_", name)) and int(match[1]) in pids
    ]


def wait_until(what: Callable[[], object], program: int, seconds: float) -> bool:
    """Whether it came true while the program's session had so much time of its own."""
    own = OwnTime(program)
    while not (done := what()) and own.passed() < seconds:
        pass
    return bool(done or what())


def written(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def event(
    zygote: Zygote, kind: str, how: str, draw: random.Random, folder: str
) -> tuple[str, str, float]:
    """What was wrong ("" if nothing), the first batch's sum, and for how many seconds something was
    left.
    """
    before = set(os.listdir("/dev/shm"))
    program, files = zygote.start(kind=kind, folder=folder)
    out, err = files.with_suffix(".out"), files.with_suffix(".err")
    early = draw.random() < 0.2 and how != "kill worker"  # before the first batch, too
    if not early and not wait_until(lambda: "\n" in written(out), program, START):
        os.killpg(program, signal.SIGKILL)
        return f"no first batch within {START} s: {written(err)[-300:]}", "", 0.0
    time.sleep(draw.random() * (0.2 if early else 0.5))  # any moment
    pids = set(session(program)) | {program}
    sent = time.monotonic()
    stop(program, how, draw)
    over = wait_until(lambda: is_over(program, err), program, LIMIT)
    if how == "int" and "Exception ignored in" in written(err) and session(program):
        # Python drops a Ctrl-C that comes while it runs a finaliser; one presses it again.
        with contextlib.suppress(ProcessLookupError):
            os.kill(program, signal.SIGINT)
    took = time.monotonic() - sent
    wrong = []
    if not over and not (how == "kill worker" and goes_on(program, out)):
        wrong.append(f"still there after {LIMIT} s: {where(program, err)}")
    if over and not wait_until(lambda: not session(program), program, END):
        wrong.append(f"still there after {END} s: {where(program, err)}")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)
    left = shared(pids, before)
    wrong += [f"left in /dev/shm: {left}"] * bool(left)
    text = written(err)
    if FOREIGN.search(text) or tracebacks(text, how) > (how != "kill"):
        wrong.append(f"said: {text if len(text) < 6000 else text[:3000] + ' … ' + text[-3000:]}")
    return "; ".join(wrong), written(out).partition("\n")[0], took


def stop(program: int, how: str, draw: random.Random) -> None:
    """Send the signal to whom it is for."""
    workers = sorted(set(session(program)) - {program})
    victim = draw.choice(workers or [program]) if how == "kill worker" else program
    number = signal.SIGINT if how.startswith("int") else signal.SIGKILL
    try:
        (os.killpg if how == "int group" else os.kill)(victim, number)
    except ProcessLookupError:  # a worker that has ended: its epoch is over
        os.kill(program, signal.SIGKILL)


def is_over(program: int, err: Path) -> bool:
    """Nothing is left but the program's own process, which has its error."""
    left = set(session(program))
    return not left or (left == {program} and "Traceback" in written(err))


def tracebacks(text: str, how: str) -> int:
    if how == "kill" and "resource_sharer.py" in text:
        return 0  # a thread of multiprocessing, in a worker that is killed a moment later
    # Chained ones are one.
    return text.count("Traceback") - len(re.findall(r"[Tt]he above exception", text))


def goes_on(program: int, out: Path) -> bool:
    """A worker that is killed while its iterator is dropped is missed by nobody."""
    before = out.stat().st_size
    return wait_until(lambda: out.stat().st_size > before, program, LIMIT)


def where(program: int, err: Path) -> str:
    """What is left of a session, and what its first process does."""
    left = session(program)
    with contextlib.suppress(ProcessLookupError):
        os.kill(program, signal.SIGUSR1)
        time.sleep(0.2)
    return f"{left}: {written(err)[-1500:]}"


def images(folder: Path) -> str:
    for number in range(24):
        path = folder / f"class{number % 2}" / f"{number:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(textured(30 + number % 7, 44, number)))
    return str(folder)


def check(
    events: int,
    seed: int,
    kinds: tuple[str, ...] = KINDS,
    signals: tuple[str, ...] = SIGNALS,
    say: Any = print,
) -> list[str]:
    """`events` of each kind of signal, over all kinds of loaders in turn.

    What was wrong, a line each.
    """
    draw, wrong, sums, longest = random.Random(seed), [], {}, Counter[str]()
    with tempfile.TemporaryDirectory(prefix="fastload-life-") as scratch:
        zygote, folder = Zygote(Path(scratch)), images(Path(scratch) / "images")
        for how in signals:
            able = [kind for kind in kinds if kind in PROCESSES or how != "kill worker"]
            bad = 0
            for number in range(events if able else 0):
                kind = able[number % len(able)]
                found, first, took = event(zygote, kind, how, draw, folder)
                if first and sums.setdefault(kind, first) != first:
                    found += f"; another first batch: {first}, want {sums[kind]}"
                longest[how] = max(longest[how], took)
                bad += bool(found)
                wrong += [f"{how}, {kind}, event {number}: {found}"] * bool(found)
                if found:
                    print(wrong[-1], file=sys.stderr, flush=True)
            say(
                f"{how:12} {events if able else 0} events, {bad} not clean, the slowest was over "
                f"after {longest[how]:.2f} s",
                flush=True,
            )
        zygote.close()
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100, help="of each of: " + ", ".join(SIGNALS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signals", nargs="+", default=SIGNALS, choices=SIGNALS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    given = parser.parse_args()
    wrong = check(given.events, given.seed, tuple(given.kinds), tuple(given.signals))
    print(f"{len(wrong)} not clean" if wrong else "all clean")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
