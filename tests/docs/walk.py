"""A newcomer's walk: the commands and the code of a page, run in order in an empty folder, and what
they print compared with what the page says.

    python tests/docs/walk.py docs/tutorial.md FOLDER    # from nothing: installs too

A block ```sh or ```python is a step; a block ```text right below it is what it prints. In such a
text "[3 to 70]" is any number from 3 to 70, "…" any characters, and a line of "…" any lines.
`<!-- not tested: reason -->` above a step leaves it to the walk, `<!-- not run: reason -->` leaves
it out everywhere; `<!-- file: NAME -->` saves it as that file. It needs Python and bash only, so
that a bare machine can run it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not tested|not run|file): (?P<reason>[^\n]+?) -->\n+)?"
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<printed>.*?)^```)?",
    re.DOTALL | re.MULTILINE,
)
NUMBER = r"(-?[\d,]+(?:\.\d+)?)"
# Runs Python blocks that share their names, and says after each where its output ends.
CHILD = """
import json, sys, traceback
names, line, end = {"__name__": "walk"}, 0, sys.argv[1]
for text in sys.stdin:
    try:
        exec(compile(json.loads(text), "the page", "exec"), names)
        print(end + "0", flush=True)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(end + "1", flush=True)
"""
END = "-- end of the block: "


@dataclass(frozen=True)
class Step:
    """A block of a page, with the line on which its code begins."""

    line: int
    kind: str
    code: str
    printed: str | None
    mark: str | None
    reason: str | None


class WalkError(Exception):
    """A step failed, or printed something else than the page says."""


def steps(text: str) -> list[Step]:
    """Every block ```sh and ```python of a page, in order."""
    return [
        Step(
            text[: found.start("code")].count("\n") + 1,
            found["kind"],
            found["code"],
            found["printed"],
            found["mark"],
            found["reason"],
        )
        for found in BLOCK.finditer(text)
    ]


def differs(said: str, printed: str, *, measured: bool = True) -> str | None:
    """Why `printed` is not what the page says; without `measured` ranges take any number."""
    pattern, ranges = "", list[tuple[float, float]]()
    for line in said.strip("\n").splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
            continue
        for part in re.split(r"(\[[\d,.]+ to [\d,.]+\]|…|\s+)", line):
            if bounds := re.fullmatch(r"\[([\d,.]+) to ([\d,.]+)\]", part):
                low, high = (float(bound.replace(",", "")) for bound in bounds.groups())
                ranges.append((low, high))
                pattern += NUMBER
            else:
                blank = r"[ \t]+" if part.strip() == "" and part else None
                pattern += ".*" if part == "…" else blank or re.escape(part)
        pattern += r"[ \t]*\n"
    found = re.fullmatch(pattern, printed.strip("\n") + "\n")
    if not found:
        return f"printed\n{printed.rstrip()}\nwant\n{said.rstrip()}"
    numbers = [float(number.replace(",", "")) for number in found.groups()]
    outside = [
        f"{number:,} is not within {low:,} to {high:,}"
        for number, (low, high) in zip(numbers, ranges, strict=True)
        if measured and not low <= number <= high
    ]
    return "; ".join(outside) or None


class Walker:
    """Runs steps in one folder. Shell blocks share folder and environment, as in one terminal."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.state = folder, folder / ".walk.sh"
        self.environment = environment
        self.state.write_text(f"cd {shlex.quote(str(folder))}\n")
        self.child: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End Python, and leave nothing of the walk's own; see `contextlib.closing`."""
        self.state.unlink(missing_ok=True)
        if self.child and self.child.stdin and self.child.stdout:
            self.child.stdin.close()
            self.child.wait()
            self.child.stdout.close()

    def run(self, step: Step, *, measured: bool = True) -> str:
        """What the step printed; a WalkError where it failed or differs from the page."""
        if step.mark == "file" and step.reason:
            (self.folder / step.reason).write_text(step.code)
            return ""
        code, printed = (self._shell if step.kind == "sh" else self._python)(step.code)
        if code:
            raise WalkError(f"line {step.line}: failed\n{step.code}{printed}")
        difference = step.printed and differs(step.printed, printed, measured=measured)
        if difference:
            raise WalkError(f"line {step.line}: {difference}")
        return printed

    def _shell(self, code: str) -> tuple[int, str]:
        state = shlex.quote(str(self.state))
        text = f". {state}\nset -e\n{code}\nset +e\n{{ export -p; echo cd \"'$PWD'\"; }} > {state}"
        done = subprocess.run(
            ["bash", "-c", text],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def _python(self, code: str) -> tuple[int, str]:
        if self.child is None:  # `python` of the terminal as it is now
            text = f". {shlex.quote(str(self.state))}\nexec python -c {shlex.quote(CHILD)} '{END}'"
            self.child = subprocess.Popen(
                ["bash", "-c", text],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        child, lines = self.child, list[str]()
        if not (child.stdin and child.stdout):
            raise WalkError("Python has no pipes")
        child.stdin.write(json.dumps(code) + "\n")
        child.stdin.flush()
        for line in child.stdout:
            if line.startswith(END):
                return int(line[len(END) :]), "".join(lines)
            lines.append(line)
        return 1, "".join(lines) + "Python ended\n"


def main() -> None:
    page, folder = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    began = time.monotonic()
    with closing(Walker(folder, dict(os.environ))) as walker:
        for step in steps(page.read_text()):
            if step.mark == "not run":
                print(f"{page}:{step.line}: left out: {step.reason}", flush=True)
                continue
            print(f"{page}:{step.line}: {step.code.splitlines()[0][:80]}", flush=True)
            before = time.monotonic()
            print(walker.run(step), end="")
            print(f"  as the page says, {time.monotonic() - before:.1f} s", flush=True)
    print(f"the whole walk: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
