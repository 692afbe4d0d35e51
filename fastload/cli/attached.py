"""`fastload profile -- COMMAND`, and how every profile is printed."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from fastload.cli import output
from fastload.errors import UsageError, misused
from fastload.files.below import replace_file

if TYPE_CHECKING:
    from fastload.attach.control import Limits
    from fastload.profiler import Report

SECONDS, QUICK_SECONDS = 40.0, 8.0  # of measuring; importing and opening the data come on top


def budget(quick: bool) -> float:
    return QUICK_SECONDS if quick else SECONDS


def limits(
    steps: int | None, seconds: float | None, *, whole: bool, quick: bool, ladder: bool
) -> "Limits":
    """When to stop the command. Raises UsageError."""
    from fastload.attach.control import Limits

    if steps is not None and steps < 1:
        raise misused(f"profile: --steps is {steps}, want 1 or more")
    if whole and (steps is not None or ladder):
        raise misused("profile: --whole excludes --steps and --ladder; give one")
    if whole and (seconds is not None or quick):
        which = "--quick" if quick else "--seconds"
        raise misused(
            f"profile: --whole lets the command run to its end, and {which} stops it before; leave "
            "one out"
        )
    if whole:
        return Limits(steps, None, ladder)
    if seconds is None and (steps is None or ladder):
        seconds = budget(quick)
    return Limits(steps, seconds, ladder)


@dataclass(frozen=True)
class Outputs:
    """Files to write besides what is printed, or None."""

    json: str | None = None
    html: str | None = None
    trace: str | None = None
    verb: str = "profile"

    def __post_init__(self) -> None:
        for option, where in (("--html", self.html), ("--trace", self.trace)):
            if where is not None:
                output.check_place(self.verb, option, where)


def run(command: list[str], limits: "Limits", to: Outputs, fail_if: str | None) -> None:
    """Profile a command. Its exit status, if it is an error, is ours."""
    from fastload.profiler import attached, trace

    stdout = sys.stderr.fileno() if to.json == "-" else None
    done = attached.run(command, limits, stdout, lambda line: output.log.print(line, markup=False))
    if done.code:
        output.log.print(
            f"fastload: profile: the command ended with status {done.code}", markup=False
        )
    if to.trace:
        save(to.trace, json.dumps(trace.document(done.processes)), "trace")
    if done.report is None:
        if done.code:
            output.log.print(f"fastload: {done.why}", markup=False)
            raise typer.Exit(done.code)
        raise UsageError(done.why)
    share = attached.overhead(done.report, done.processes)
    emit(
        done.report,
        to,
        f"Measuring took {100 * share:.2g} % of the training process's time (computed from its "
        "cost per batch).",
    )
    if done.code:
        raise typer.Exit(done.code)
    fail(done.report.verdict.label, fail_if)


def finish(report: "Report", to: Outputs, fail_if: str | None) -> None:
    """Print and write a report; exit 1 if its verdict is the one to fail for."""
    emit(report, to)
    fail(report.verdict.label, fail_if)


def emit(report: Any, to: Outputs, *more: str) -> None:
    """The report, its first line bold, and where else it is wanted. Raises UsageError."""
    from fastload.profiler import page, render

    if to.html:
        save(to.html, page.write(report), "html")
    first, *rest = render.lines(report, width=output.room())
    output.emit(
        report.to_json(), to.json, Text.assemble((first, "bold"), "\n", "\n".join([*rest, *more]))
    )


def save(where: str, text: str, option: str, verb: str = "profile") -> None:
    """Write a file whole or not at all. Raises UsageError."""
    try:
        replace_file(where, output.printable(text).encode())
    except OSError as error:
        raise UsageError(
            f"{verb}: {where}: cannot be written ({error.strerror}); give another file to "
            f"--{option}"
        ) from error


def fail(label: str, fail_if: str | None) -> None:
    """Exit 1 if the verdict is the one that --fail-if names."""
    from fastload.profiler import verdict

    unwanted = {"cpu-bound": (verdict.CPU,), "data-bound": verdict.DATA_BOUND}
    if fail_if and label in unwanted[fail_if]:
        output.log.print(
            f"fastload: profile: the verdict is {label}, and --fail-if {fail_if} was given",
            markup=False,
        )
        raise typer.Exit(1)


def compare(files: tuple[str, str], json_to: str | None, *, beside: Sequence[str]) -> None:
    """Two reports; exit 1 where the second one is slower. beside: what else is given, by option.
    Raises UsageError.
    """
    from fastload.profiler import compare as two

    if beside:
        raise misused(
            f"profile: --compare takes two reports and measures nothing; leave out {beside[0]}"
        )
    comparison = two.compare(two.read(files[0]), two.read(files[1]))
    first, *rest = comparison.lines()
    text = Text.assemble((first, "bold"), "\n", "\n".join(rest))
    output.emit(comparison.to_json(), json_to, text)
    if comparison.slower:
        raise typer.Exit(1)
