"""A forecast as JSON."""

from collections.abc import Mapping
from typing import Any

from fastload.forecast import model, options
from fastload.forecast.bands import Range
from fastload.forecast.findings import Forecast
from fastload.forecast.options import Option
from fastload.forecast.power import Power
from fastload.forecast.run import Run
from fastload.measure import Sample
from fastload.spec import Json, finite

SCHEMA = "fastload.plan/1"


def document(found: Forecast) -> Json:
    """Units stand in the names; null: not known."""
    asked, run = found.asked, found.run
    first, later = model.read_bytes(asked)
    return {
        "schema": SCHEMA,
        "command": found.command,
        "recipe": asked.recipe.name,
        "recipe_hash": asked.recipe.hash,
        "data": found.data,
        "images_per_epoch": asked.images,
        "bytes_per_image": asked.image_bytes,
        "machine": {**vars(asked.machine), "measured_here": asked.here},
        "seconds": _range(run.total),
        "price_per_h": found.price,
        "price_per_tb_month": found.price_disk,
        "cost": _range(found.cost),
        "top1": found.top1.top1 if found.top1 else None,
        "top1_source": found.top1.source if found.top1 else None,
        "target": found.target,
        "busy": _range(run.busy),
        "waiting": found.waiting,
        "cores_needed": _range(found.cores),
        "bytes_first_epoch": first,
        "bytes_later_epoch": later,
        "memory_to_read_once_bytes": model.needed_memory(asked),
        "energy": _energy(found),
        "epochs": _epochs(run),
        "full_size": _full(run),
        "what_if": {name: _range(other.total) for name, other in found.what_ifs.items()},
        "compared": found.compared,
        "options": [_option(one, found) for one in found.options],
        "step": found.step_said,
        "measured": _measured(found),
        "extrapolated": list(found.extrapolated),
        "not_included": list(found.left_out),
        "machine_measured": found.facts,
    }


def _full(run: Run) -> Json:
    """Images/s at the largest size, in the last epoch that has it: the first one may read from the
    disk.
    """
    epoch = max(number for number, size in enumerate(run.sizes) if size == max(run.sizes))
    bands = {"training": run.training, "loader": run.loader, "step": run.step}
    seconds = {name: band.at(epoch) for name, band in bands.items()}
    return {
        "size_px": run.sizes[epoch],
        **{
            f"{name}_img_per_s": _range(Range(1 / one.value, 1 / one.high, 1 / one.low))
            for name, one in seconds.items()
        },
        "limit": run.limits[epoch],
    }


def _energy(found: Forecast) -> Json:
    used = found.energy
    return {
        "kwh": _range(used.kwh),
        "parts_kwh": {part: _range(kwh) for part, kwh in used.parts.items()},
        "price_per_kwh": found.price_energy,
        "cost": _range(found.energy_cost),
        "not_counted": list(used.missing),
    }


def _epochs(run: Run) -> list[Json]:
    limits, waits = run.limits, run.waits
    return [
        {
            "size_px": size,
            "seconds": _range(run.seconds.at(epoch)),
            "limit": limits[epoch],
            "waits_s": {cause: float(each[epoch]) for cause, each in waits.items()},
        }
        for epoch, size in enumerate(run.sizes)
    ]


def _measured(found: Forecast) -> Json:
    """Replicates, so that others can compute with them."""
    measured = found.measured
    return {
        "backend": found.backend,
        "workers": measured.workers,
        "cores": measured.cores,
        "batch_size": found.batch_size,
        "data_images": found.data_images,
        "loader_img_per_s": _rates(measured.loader),
        "one_worker_img_per_s": list(measured.one_core.values) if measured.one_core else None,
        "step_img_per_s": _rates(measured.step),
        "training_img_per_s": _rates(measured.together),
        "each_core_img_per_s": list(measured.each_core.values) if measured.each_core else None,
        "physical_cores": measured.physical or None,
        "losses": list(measured.losses.values),
        "start_s": list(measured.start.values),
        "fill_batches": list(measured.fill.values) if measured.fill else None,
        "ahead_batches": measured.ahead,
        "closing_s": list(measured.closing.values) if measured.closing else None,
        "power": _power(measured.power),
        "seconds": found.seconds,
    }


def _power(power: Power | None) -> Any:
    if power is None:
        return None
    parts = {
        part: {"idle_w": list(watts.idle.values)}
        | {f"{kind}_w": _rates(getattr(watts, kind)) for kind in ("loader", "step", "together")}
        for part, watts in power.parts.items()
    }
    return {"parts": parts, "missing": list(power.missing)}


def _rates(measured: Mapping[int, Sample]) -> Json:
    """Images/s by side in px."""
    return {str(size): list(sample.values) for size, sample in measured.items()}


def _option(one: Option, found: Forecast) -> Json:
    return {
        "name": one.name,
        "seconds": _range(one.run.total) if one.run else None,
        "cost": _range(one.cost),
        "stored_bytes": one.stored,
        "disk_cost": _range(one.disk_cost),
        "pays_below_per_tb_month": finite(options.pays_below(one, found.options[0])),
        "top1": one.top1,
        "top1_source": one.source or None,
        "busy": _range(one.run.busy) if one.run else None,
        "cores_needed": _range(one.cores),
        "on_front": one in found.front,
        "cheapest": one == found.cheapest,
        "note": one.note or None,
    }


def _range(value: Range | None) -> Any:
    """null for what is not known, and for an end that no number is."""
    if value is None:
        return None
    return finite(value.to_json())
