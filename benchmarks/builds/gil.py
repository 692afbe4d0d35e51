"""`python -m benchmarks gil`: what fastload gains in a Python without a GIL: one interpreter, run
with PYTHON_GIL=1 and with PYTHON_GIL=0.

"transforms": each thread has a loader without workers, and a transform that Python runs. "loops":
each thread goes through a native loader of its own. "steps": one thread trains in small operators
beside a native loader. Engine threads never hold the GIL, so only Python's part can gain.
"""

import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.builds.turns import Build, Case, compared, cores, turns
from benchmarks.builds.wheel import python
from benchmarks.loaders import overhead
from benchmarks.report import facts
from benchmarks.report.row import Row
from fastload.errors import UsageError

BUILDS = (
    Build("with the GIL", {"gil": True}, {"PYTHON_GIL": "1"}),
    Build("without it", {"gil": False}, {"PYTHON_GIL": "0"}),
)
TINY = 1 << 14  # images of "loops" and "steps"


@dataclass(frozen=True)
class Settings:
    threads: tuple[int, ...] = (1, 2)  # Python's
    repetitions: int = 7

    def check(self) -> None:
        """Raises UsageError."""
        if not sysconfig.get_config_var("Py_GIL_DISABLED"):
            raise UsageError(
                f"gil: Python (got {python()}, want a free-threaded build); run it with python3.13t"
            )
        if min(*self.threads, self.repetitions) < 1:
            raise UsageError("gil: --threads and --repetitions want 1 or more")

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return turns(len(BUILDS), 2 * len(self.threads) + 1, self.repetitions)

    def cases(self, photographs: str, tiny: str) -> list[Case]:
        many = [
            Case(work, {"data": data, "threads": count}, {"work": work, "threads": count})
            for work, data in (("transforms", photographs), ("loops", tiny))
            for count in self.threads
        ]
        shown = {"table": "steps", "work": "steps", "threads": 1}
        return [*many, Case("steps", {"data": tiny}, shown, "steps/s")]


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Rows of each work and count of threads, with the GIL first. Raises UsageError."""
    settings.check()
    common = {"data": facts.data_set(data, name), **facts.common()}
    shown = {"python": python(), "cores": len(cores())}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        tiny = overhead.make_folder(Path(scratch) / "tiny", TINY)
        cases = [
            Case(case.work, {**case.spec, "cores": cores()}, {**case.settings, **shown}, case.unit)
            for case in settings.cases(str(Path(data).resolve()), str(tiny))
        ]
        return list(
            compared("gil", BUILDS, cases, Path(scratch), settings.repetitions, common, on_done)
        )
