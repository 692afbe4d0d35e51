"""Forecasts from rates that were not measured."""

from dataclasses import replace
from functools import cache

from fastload import recipes
from fastload.forecast import notes, published, steps
from fastload.forecast.findings import Forecast
from fastload.forecast.machines import Machine
from fastload.forecast.measuring import Measured
from fastload.forecast.model import Question
from fastload.forecast.options import Option
from fastload.measure import Sample
from fastload.recipes import rates

FULL = 167  # px of hot


hot = cache(recipes.load)


def sample(rate: float, off: float = 0.01) -> Sample:
    """Three replicates around a rate."""
    return Sample((rate * (1 - off), rate, rate * (1 + off)))


def measured(rate: float = 3000.0, *, small: float = 5000.0, cores: int = 2) -> Measured:
    """A loader of `rate` images/s at full size and `small` at the smallest; twice one core's."""
    return Measured(
        {99: sample(small), FULL: sample(rate)}, cores, cores, Sample((0.2, 0.1, 0.1)),
        Sample((1.01, 1.02, 1.03)), sample(rate / cores), batch=64,
    )  # fmt: skip


def question(
    epochs: int = 20, *, cores: int = 96, gpus: int = 8, gpu: str = "h100", **more: object
) -> Question:
    """Hot on ImageNet's images and a machine of those numbers; more: of the Machine."""
    recipe = published.lasting(hot("hot"), epochs)
    machine = Machine("node", cores, gpus, gpu, **more)
    assumed = steps.named(rates.rate(gpu), recipe)
    return Question(
        recipe, recipe.size_per_epoch(), 1_281_167, 110_000.0, machine, assumed, here=False
    )


def forecast(
    asked: Question | None = None,
    known: Measured | None = None,
    *,
    options: tuple[Option, ...] = (),
    price: float | None = 32.77,
    target: float | None = None,
    compared: str | None = None,
) -> Forecast:
    asked, known = asked or question(), known or measured()
    return Forecast(
        asked, known, "/data/train", 1000, "native", 64, notes.step(asked.gpu, False, known), price,
        target, published.load().of(asked.recipe.name),
        notes.extrapolated(asked, known, 1000, 40.0), notes.left_out(asked),
        {"cpu": "Test <CPU>", "usable_cores": known.cores}, "fastload plan --data '/data/<train>'",
        40.0, compared=compared, options=options,
    )  # fmt: skip


def with_results(found: Forecast) -> Forecast:
    """Compared with every published result, at hot's rates."""
    from fastload.forecast import model

    options = []
    for one in published.load().results:
        recipe = one.loaded()
        asked = replace(found.asked, recipe=recipe, sizes=recipe.size_per_epoch())
        options.append(
            Option(
                f"{one.recipe}, {one.epochs} epochs", model.run(asked, found.measured), one.top1,
                one.source, found.price, note="native",
            )
        )  # fmt: skip
    return replace(found, compared="recipes", options=tuple(options))
