"""Rates of an earlier forecast or profile, from its JSON: a run is forecast without measuring."""

import json
from dataclasses import dataclass, replace
from typing import Any

from fastload.errors import UsageError
from fastload.forecast import job as planning
from fastload.forecast import notes, published
from fastload.forecast.document import SCHEMA
from fastload.forecast.findings import Forecast
from fastload.forecast.measuring import Measured
from fastload.forecast.model import Question
from fastload.forecast.power import Power, Watts
from fastload.measure import Sample
from fastload.spec import Json

MAKE = "make one with fastload plan --json FILE or fastload profile --schedule --json FILE"


@dataclass(frozen=True)
class Kept:
    """What was measured, and with what."""

    where: str  # the file
    recipe: str
    measured: Measured
    data: str
    images: int  # of an epoch
    data_images: int  # that were there to be measured
    image_bytes: float  # mean
    backend: str
    batch_size: int
    seconds: float  # of measuring
    facts: Json  # of the machine
    step_said: str


def load(path: str) -> Kept:
    """Raises UsageError."""
    try:
        with open(path, encoding="utf-8") as file:
            found: Json = json.load(file)
        if found["schema"] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r}")
        return _kept(path, found, found["measured"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path}: has no rates that plan can read ({type(error).__name__}: {error}); {MAKE}"
        ) from error


def _kept(path: str, found: Json, rates: Json) -> Kept:
    # Files of earlier versions lack some
    one, fill, each = (
        _maybe(rates.get(name))
        for name in ("one_worker_img_per_s", "fill_batches", "each_core_img_per_s")
    )
    measured = Measured(
        _samples(rates["loader_img_per_s"]), int(rates["workers"]), int(rates["cores"]),
        _sample(rates["start_s"]), _sample(rates["losses"]), one,
        _samples(rates["step_img_per_s"]), _samples(rates["training_img_per_s"]),
        int(rates["batch_size"]), fill, int(rates.get("physical_cores") or 0), each,
        _power(rates.get("power")), int(rates.get("ahead_batches", 0)),
    )  # fmt: skip
    if not measured.loader:
        raise ValueError("no size was measured")
    images = int(found["images_per_epoch"])
    return Kept(
        path, str(found["recipe"]), measured, str(found["data"]), images,
        int(rates.get("data_images", images)), float(found["bytes_per_image"]),
        str(rates["backend"]), int(rates["batch_size"]), float(rates["seconds"]),
        dict(found["machine_measured"]), str(found["step"]),
    )  # fmt: skip


def _samples(found: dict[str, Any]) -> dict[int, Sample]:
    """By side in px, ascending."""
    return {int(size): _sample(found[size]) for size in sorted(found, key=int)}


def _power(found: Json | None) -> Power | None:
    if found is None:
        return None
    parts = {
        str(part): Watts(
            _sample(watts["idle_w"]),
            *(_samples(watts[f"{kind}_w"]) for kind in ("loader", "step", "together")),
        )
        for part, watts in found["parts"].items()
    }
    return Power(parts, tuple(map(str, found["missing"])))


def _maybe(values: list[Any] | None) -> Sample | None:
    return None if values is None else _sample(values)


def _sample(values: list[Any]) -> Sample:
    """Raises ValueError where there is none."""
    if not values:
        raise ValueError("a rate has no values")
    return Sample(tuple(float(value) for value in values))


def forecast(kept: Kept, job: planning.Job) -> Forecast:
    """The forecast that the job asks for, by rates that are kept. Raises UsageError."""
    recipe = job.recipe
    if recipe.name != kept.recipe:
        raise UsageError(
            f"plan: {kept.where} has rates of recipe {kept.recipe}, and {recipe.name} is asked "
            f"for; give --recipe {kept.recipe}"
        )
    where = job.where
    if job.machine is None:
        where = replace(where, name="the measured machine", cores=kept.measured.cores)
    known = bool(kept.measured.step) and where.gpu is None and where.step_rate is None
    if not known and where.gpu is None and where.step_rate is None:
        raise UsageError(
            f"plan: {kept.where} has no step's rate that was measured (step: {kept.step_said}); "
            "give it again with --assume, --step-rate or --machine"
        )
    gpu = None if known else planning.Bench(job, _nothing).gpu(recipe, where)
    asked = Question(
        recipe, recipe.size_per_epoch(), job.images or kept.images, kept.image_bytes, where, gpu,
        here=job.machine is None,
    )  # fmt: skip
    measured = kept.measured if known else replace(kept.measured, step={}, together={})
    return Forecast(
        asked, measured, kept.data, kept.data_images, kept.backend, kept.batch_size,
        kept.step_said if gpu is None else gpu.said, job.cost_per_hour, job.target,
        published.load().of(recipe.name),
        (*notes.extrapolated(asked, measured, kept.data_images, kept.seconds),
         f"nothing was measured now: rates are those of {kept.where}"),
        notes.left_out(asked), kept.facts, job.command, kept.seconds,
        price_energy=job.price_energy, price_disk=job.price_disk,
    )  # fmt: skip


def _nothing() -> None:
    """No progress to tell."""
