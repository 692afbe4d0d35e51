"""`python -m benchmarks.limits --data DIR`: what the recipes ask of a loader, and whom that makes the limit.

Two claims, each measured here and now; exit 1 where one does not hold.
- A step that mild's batches from PyTorch's loader outrun by 1.2 waits for hot's; fastload's loader keeps up with both.
- Each op of RandAugment more costs images/s; MosaicML published 15,422, 12,597 and 11,108 for none, one and two.

PyTorch's loader is the torch backend: its worker processes, Pillow's decoder and resizing, and the very same ops.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastload import lowering, recipes, transforms
from fastload.errors import FastloadError, UsageError
from fastload.measure import Sample, interleaved
from fastload.profiler.batches import Feed, alone
from fastload.profiler.job import Job, _loader, run
from fastload.profiler.verdict import DATA_BOUND
from fastload.recipes import Recipe

LOADERS = {"torch": "PyTorch's loader", "native": "fastload's"}
SPARE = 1.2  # mild's rate by PyTorch's loader, of the step's
PUBLISHED = (15422, 12597, 11108)  # images/s on 8 A100: MosaicML, baseline with channels_last, RandAugment of depth 0, 1, 2


@dataclass(frozen=True)
class How:
    data: str
    workers: int
    batch_size: int
    seconds: float  # of one run
    repetitions: int


def main(arguments: Sequence[str]) -> int:
    out = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    out.add_argument("--data", required=True, help="folder of classes")
    out.add_argument("--workers", type=int, default=2)
    out.add_argument("--batch-size", type=int, default=32)
    out.add_argument("--seconds", type=float, default=3.0, help="of one run; a profile has 5 times that")
    out.add_argument("--repetitions", type=int, default=3, help="of each loader alone, taking turns")
    out.add_argument("--json", action="store_true", help="print one JSON document, not tables")
    given = out.parse_args(arguments)
    how = How(given.data, given.workers, given.batch_size, given.seconds, given.repetitions)
    try:
        if how.workers < 1 or how.batch_size < 2 or how.seconds <= 0 or how.repetitions < 1:
            raise UsageError("limits: --workers and --repetitions want 1 or more, --batch-size 2 or more, --seconds above 0")
        found = {"depths": depths(how), "recipes": needs(how)}
    except FastloadError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found) if given.json else shown(found))
    return int(bool(broken(found)))


def depths(how: How) -> list[dict[str, Any]]:
    """Images/s of the baseline with RandAugment of depth 0, 1 and 2, by each loader."""
    made = {
        f"{backend} {depth}": job(how, with_depth(recipes.load("baseline"), depth), backend) for backend in LOADERS for depth in range(3)
    }
    rates = together(how, made)
    return [
        {"loader": backend, "depth": depth, **figures(rates[f"{backend} {depth}"]), "of_depth_0": median(rates, backend, depth)}
        for backend in LOADERS
        for depth in range(3)
    ]


def median(rates: dict[str, Sample], backend: str, depth: int) -> float:
    """A depth's rate as a share of that without RandAugment."""
    return rates[f"{backend} {depth}"].median / rates[f"{backend} 0"].median


def with_depth(recipe: Recipe, depth: int) -> Recipe:
    """With RandAugment of so many ops behind the flip."""
    crop, flip, *store = recipe.train
    augment = (transforms.RandAugment.composer(severity=9, depth=depth),) if depth else ()
    return replace(recipe, train=(crop, flip, *augment, *store))


def needs(how: How) -> list[dict[str, Any]]:
    """Images/s and the profile's verdict of mild and hot, by each loader, before a step of mild's rate by PyTorch's loader / SPARE.

    That rate is taken anew before each verdict: other work on the machine must not make a step too fast or too slow.
    """
    made = {f"{backend} {name}": job(how, recipes.load(name), backend) for backend in LOADERS for name in ("mild", "hot")}
    rates, out, mild = together(how, made), [], opened(made["torch mild"])
    for key, one in made.items():
        backend, name = key.split()
        step = alone(mild, how.seconds) / SPARE
        verdict = run(replace(one, rate=step)).verdict
        said = {"step": step, "verdict": verdict.headline, "waits": verdict.label in DATA_BOUND}
        out.append({"loader": backend, "recipe": name, **figures(rates[key]), **said})
    return out


def opened(one: Job) -> Feed:
    """The job's loader, running."""
    return Feed(_loader(one, lowering.open(one.data, list(one.recipe.ops())).pipeline, one.backend))


def job(how: How, recipe: Recipe, backend: str) -> Job:
    return Job(recipe, how.data, 1e6, backend=backend, workers=how.workers, batch_size=how.batch_size, seconds=5 * how.seconds)


def together(how: How, jobs: dict[str, Job]) -> dict[str, Sample]:
    """Images/s of each loader alone; they take turns, so that what the machine does besides meets all of them."""
    feeds = {key: opened(one) for key, one in jobs.items()}
    turns: dict[str, Callable[[], float]] = {key: partial(alone, feed, how.seconds) for key, feed in feeds.items()}
    return interleaved(turns, how.repetitions, lambda: None)


def figures(rate: Sample) -> dict[str, float]:
    return {"img_per_s": rate.median, "low": rate.low, "high": rate.high}


def broken(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Which of the claims do not hold, in words."""
    rate = {(row["loader"], row["depth"]): row["img_per_s"] for row in found["depths"]}
    out = [
        f"{LOADERS[loader]}: RandAugment of depth {depth + 1} is not slower than of depth {depth}"
        for loader, depth in rate
        if depth < 2 and rate[loader, depth] <= rate[loader, depth + 1]
    ]
    for row in found["recipes"]:
        wanted = (row["loader"], row["recipe"]) == ("torch", "hot")
        if row["waits"] != wanted:
            out.append(
                f"{LOADERS[row['loader']]}, {row['recipe']}: {row['verdict']}, want {'a data path' if wanted else 'a GPU'} that limits"
            )
    return out


def shown(found: dict[str, list[dict[str, Any]]]) -> str:
    lines = ["RandAugment by depth (baseline, 224 px)      images/s      of depth 0   published"]
    for row in found["depths"]:
        published = PUBLISHED[row["depth"]] / PUBLISHED[0]
        name = f"{LOADERS[row['loader']]}, depth {row['depth']}"
        lines.append(f"{name:36}{spread(row):>18}{row['of_depth_0']:>14.2f}{published:>12.2f}")
    lines += ["", "Recipes                   loader alone, images/s   step, EMULATED   verdict"]
    for row in found["recipes"]:
        lines.append(f"{LOADERS[row['loader']]:18}{row['recipe']:8}{spread(row):>22}{row['step']:>17,.0f}   {row['verdict']}")
    return "\n".join([*lines, "", *(broken(found) or ["all as claimed"])])


def spread(row: dict[str, Any]) -> str:
    return f"{row['img_per_s']:,.0f} ({row['low']:,.0f}-{row['high']:,.0f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
