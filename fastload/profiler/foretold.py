"""A plan (`fastload plan --json`) as the report before a training: what it foretold of the largest
images is compared with what a profile then measures.
"""

from typing import Any

from fastload.spec import Json

RATES = ("training_img_per_s", "loader_img_per_s", "step_img_per_s")


def report(plan: Json) -> Json:
    """What a comparison takes of a report. Raises KeyError, TypeError or ValueError."""
    full, measured = plan["full_size"], plan["measured"]
    return {
        "verdict": {"label": f"planned, the {full['limit']} as the limit"},
        "setting": {
            "recipe": plan["recipe"],
            "images": measured["data_images"],
            "batch_size": measured["batch_size"],
        },
        "machine": {key: plan["machine_measured"].get(key) for key in ("cpu", "usable_cores")},
        "replicates": {name: _ends(full[name]) for name in RATES},
    }


def _ends(rate: dict[str, Any]) -> list[float]:
    """Of resampled medians of these three, the least and the most are the ends."""
    value = float(rate["value"])
    return [value if rate[end] is None else float(rate[end]) for end in ("low", "value", "high")]
