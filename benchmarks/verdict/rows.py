"""Results of scenarios: one JSON line each, written as it ends, so that a run can be broken off and
gone on with.
"""

import fcntl
import json
from pathlib import Path
from typing import Any

from fastload.errors import UsageError

FOLDER = "verdict"  # below the results: these are no rows of rates


def path(results: Path, name: str) -> Path:
    return results / FOLDER / f"{name}.jsonl"


def read(file: Path) -> list[dict[str, Any]]:
    """Rows in the order written.

    A last line that was cut off is left out. Raises UsageError for anything else that is no row.
    """
    if not file.exists():
        return []
    lines, rows = file.read_text(encoding="utf-8").split("\n"), []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            found = json.loads(line)
            rows.append({**found, "scenario": str(found["scenario"])})
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{file}, line {number}: is no result of a scenario ({error!r}); mend or remove "
                "the line"
            ) from error
    return rows


def add(file: Path, row: dict[str, Any]) -> None:
    """Append a row; a line that was cut off before goes. Several processes may add to one file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "a+b") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.seek(0)
        whole = out.read().rpartition(b"\n")
        out.truncate(len(whole[0]) + len(whole[1]))
        out.write(json.dumps(row).encode() + b"\n")


def done(file: Path) -> set[str]:
    """Names that need not run again."""
    return {row["scenario"] for row in read(file)}


def latest(file: Path) -> list[dict[str, Any]]:
    """The last row of each scenario."""
    return list({row["scenario"]: row for row in read(file)}.values())
