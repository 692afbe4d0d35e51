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
from fastload.system import limits

# What a rate (images/s, or what it is made of) and a count may be: beyond, files are damaged
RATE, ANY = (1e-6, 1e12), (0.0, 1e12)
MOST = 10**15
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
        with open(path, "rb") as file:
            found: Json = json.loads(limits.small(file, limits.REPORT))
        if found["schema"] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r}")
        return _kept(path, found, found["measured"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path}: has no rates that plan can read ({type(error).__name__}: {error}); {MAKE}"
        ) from error


def _kept(path: str, found: Json, rates: Json) -> Kept:
    # Files of earlier versions lack some
    one, each = (
        _maybe(rates.get(name), RATE) for name in ("one_worker_img_per_s", "each_core_img_per_s")
    )
    measured = Measured(
        _samples(rates["loader_img_per_s"]), _whole(rates["workers"], "workers", 0),
        _whole(rates["cores"], "cores"),
        _sample(rates["start_s"]), _sample(rates["losses"]), one,
        _samples(rates["step_img_per_s"]), _samples(rates["training_img_per_s"]),
        _whole(rates["batch_size"], "batch_size"), _maybe(rates.get("fill_batches")),
        _whole(rates.get("physical_cores") or 0, "physical_cores", 0), each,
        _power(rates.get("power")), _whole(rates.get("ahead_batches", 0), "ahead_batches", 0),
        _maybe(rates.get("closing_s")),
    )  # fmt: skip
    if not measured.loader:
        raise ValueError("no size was measured")
    images = _whole(found["images_per_epoch"], "images_per_epoch")
    facts = found["machine_measured"]
    return Kept(
        path, _text(found["recipe"], "recipe"), measured, _text(found["data"], "data"), images,
        _whole(rates.get("data_images", images), "data_images"),
        _number(found["bytes_per_image"], 0, MOST), _text(rates["backend"], "backend"),
        measured.batch, _number(rates["seconds"], *RATE),
        {**facts, "cpu": _text(facts["cpu"], "cpu")},
        _text(found["step"], "step"),
    )  # fmt: skip


def _text(value: Any, name: str) -> str:
    """Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"its {name} is {value!r}, want a text")
    return value


def _whole(value: Any, name: str, least: int = 1) -> int:
    """Raises ValueError."""
    if type(value) is not int or not least <= value <= MOST:
        raise ValueError(f"its {name} is {value!r}, want a whole number from {least}")
    return value


def _number(value: Any, least: float, most: float) -> float:
    """Raises ValueError, also for NaN."""
    if type(value) not in (int, float) or not least <= value <= most:
        raise ValueError(f"{value!r} is given, want a number from {least:g} to {most:g}")
    return float(value)


def _samples(found: dict[str, Any]) -> dict[int, Sample]:
    """Rates by side in px, ascending."""
    sides = sorted(found, key=int)
    return {_whole(int(side), "size"): _sample(found[side], RATE) for side in sides}


def _power(found: Json | None) -> Power | None:
    if found is None:
        return None
    parts = {
        str(part): Watts(
            _sample(watts["idle_w"]),
            *(
                {int(side): _sample(values) for side, values in watts[f"{kind}_w"].items()}
                for kind in ("loader", "step", "together")
            ),
        )
        for part, watts in found["parts"].items()
    }
    return Power(parts, tuple(_text(each, "missing part") for each in found["missing"]))


def _maybe(values: Any, limits: tuple[float, float] = ANY) -> Sample | None:
    return None if values is None else _sample(values, limits)


def _sample(values: Any, limits: tuple[float, float] = ANY) -> Sample:
    """limits: of each value. Raises ValueError where there is none."""
    if not isinstance(values, list) or not values:
        raise ValueError("a rate has no values")
    return Sample(tuple(_number(value, *limits) for value in values))


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
