"""Builds of fastload that take turns at the same works, each in a process of its own."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.loaders.loader import child
from benchmarks.report.row import Row, measured
from fastload.measure import Sample, interleaved

CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Build:
    """One variant of a row: how its process is started, and what that is to find."""

    name: str
    spec: dict[str, Any] = field(default_factory=dict)  # see benchmarks.builds.child
    environment: dict[str, str] = field(default_factory=dict)
    package: Path = CHECKOUT / "fastload"
    note: str = ""
    flags: tuple[str, ...] = ()  # of Python


@dataclass(frozen=True)
class Case:
    """One comparison: the work, and what its rows say of it."""

    work: str
    spec: dict[str, Any]
    settings: dict[str, Any]
    unit: str = "images/s"


def compared(
    benchmark: str, builds: Sequence[Build], cases: Sequence[Case], scratch: Path,
    repetitions: int, common: dict[str, Any], on_done: Callable[[], None],
) -> Iterator[Row]:  # fmt: skip
    """Rows of each case; the first build is the reference. on_done is called after each turn."""
    for case in cases:
        with ExitStack() as stack:
            runs = {
                build.name: stack.enter_context(process(build, case, scratch)) for build in builds
            }
            for run in runs.values():
                run()  # dropped: the page cache is filled, threads are started
                on_done()
            found = interleaved(runs, repetitions, on_done)
        for build in builds:
            yield row_of(benchmark, build, builds[0], case, found, common)


def process(build: Build, case: Case, scratch: Path) -> Any:
    """As loader.child."""
    where = scratch / build.name
    where.mkdir(exist_ok=True)
    for name, of in (("fastload", build.package), ("benchmarks", CHECKOUT / "benchmarks")):
        if not (where / name).exists():  # the working folder is where Python looks first
            (where / name).symlink_to(of, target_is_directory=True)
    spec = {"loader": build.name, "output": case.work, "workers": 1, "work": case.work}
    return child(
        {**spec, **case.spec, **build.spec}, str(where / "cache"), "benchmarks.builds.child",
        build.environment, str(where), build.flags,
    )  # fmt: skip


def row_of(
    benchmark: str, build: Build, first: Build, case: Case, found: dict[str, Sample],
    common: dict[str, Any],
) -> Row:  # fmt: skip
    is_first = build is first
    return Row(
        benchmark, build.name, case.settings, page_cache="warm", unit=case.unit, note=build.note,
        reference=None if is_first else first.name,
        **measured(found[build.name], None if is_first else found[first.name]), **common,
    )  # fmt: skip


def turns(builds: int, cases: int, repetitions: int) -> int:
    """How often on_done is called."""
    return builds * cases * (repetitions + 1)


def cores(count: int | None = None) -> list[int]:
    """So many of those that this process may use, or all of them."""
    return sorted(os.sched_getaffinity(0))[:count]
