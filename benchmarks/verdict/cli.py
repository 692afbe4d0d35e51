"""`python -m benchmarks verdict`: which part to run."""

import argparse
import sys
from typing import Any

from benchmarks.verdict import judge, work
from benchmarks.verdict.scenarios import every_one
from fastload.cli.output import progress


def add(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--only", metavar="PATTERN", help="only scenarios whose names have this regular expression")
    verb.add_argument("--seconds", type=float, default=0.4, help="of one run of a scenario without the profiler")
    verb.add_argument("--play-cpu", action="store_true", help="play the CPU time of made workers, for a machine whose cores others use")
    parts = verb.add_mutually_exclusive_group()
    parts.add_argument("--stability", action="store_true", help="twenty verdicts on each of ten scenarios")
    parts.add_argument("--predictions", action="store_true", help="what changes were predicted to give, and what they gave")
    parts.add_argument("--overhead", action="store_true", help="what profiling and watching cost a training")
    verb.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    if given.play_cpu:
        work.emulate()
    if given.stability:
        with progress("stability", len(judge.STABLE) * judge.TIMES, "profiles") as advance:
            judge.stability(given.results, given.only, given.seconds, advance, say)
        return
    if given.predictions:
        from benchmarks.verdict import predictions

        predictions.run(given.results, given.only, given.seconds, say)
        return
    if given.overhead:
        from benchmarks.verdict import overhead

        overhead.run(given.results, say)
        return
    scenarios = judge.matching(every_one(), given.only)
    with progress("verdict", len(scenarios), "scenarios") as advance:
        judge.run(given.results, scenarios, given.seconds, advance, say)


def say(line: str) -> Any:
    print(line, file=sys.stderr, flush=True)
