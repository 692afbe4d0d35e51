"""A forecast as JSON."""

import math
from typing import Any

from fastload.forecast import model
from fastload.forecast.bands import Range
from fastload.forecast.findings import Forecast
from fastload.forecast.options import Option
from fastload.spec import Json

SCHEMA = "fastload.plan/1"


def document(found: Forecast) -> Json:
    """Units stand in the names; null: not known."""
    asked, run, measured = found.asked, found.run, found.measured
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
        "cost": _range(found.cost),
        "top1": None if found.top1 is None else found.top1.top1,
        "top1_source": None if found.top1 is None else found.top1.source,
        "target": found.target,
        "busy": _range(run.busy),
        "waiting": found.waiting,
        "cores_needed": _range(found.cores),
        "bytes_first_epoch": first,
        "bytes_later_epoch": later,
        "epochs": [
            {
                "size_px": size,
                "seconds": _range(run.seconds.at(epoch)),
                "limit": run.limits[epoch],
                "waits_s": {cause: float(waits[epoch]) for cause, waits in run.waits.items()},
            }
            for epoch, size in enumerate(run.sizes)
        ],
        "what_if": {name: _range(other.total) for name, other in found.what_ifs.items()},
        "compared": found.compared,
        "options": [_option(one, found) for one in found.options],
        "step": found.step_said,
        "measured": {
            "backend": found.backend,
            "workers": measured.workers,
            "cores": measured.cores,
            "batch_size": found.batch_size,
            "loader_img_per_s": {str(px): list(one.values) for px, one in measured.loader.items()},
            "one_worker_img_per_s": list(measured.one_core.values) if measured.one_core else None,
            "step_img_per_s": {str(px): list(one.values) for px, one in measured.step.items()},
            "training_img_per_s": {
                str(px): list(one.values) for px, one in measured.together.items()
            },
            "losses": list(measured.losses.values),
            "start_s": list(measured.start.values),
            "seconds": found.seconds,
        },
        "extrapolated": list(found.extrapolated),
        "not_included": list(found.left_out),
        "machine_measured": found.facts,
    }


def _option(one: Option, found: Forecast) -> Json:
    return {
        "name": one.name,
        "seconds": _range(one.run.total) if one.run else None,
        "cost": _range(one.cost),
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
    return {key: part if math.isfinite(part) else None for key, part in value.to_json().items()}
