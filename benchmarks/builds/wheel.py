"""`python -m benchmarks wheel`: a wheel against a build from source, for the Python that runs this,
on one core.

The wheel is unpacked, not installed. The works are those of `decode` and `loader`.
"""

import platform
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.builds.turns import Build, Case, compared, cores, turns
from benchmarks.report import facts
from benchmarks.report.row import Row
from fastload import _native
from fastload.errors import UsageError

SOURCE = "built from source"
OUTPUTS = ("uint8", "float32", "hot")  # of the loader


@dataclass(frozen=True)
class Settings:
    wheel: Path
    outputs: tuple[str, ...] = OUTPUTS
    repetitions: int = 9

    def check(self) -> None:
        """Raises UsageError."""
        if self.repetitions < 1:
            raise UsageError(f"wheel: --repetitions: {self.repetitions} (want 1 or more)")
        if self.wheel.suffix != ".whl" or not self.wheel.is_file():
            raise UsageError(f"{self.wheel}: is no wheel; .ci/wheels builds them")

    @property
    def works(self) -> list[str]:
        return ["decode", *self.outputs]

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return turns(2, len(self.works), self.repetitions)

    def cases(self, data: str) -> list[Case]:
        return [
            Case(
                "decode" if work == "decode" else "loader",
                {
                    "data": data, "cores": cores(1), "output": work, "batch_size": 64,
                    "size": 176 if work == "hot" else 224,
                },
                {
                    "work": "decode" if work == "decode" else f"loader, {work}",
                    "python": python(), "cores": 1,
                },
            )
            for work in self.works
        ]  # fmt: skip


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Rows of each work, the source build's first. Raises UsageError."""
    settings.check()
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        package = unpacked(settings.wheel, Path(scratch) / "unpacked")
        here = Path(_native.__file__).resolve()
        builds = [
            Build(SOURCE, {"module": str(here)}, package=here.parent),
            Build(
                "wheel", {"module": module_of(package)}, {}, package, settings.wheel.name,
                flags=("-S",),  # no hook of an editable installation, which comes before any path
            ),
        ]  # fmt: skip
        return list(
            compared(
                "wheel", builds, settings.cases(data), Path(scratch), settings.repetitions,
                common, on_done,
            )
        )  # fmt: skip


def unpacked(wheel: Path, into: Path) -> Path:
    """Its package."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    return into.resolve() / "fastload"


def module_of(package: Path) -> str:
    """The path of its extension module. Raises UsageError."""
    found = list(package.glob("_native*.so"))
    if len(found) != 1:
        raise UsageError(
            f"{package.name}: extension modules (got {len(found)}, want 1); is it fastload's wheel?"
        )
    return str(found[0])


def python() -> str:
    """Its version, with a t where it is free-threaded."""
    return platform.python_version() + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
