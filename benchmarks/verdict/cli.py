"""`python -m benchmarks verdict`: which part to run."""

import argparse
import sys
from typing import Any

from benchmarks.verdict import judge, work
from benchmarks.verdict.scenarios import every_one
from fastload.cli.output import progress


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--only", metavar="PATTERN", help="only scenarios whose names have this regular expression")
    verb.add_argument("--group", metavar="NAME", help="only scenarios of this group, as the second table in docs/profiler.md has them")
    verb.add_argument("--scale", type=float, default=1.0, help="of all times: on a busy machine 4")
    verb.add_argument("--part", type=part, default=(1, 1), metavar="I/N", help="of the scenarios, for several processes at once")
    verb.add_argument("--play-cpu", action="store_true", help="play the CPU time of made workers, for a machine whose cores others use")
    parts = verb.add_mutually_exclusive_group()
    parts.add_argument("--stability", action="store_true", help="twenty verdicts on each of ten scenarios")
    parts.add_argument("--predictions", action="store_true", help="what changes were predicted to give, and what they gave")
    parts.add_argument("--overhead", action="store_true", help="what profiling and watching cost a training")
    verb.set_defaults(run=run)


def part(text: str) -> tuple[int, int]:
    number, _, parts = text.partition("/")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        raise argparse.ArgumentTypeError(f"is {text!r}, want one as 1/2")
    return int(number), int(parts)


def run(given: argparse.Namespace) -> None:
    work.emulate(given.play_cpu)
    if given.stability:
        with progress("stability", len(judge.STABLE) * judge.TIMES, "profiles") as advance:
            judge.stability(given.results, given.only, given.scale, advance, say)
        return
    if given.predictions:
        from benchmarks.verdict import predictions

        predictions.run(given.results, given.only, given.scale, say)
        return
    if given.overhead:
        from benchmarks.verdict import overhead

        overhead.run(given.results, say)
        return
    number, parts = given.part
    everything = [one for one in every_one() if given.group in (None, one.group)]
    scenarios = judge.matching(everything, given.only)[number - 1 :: parts]
    with progress("verdict", len(scenarios), "scenarios") as advance:
        judge.run(given.results, scenarios, given.scale, advance, say, play=given.play_cpu)


def say(line: str) -> Any:
    print(line, file=sys.stderr, flush=True)
