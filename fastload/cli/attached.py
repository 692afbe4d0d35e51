"""`fastload profile -- COMMAND`, and how every profile is printed. No verb of its own."""

import sys
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from fastload.cli import output
from fastload.errors import UsageError

if TYPE_CHECKING:
    from fastload.attach.control import Limits

SECONDS, QUICK_SECONDS = 40.0, 8.0  # of measuring; importing and opening the data come on top


def budget(quick: bool) -> float:
    return QUICK_SECONDS if quick else SECONDS


def limits(steps: int | None, seconds: float | None, *, whole: bool, quick: bool, ladder: bool) -> "Limits":
    """When to stop the command. Raises UsageError."""
    from fastload.attach.control import Limits

    if steps is not None and steps < 1:
        raise UsageError(f"profile: --steps is {steps}, want 1 or more")
    if whole and (steps is not None or ladder):
        raise UsageError("profile: --whole excludes --steps and --ladder; give one")
    if seconds is None and not whole and (steps is None or ladder):
        seconds = budget(quick)
    return Limits(steps, seconds, ladder)


def run(command: list[str], limits: "Limits", json_to: str | None, fail_if: str | None) -> None:
    """Profile a command. Its exit status, if it is an error, is ours."""
    from fastload.profiler import attached

    done = attached.run(command, limits, stdout=sys.stderr.fileno() if json_to == "-" else None)
    if done.code:
        output.log.print(f"fastload: profile: the command ended with status {done.code}", markup=False)
    if done.report is None:
        if done.code:
            output.log.print(f"fastload: {done.why}", markup=False)
            raise typer.Exit(done.code)
        raise UsageError(done.why)
    share = attached.overhead(done.report, done.processes)
    emit(done.report, json_to, f"Measuring took {100 * share:.2g} % of the training process's time (computed from its cost per batch).")
    if done.code:
        raise typer.Exit(done.code)
    fail(done.report.verdict.label, fail_if)


def emit(report: Any, json_to: str | None, *more: str) -> None:
    """The report, its first line bold."""
    first, *rest = str(report).split("\n")
    output.emit(report.to_json(), json_to, Text.assemble((first, "bold"), "\n", "\n".join([*rest, *more])))


def fail(label: str, fail_if: str | None) -> None:
    """Exit 1 where the verdict is what the caller will not have."""
    from fastload.profiler import verdict

    unwanted = {"cpu-bound": (verdict.CPU,), "data-bound": verdict.DATA_BOUND}
    if fail_if and label in unwanted[fail_if]:
        output.log.print(f"fastload: profile: the verdict is {label}, and --fail-if {fail_if} was given", markup=False)
        raise typer.Exit(1)
