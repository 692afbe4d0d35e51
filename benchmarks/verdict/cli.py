"""`python -m benchmarks verdict`: which part to run."""

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.verdict import judge, overhead, predictions, rows, tables, work
from benchmarks.verdict.scenarios import every_one
from fastload.cli.output import progress
from fastload.errors import UsageError

PARTS = ("scenarios", "predictions", "stability")  # in this order with --all
SCALE = 1.25


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--only", metavar="PATTERN", help="only scenarios whose names have this regular expression"
    )
    verb.add_argument(
        "--group",
        metavar="NAME",
        help="only scenarios of this group, as the second table in docs/profiler.md has them",
    )
    verb.add_argument(
        "--part",
        type=part,
        default=(1, 1),
        metavar="I/N",
        help="of the scenarios, for several processes at once",
    )
    verb.add_argument(
        "--play-cpu",
        action="store_true",
        help="play the CPU time of made workers, for a machine whose cores others use",
    )
    verb.add_argument("--fresh", action="store_true", help="forget the rows of what is run")
    add_times(verb)
    add_parts(verb)
    verb.set_defaults(run=run)


def add_times(verb: argparse.ArgumentParser) -> None:
    """How long what is run takes."""
    verb.add_argument(
        "--scale",
        type=float,
        default=SCALE,
        help=f"of all times: on a busy machine 4; default {SCALE:g}",
    )
    verb.add_argument(
        "--seconds",
        type=float,
        default=judge.SECONDS,
        help="of each run of a scenario without the profiler, before --scale; a profile may take "
        f"{judge.BUDGET} of them; default {judge.SECONDS:g}",
    )
    verb.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help="begin nothing later; the same command, without --fresh, goes on",
    )


def add_parts(verb: argparse.ArgumentParser) -> None:
    """What is run in place of the scenarios."""
    parts = verb.add_mutually_exclusive_group()
    parts.add_argument(
        "--all",
        action="store_true",
        help="the scenarios, then predictions, then stability: 40 minutes on two idle cores",
    )
    parts.add_argument(
        "--stability", action="store_true", help="twenty verdicts on each of ten scenarios"
    )
    parts.add_argument(
        "--predictions",
        action="store_true",
        help="what changes were predicted to give, and what they gave",
    )
    parts.add_argument(
        "--overhead", action="store_true", help="what profiling and watching cost a training"
    )


def part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"is {text!r}, want one as 1/2")
    return int(number), int(parts)


def run(given: argparse.Namespace) -> None:
    check(given)
    until = time.monotonic() + 60 * given.minutes
    chosen = (
        PARTS
        if given.all
        else [name for name in (*PARTS[1:], "overhead") if getattr(given, name)] or PARTS[:1]
    )
    if given.fresh:
        for name in chosen:
            rows.path(given.results, name).unlink(missing_ok=True)
    for name in chosen:
        _one(name, given, lambda: time.monotonic() > until)
    for name in chosen:
        if rows.read(rows.path(given.results, name)):
            print(tables.markdown(given.results, "" if name == "scenarios" else name))
    if time.monotonic() > until:
        say(
            "benchmarks: verdict: the time is up; what is left runs with the same command, but for "
            "--fresh"
        )


def check(given: argparse.Namespace) -> None:
    """Raises UsageError."""
    for name in ("scale", "seconds", "minutes"):
        if not getattr(given, name) > 0:
            raise UsageError(f"verdict: --{name} is {getattr(given, name):g}, want more than 0")
    if (given.all or given.fresh) and (given.only or given.group or given.part != (1, 1)):
        raise UsageError(
            "verdict: --all and --fresh are for whole parts; leave out --only, --group and --part"
        )
    judge.matching(list(predictions.every_one()) if given.predictions else every_one(), given.only)


def _one(name: str, given: argparse.Namespace, late: Callable[[], bool]) -> None:
    work.emulate(given.play_cpu)
    if name == "overhead":
        overhead.run(given.results, say)
    elif name == "stability":
        with progress(name, len(judge.STABLE) * judge.TIMES, "profiles") as advance:
            judge.stability(given.results, given.only, given.scale, advance, say, late)
    elif name == "predictions":
        with progress(name, len(list(predictions.every_one())), "changes") as advance:
            predictions.run(given.results, given.only, given.scale, advance, say, late)
    else:
        number, parts = given.part
        everything = [one for one in every_one() if given.group in (None, one.group)]
        scenarios = judge.matching(everything, given.only)[number - 1 :: parts]
        with progress("verdict", len(scenarios), "scenarios") as advance:
            judge.run(
                given.results, scenarios, given.scale, advance, say, seconds=given.seconds,
                play=given.play_cpu, late=late,
            )  # fmt: skip


def say(line: str) -> Any:
    print(line, file=sys.stderr, flush=True)
