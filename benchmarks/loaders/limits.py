"""What the recipes ask of a loader, and whom that makes the limit.

Two claims, each measured here and now; the verb's exit code is 1 where one does not hold.
- A step that mild's batches from PyTorch's loader outrun by 1.2 waits for hot's, and the CPU is
  why; fastload's loader keeps up with both.
- Each op of RandAugment more costs images/s; MosaicML published 15,422, 12,597 and 11,108 for none,
  one and two.

PyTorch's loader is the torch backend: its worker processes, Pillow's decoder and resizing, and the
very same ops.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import lowering, recipes, transforms
from fastload.errors import UsageError
from fastload.measure import Sample, interleaved
from fastload.profiler.batches import Feed, alone
from fastload.profiler.job import Job, loader
from fastload.profiler.job import run as profile
from fastload.profiler.verdict import CPU, DATA_BOUND
from fastload.recipes import Recipe

LOADERS = {"torch": "PyTorch's loader", "native": "fastload"}
NAMES = ("mild", "hot")
DEPTHS = (0, 1, 2)
SPARE = 1.2  # mild's rate by PyTorch's loader, of the step's
PUBLISHED = (
    15422,
    12597,
    11108,
)  # images/s on 8 A100: MosaicML, baseline with channels_last, RandAugment of depth 0, 1, 2
LIMITED = ("torch", "hot")


@dataclass(frozen=True)
class Settings:
    workers: int = 2
    batch_size: int = 32
    seconds: float = 3.0  # of one run; a profile has 5 times that
    repetitions: int = 5  # of each loader alone, taking turns

    def check(self) -> None:
        """Raises UsageError."""
        if self.workers < 1 or self.batch_size < 2 or self.seconds <= 0 or self.repetitions < 1:
            raise UsageError(
                "limits: --workers and --repetitions want 1 or more, --batch-size 2 or more, "
                "--seconds above 0"
            )

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(LOADERS) * (len(DEPTHS) + len(NAMES)) * self.repetitions + len(LOADERS) * len(
            NAMES
        )


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Rows of both tables; on_done is called after each run of a loader and each profile."""
    settings.check()
    common = {"data": facts.data_set(data, name), **facts.common()}
    return [*needs(data, settings, common, on_done), *depths(data, settings, common, on_done)]


def depths(
    data: str, settings: Settings, common: dict[str, Any], on_done: Callable[[], None]
) -> Iterator[Row]:
    """Images/s of the baseline with RandAugment of depth 0, 1 and 2, by each loader."""
    recipe = recipes.load("baseline")
    made = {
        (backend, depth): job(data, settings, with_depth(recipe, depth), backend)
        for backend in LOADERS
        for depth in DEPTHS
    }
    rates = together(settings, made, on_done)
    for (backend, depth), sample in rates.items():
        published = {"published_ratio": PUBLISHED[depth] / PUBLISHED[0]}
        yield _row(
            {"table": "depths", "depth": depth},
            backend,
            sample,
            rates[backend, 0] if depth else None,
            settings,
            common,
            published,
        )


def with_depth(recipe: Recipe, depth: int) -> Recipe:
    """With RandAugment of so many ops behind the flip."""
    crop, flip, *store = recipe.train
    augment = (transforms.RandAugment.composer(severity=9, depth=depth),) if depth else ()
    return replace(recipe, train=(crop, flip, *augment, *store))


def needs(
    data: str, settings: Settings, common: dict[str, Any], on_done: Callable[[], None]
) -> Iterator[Row]:
    """Images/s and the profile's verdict of mild and hot, by each loader, before a step of mild's
    rate by PyTorch's loader / SPARE.

    That rate is taken anew before each verdict: other work on the machine must not make a step too
    fast or too slow.
    """
    made = {
        (backend, name): job(data, settings, recipes.load(name), backend)
        for backend in LOADERS
        for name in NAMES
    }
    rates, mild = together(settings, made, on_done), opened(made["torch", "mild"])
    for (backend, name), one in made.items():
        step = alone(mild, settings.seconds) / SPARE
        report = profile(replace(one, rate=step))
        on_done()
        also = {
            "emulated_step": step, "training": report.rungs.training.median,
            "waiting_percent": 100 * max(0.0, report.verdict.stall.value)
        }  # fmt: skip
        yield _row(
            {"recipe": name},
            backend,
            rates[backend, name],
            None,
            settings,
            common,
            also,
            report.verdict.headline,
        )


def job(data: str, settings: Settings, recipe: Recipe, backend: str) -> Job:
    return Job(
        recipe,
        data,
        1e6,
        backend=backend,
        workers=settings.workers,
        batch_size=settings.batch_size,
        seconds=5 * settings.seconds,
    )


def opened(one: Job) -> Feed:
    """The job's loader, running."""
    return Feed(loader(one, lowering.open(one.data, list(one.recipe.ops())).pipeline, one.backend))


def together(
    settings: Settings, jobs: dict[Any, Job], on_done: Callable[[], None]
) -> dict[Any, Sample]:
    """Images/s of each loader alone; they take turns, so that what the machine does besides meets
    all of them.
    """
    feeds = {key: opened(one) for key, one in jobs.items()}
    return interleaved(
        {key: partial(alone, feed, settings.seconds) for key, feed in feeds.items()},
        settings.repetitions,
        on_done,
    )


def _row(
    shown: dict[str, Any], backend: str, sample: Sample, reference: Sample | None,
    settings: Settings, common: dict[str, Any],
    also: dict[str, float], note: str = "",
) -> Row:  # fmt: skip
    """shown: what tells the rows of a table apart.

    The reference is the same loader without RandAugment.
    """
    how = {**shown, "workers": settings.workers, "batch_size": settings.batch_size}
    return Row(
        "limits", LOADERS[backend], how, reference="depth 0" if reference else None,
        page_cache="warm", also=also, note=note,
        **measured(sample, reference), **common,
    )  # fmt: skip


def broken(results: list[Row]) -> list[str]:
    """Which of the claims do not hold, in words."""
    rate = {
        (row.variant, row.settings["depth"]): row.median
        for row in results
        if row.settings.get("table") == "depths"
    }
    out = [
        f"{loader}: RandAugment of depth {depth + 1} is not slower than of depth {depth}"
        for loader, depth in rate
        if (loader, depth + 1) in rate and rate[loader, depth] <= rate[loader, depth + 1]
    ]
    for row in results:
        if "recipe" in row.settings:
            label, limited = (
                row.note.partition(":")[0],
                (row.variant, row.settings["recipe"]) == (LOADERS[LIMITED[0]], LIMITED[1]),
            )
            if (label != CPU) if limited else (label in DATA_BOUND):
                wanted = CPU if limited else "a GPU that limits"
                out.append(f"{row.variant}, {row.settings['recipe']}: {row.note}, want {wanted}")
    return out
