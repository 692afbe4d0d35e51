"""Other choices beside the one that was asked for: each is forecast with its own rates."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from fastload.backends import choosing
from fastload.backends.table import BACKENDS
from fastload.errors import FastloadError
from fastload.forecast import formats, model, published
from fastload.forecast.findings import Forecast
from fastload.forecast.job import Bench
from fastload.forecast.machines import Machine
from fastload.forecast.measuring import Measured
from fastload.forecast.options import Option
from fastload.plan.plan import plan
from fastload.profiler import sweep
from fastload.system.machine import usable_cores

KINDS = ("recipes", "machines", "backends", "workers", "sizes", "formats")
FEW = 2  # sizes of each recipe that are measured: the smallest and the largest


def compare(kind: str, found: Forecast, bench: Bench, machines: Sequence[Machine] = ()) -> Forecast:
    """The forecast with its options. machines: for "machines". Raises FastloadError."""
    makers: dict[str, Callable[[], Iterator[Option]]] = {
        "recipes": partial(_recipes, found, bench),
        "machines": partial(_machines, found, bench, machines),
        "backends": partial(_backends, found, bench),
        "workers": partial(_workers, found, bench),
        "sizes": partial(_sizes, found),
        "formats": partial(_formats, found, bench),
    }
    return replace(found, compared=kind, options=tuple(makers[kind]()))


def _recipes(found: Forecast, bench: Bench) -> Iterator[Option]:
    """Every published result, with this data and machine."""
    results, where = published.load().results, found.asked.machine
    names = dict.fromkeys(one.recipe for one in results)
    each = bench.job.seconds / len(names)
    rates: dict[str, tuple[Measured, str]] = {}
    for one in results:
        name = f"{one.recipe}, {one.epochs} epochs"
        try:
            recipe = one.loaded()
            gpu = bench.gpu(recipe, where)
            if one.recipe not in rates:
                backend = bench.backend(recipe)
                taken = bench.measured(recipe, gpu, backend, seconds=each, most=FEW)
                rates[one.recipe] = taken, backend
        except FastloadError as error:
            yield Option(name, note=str(error))
            continue
        measured, backend = rates[one.recipe]
        asked = replace(found.asked, recipe=recipe, sizes=recipe.size_per_epoch(), gpu=gpu)
        yield Option(
            name, model.run(asked, measured), one.top1, one.source, found.price, note=backend
        )


def _machines(found: Forecast, bench: Bench, machines: Sequence[Machine]) -> Iterator[Option]:
    for one in machines:
        gpu = bench.gpu(found.asked.recipe, one)
        asked = replace(found.asked, machine=one, gpu=gpu, here=False)
        yield _published(
            found,
            Option(
                one.name, model.run(asked, found.measured),
                price=bench.job.price if one.price is None else one.price,
                cores=model.needed_cores(asked, found.measured),
                note=f"{one.cores} cores, {one.gpus} x {one.gpu or 'own rate'}",
            ),
        )  # fmt: skip


def _backends(found: Forecast, bench: Bench) -> Iterator[Option]:
    recipe, asked = found.asked.recipe, found.asked
    planned = plan(bench.pipeline(recipe))
    each = bench.job.seconds / 2
    for name in BACKENDS:
        if name == found.backend:
            yield _published(found, Option(name, found.run, price=found.price, note="as asked"))
            continue
        if reasons := choosing.unsupported(name, planned, "cpu"):
            yield Option(name, note="; ".join(reasons))
            continue
        taken = bench.measured(recipe, asked.gpu, name, seconds=each, most=FEW)
        yield _published(found, Option(name, model.run(asked, taken), price=found.price))


def _workers(found: Forecast, bench: Bench) -> Iterator[Option]:
    asked, here = found.asked, replace(found.asked, here=True)
    for count in sweep.counts(usable_cores(), found.measured.workers or None):
        taken = found.measured
        if count != taken.workers:
            taken = bench.measured(
                asked.recipe, asked.gpu, found.backend, seconds=bench.job.seconds / 2,
                workers=count, most=FEW,
            )  # fmt: skip
        name = f"{count} worker{'s' * (count > 1)}"
        yield _published(found, Option(name, model.run(here, taken), price=found.price))


def _sizes(found: Forecast) -> Iterator[Option]:
    """The schedule, and each measured size held throughout. Only the schedule has an accuracy."""
    asked, epochs = found.asked, len(found.asked.sizes)
    if len(set(asked.sizes)) > 1:
        yield _published(found, Option("the recipe's schedule", found.run, price=found.price))
    for size in sorted(found.measured.loader):
        held = replace(asked, sizes=(size,) * epochs)
        one = Option(f"{size} px throughout", model.run(held, found.measured), price=found.price)
        yield _published(found, one) if len(set(asked.sizes)) == 1 else one


def _formats(found: Forecast, bench: Bench) -> Iterator[Option]:
    return (_published(found, one) if one.run else one for one in formats.options(found, bench))


def _published(found: Forecast, option: Option) -> Option:
    """The option with the recipe's published accuracy, if there is one for this length."""
    one = found.top1
    return replace(option, top1=one.top1, source=one.source) if one else option
