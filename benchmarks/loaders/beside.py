"""How long a training's step takes beside a loader: 2,000 small operators, launched by Python, in
turns alone and beside.

Alone is the same process with the same loader, which stands still: its queue is full, and nobody
takes a batch. Beside, a batch is taken before each step, so the loader works. A turn is steps
alone, as many beside, and steps alone again; its figures are the median and the upper quartile of
the steps beside, by the median of both parts alone. A core that has waited is slower at first, so a
row also says how long a step takes, alone, after a sleep as long as the wait for a batch. PyTorch's
worker processes are the measure for fastload's threads: both have the same cores, which they share
with the step.

Each loader has a process of its own (beside_child.py). PyTorch's loader forks its workers. After a
fork, each page of the process is copied when it is next written, and fastload's threads would wait
for that.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.loaders.loader import answers
from benchmarks.report import facts
from benchmarks.report.row import Row, figure, measured
from fastload.errors import UsageError
from fastload.measure import Sample, interleaved, ratio

IMAGES = 768  # of a part of a turn, at least: small batches are asked for several at once
LOADERS = ("PyTorch DataLoader", "fastload")
REFERENCE = LOADERS[0]


@dataclass(frozen=True)
class Settings:
    workers: tuple[int, ...] = (1, 2)
    batch_sizes: tuple[int, ...] = (16, 256)
    augment: tuple[bool, ...] = (True, False)
    steps: int = 12  # of each part of a turn, at least
    size: int = 176  # px
    repetitions: int = 5

    def check(self) -> None:
        """Raises UsageError."""
        if min(*self.workers, *self.batch_sizes, self.steps, self.repetitions) < 1:
            raise UsageError(
                "beside: --workers, --batch-sizes, --steps, --repetitions want 1 or more"
            )

    @property
    def cases(self) -> list[tuple[bool, int, int]]:
        """RandAugment or not, batch size, workers."""
        return [
            (augment, size, workers)
            for augment in self.augment
            for size in self.batch_sizes
            for workers in self.workers
        ]

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(self.cases) * len(LOADERS) * self.repetitions


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    settings.check()
    common = {"data": facts.data_set(data, name), **facts.common()}
    return [
        row for case in settings.cases for row in compared(data, settings, case, common, on_done)
    ]


def compared(
    data: str,
    settings: Settings,
    case: tuple[bool, int, int],
    common: dict[str, Any],
    on_done: Callable[[], None],
) -> list[Row]:
    """The rows of one case; the loaders take turns, and each stands still in the other's."""
    augment, size, workers = case
    shown = {"RandAugment": augment, "batch_size": size, "workers": workers}
    spec = {**shown, "data": data, "size": settings.size}
    spec["steps"] = max(settings.steps, IMAGES // size)
    with ExitStack() as stack:
        cache = stack.enter_context(TemporaryDirectory())
        asked = {
            name: stack.enter_context(
                answers({**spec, "loader": name}, cache, "benchmarks.loaders.beside_child")
            )
            for name in LOADERS
        }
        for ask in asked.values():  # all that is made before the first batch
            ask()
        others: dict[str, list[tuple[float, ...]]] = {name: [] for name in asked}

        def turn(name: str) -> float:
            median, *rest = asked[name]()
            others[name].append(tuple(rest))
            return median

        runs = {name: lambda name=name: turn(name) for name in asked}
        found = interleaved(runs, settings.repetitions, on_done)
    return [
        Row(
            "beside", name, shown, page_cache="warm", unit="times as long as alone",
            reference=None if name == REFERENCE else REFERENCE,
            also=_also(others[name]),
            **measured(sample, None if name == REFERENCE else found[REFERENCE]), **common,
        )
        for name, sample in found.items()
    ]  # fmt: skip


def _also(turns: list[tuple[float, ...]]) -> dict[str, float]:
    alone = Sample((1.0,) * len(turns))
    quartiles, rested = (Sample(values) for values in zip(*turns, strict=True))
    return {
        **figure("upper_quartile", ratio(quartiles, alone)),
        **figure("after_sleep", ratio(rested, alone)),
    }
